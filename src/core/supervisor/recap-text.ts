import { type Json, type JsonObject, utf8Length } from '../json.js'
import type { Recap, RecapTurn, RecapWorker } from './recap.js'

/** No recap has more bytes, and so no more tokens, however many turns there were and whatever they said. */
export const RECAP_TOKENS = 6_000

/** How much is told of one turn: characters of one value, and workers, steps and questions by number. */
type Detail = { readonly characters: number; readonly items: number }

const DETAILS: readonly [Detail, ...Detail[]] = [
  { characters: 400, items: 20 },
  { characters: 80, items: 8 },
  { characters: 20, items: 3 },
]

/** Room for the line about those that are told by count. */
const COUNTS = 1_200

/**
 * The recap as lines of JSON, oldest first. The latest turns are told in full as far as there is room for them, earlier ones
 * in one line by count. `turn` is the one that is about to be taken.
 */
export function recapText({ turns }: Recap, turn: number): string {
  const lines: string[] = []
  let room = RECAP_TOKENS - COUNTS
  let first = turns.length
  while (first > 0) {
    const line = fitting(turns[first - 1] as RecapTurn, room, lines.length === 0)
    if (line === undefined) break
    lines.unshift(line)
    room -= utf8Length(line) + 1
    first -= 1
  }
  const counted = countsOf(turns.slice(0, first), turns[first]?.turn ?? turn)
  return [...(counted === undefined ? [] : [JSON.stringify(counted)]), ...lines].join('\n')
}

/** The turn in as much detail as there is room for; the latest one in the least of it, rather than not at all. */
function fitting(turn: RecapTurn, room: number, isLatest: boolean): string | undefined {
  const most = isLatest ? room : Math.min(room, (RECAP_TOKENS - COUNTS) / 3)
  for (const detail of DETAILS) {
    const line = JSON.stringify(turnDoc(turn, detail))
    if (utf8Length(line) <= most) return line
  }
  return isLatest ? JSON.stringify({ turn: turn.turn, ...tallyOf([turn]) }) : undefined
}

function turnDoc({ turn, decision, workers, steps, people }: RecapTurn, detail: Detail): JsonObject {
  const part = <Item>(name: string, all: readonly Item[], doc: (item: Item) => Json): JsonObject => {
    const left = all.length - detail.items
    if (all.length === 0) return {}
    return { [name]: all.slice(-detail.items).map(doc), ...(left > 0 && { [`${name}LeftOut`]: left }) }
  }
  return {
    turn,
    ...(decision && { decided: clipped(decision, detail) }),
    ...part('workers', workers, worker => workerDoc(worker, detail)),
    ...part('steps', steps, ({ node, status, says }) => ({
      node: cut(node, detail),
      status,
      ...(says !== undefined && { says: clipped(says, detail) }),
    })),
    ...part('people', people, ({ asked, answered, by }) => ({
      asked: clipped(asked, detail),
      ...(answered !== undefined && { answered: clipped(answered, detail) }),
      ...(by !== undefined && { by: cut(by, detail) }),
    })),
  }
}

function workerDoc({ worker, status, attempts, error, verdicts, withheld, brought }: RecapWorker, detail: Detail) {
  const values = Object.entries(brought ?? {}).slice(0, detail.items)
  return {
    worker: cut(worker, detail),
    status,
    ...(attempts > 1 && { attempts }),
    ...(error !== undefined && { error }),
    ...(verdicts.length > 0 && {
      verdicts: verdicts.slice(0, detail.items).map(({ gate, verdict, label, failed }) => ({
        gate: cut(gate, detail),
        verdict: label ?? verdict,
        ...(failed.length > 0 && { failed: failed.slice(0, detail.items) }),
      })),
    }),
    ...(withheld && { withheld }),
    ...(values.length > 0 && {
      brought: Object.fromEntries(values.map(([name, value]) => [cut(name, detail), clipped(value, detail)])),
    }),
  }
}

/** Small values as they are; of a large one the beginning, as text, and how long it is. */
function clipped(value: Json, detail: Detail): Json {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length <= detail.characters ? value : cut(text, detail)
}

const cut = (text: string, { characters }: Detail): string =>
  text.length <= characters
    ? text
    : `${text.slice(0, characters).replace(/[\ud800-\udbff]$/, '')}… (${text.length} characters)`

const MOST_COUNTED = 12

/** Earlier turns in one line; undefined where there are none. */
function countsOf(turns: readonly RecapTurn[], before: number): JsonObject | undefined {
  const upTo = before - 1
  return upTo < 1 && turns.length === 0 ? undefined : { earlierTurns: Math.max(0, upTo), ...tallyOf(turns) }
}

function tallyOf(turns: readonly RecapTurn[]): JsonObject {
  const decided = tally(turns.flatMap(({ decision }) => (typeof decision?.kind === 'string' ? [decision.kind] : [])))
  const workers = tally(
    turns.flatMap(turn => turn.workers.map(({ worker, status }) => `${worker.slice(0, 40)} ${status}`)),
  )
  const answers = turns.flatMap(({ people }) => people).length
  return {
    ...(Object.keys(decided).length > 0 && { decided }),
    ...(Object.keys(workers).length > 0 && { workers }),
    ...(answers > 0 && { questions: answers }),
  }
}

/** How often each is there, the most frequent first, those beyond the first dozen together. */
function tally(names: readonly string[]): JsonObject {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  const all = [...counts].sort(([, a], [, b]) => b - a)
  const others = all.slice(MOST_COUNTED).reduce((sum, [, count]) => sum + count, 0)
  return Object.fromEntries([...all.slice(0, MOST_COUNTED), ...(others > 0 ? [['others', others] as const] : [])])
}
