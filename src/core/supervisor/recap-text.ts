import { type Json, type JsonObject, utf8Length } from '../json.js'
import type { Recap, RecapQuestion, RecapStep, RecapTurn, RecapVerdict, RecapWorker } from './recap.js'

/** No recap has more bytes, and so neither more characters nor more tokens, whatever happened in however many turns. */
export const RECAP_BYTES = 6_000

/** What of it is kept for the line about the turns that are told by number. */
const COUNTS_BYTES = 1_200

/** How much is told of one turn: characters of one value, and how many workers, steps, questions and fields. */
type Detail = { readonly characters: number; readonly items: number }

const LATEST: readonly Detail[] = [
  { characters: 400, items: 100 },
  { characters: 80, items: 100 },
  { characters: 40, items: 20 },
  { characters: 20, items: 5 },
]
const EARLIER: readonly Detail[] = [
  { characters: 80, items: 8 },
  { characters: 20, items: 3 },
]

/**
 * The recap as lines of JSON, oldest first: the latest turn as if it were the only one, then earlier ones more briefly as
 * long as there is room, and in one line how many there were before. '' where nothing has happened.
 */
export function recapText({ turn, turns }: Recap): string {
  const lines: string[] = []
  let room = RECAP_BYTES - COUNTS_BYTES
  let first = turns.length
  for (const told of [...turns].reverse()) {
    const line = lines.length === 0 ? latestLine(told, room) : lineWithin(room, docsOf(told, EARLIER))
    if (line === undefined) break
    lines.unshift(line)
    room -= utf8Length(line) + 1
    first -= 1
  }
  return [...earlierLine(turns.slice(0, first), (turns[first]?.turn ?? turn) - 1), ...lines].join('\n')
}

/** The latest turn is never left out: at worst it is told by numbers, or that it was. */
const latestLine = (told: RecapTurn, room: number): string =>
  lineWithin(room, [...docsOf(told, LATEST), { turn: told.turn, ...tallyOf([told]) }]) ??
  JSON.stringify({ turn: told.turn })

/** Turns that are not told one by one, the ones out of view among them; no line where there is none. */
function earlierLine(turns: readonly RecapTurn[], upTo: number): readonly string[] {
  if (upTo < 1 && turns.length === 0) return []
  const earlierTurns = Math.max(0, upTo)
  const line = lineWithin(COUNTS_BYTES - 1, [{ earlierTurns, ...tallyOf(turns) }])
  return [line ?? JSON.stringify({ earlierTurns })]
}

function lineWithin(room: number, docs: Iterable<JsonObject>): string | undefined {
  for (const doc of docs) {
    const line = JSON.stringify(doc)
    if (utf8Length(line) <= room) return line
  }
  return undefined
}

function* docsOf(told: RecapTurn, details: readonly Detail[]): Iterable<JsonObject> {
  for (const detail of details) yield turnDoc(told, detail)
}

const turnDoc = ({ turn, decision, workers, steps, people }: RecapTurn, detail: Detail): JsonObject => ({
  turn,
  ...(decision && { decided: decisionDoc(decision, detail) }),
  ...listed('workers', workers, detail, workerDoc),
  ...listed('steps', steps, detail, stepDoc),
  ...listed('people', people, detail, questionDoc),
})

type Telling<Item> = (item: Item, detail: Detail) => Json

/** The list under its name, and beside it how many of it are left out; nothing where it is empty. */
function listed<Item>(name: string, all: readonly Item[], detail: Detail, doc: Telling<Item>): JsonObject {
  if (all.length === 0) return {}
  const left = all.length - detail.items
  const told = all.slice(0, detail.items).map(item => doc(item, detail))
  return { [name]: told, ...(left > 0 && { [`${name}LeftOut`]: left }) }
}

const decisionDoc = ({ nextWorkerIds, ...others }: JsonObject, detail: Detail): JsonObject => ({
  ...fields(others, detail),
  ...(Array.isArray(nextWorkerIds) && listed('nextWorkerIds', nextWorkerIds as readonly Json[], detail, clipped)),
})

function workerDoc(told: RecapWorker, detail: Detail): JsonObject {
  const { worker, status, attempts, error, verdicts, withheld, brought } = told
  return {
    worker: cut(worker, detail),
    status,
    ...(attempts > 1 && { attempts }),
    ...(error !== undefined && { error: cut(error, detail) }),
    ...listed('verdicts', verdicts, detail, verdictDoc),
    ...(withheld && { withheld }),
    ...(brought && { brought: fields(brought, detail) }),
  }
}

const stepDoc = ({ node, status, error, verdicts, made }: RecapStep, detail: Detail): JsonObject => ({
  node: cut(node, detail),
  status,
  ...(error !== undefined && { error: cut(error, detail) }),
  ...listed('verdicts', verdicts, detail, verdictDoc),
  ...(made && { made: fields(made, detail) }),
})

const verdictDoc = ({ gate, verdict, label, failed }: RecapVerdict, detail: Detail): JsonObject => ({
  gate: cut(gate, detail),
  verdict: cut(label ?? verdict, detail),
  ...listed('failed', failed, detail, cut),
})

const questionDoc = ({ asked, answered, by }: RecapQuestion, detail: Detail): JsonObject => ({
  asked: clipped(asked, detail),
  ...(answered !== undefined && { answered: clipped(answered, detail) }),
  ...(by !== undefined && { by: cut(by, detail) }),
})

function fields(object: JsonObject, detail: Detail): JsonObject {
  const all = Object.entries(object)
  const left = all.length - detail.items
  const told = all.slice(0, detail.items).map(([name, value]) => [cut(name, detail), clipped(value, detail)])
  return { ...Object.fromEntries(told), ...(left > 0 && { fieldsLeftOut: left }) }
}

/** Small values as they are; of a large one the beginning, as text, and how much is left out. */
function clipped(value: Json, detail: Detail): Json {
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  return text.length <= detail.characters ? value : cut(text, detail)
}

const cut = (text: string, { characters }: Detail): string => shortened(text, characters)

/** No more than so many characters of it, and how many are left out. */
export function shortened(text: string, characters: number): string {
  if (text.length <= characters) return text
  const kept = text.slice(0, characters).replace(/[\ud800-\udbff]$/, '')
  return `${kept}… (${text.length - kept.length} more characters)`
}

/** What happened in several turns, by number. */
function tallyOf(turns: readonly RecapTurn[]): JsonObject {
  const kinds = turns.flatMap(({ decision }) => (typeof decision?.kind === 'string' ? [decision.kind] : []))
  const workers = turns.flatMap(turn => turn.workers.map(({ worker, status }) => `${cut(worker, SHORT)} ${status}`))
  const questions = turns.flatMap(({ people }) => people).length
  return {
    ...(kinds.length > 0 && { decided: tally(kinds.map(kind => cut(kind, SHORT))) }),
    ...(workers.length > 0 && { workers: tally(workers) }),
    ...(questions > 0 && { questions }),
  }
}

const SHORT: Detail = { characters: 40, items: 12 }

/** How often each is there, the most frequent first, those beyond the first dozen together. */
function tally(names: readonly string[]): JsonObject {
  const counts = new Map<string, number>()
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1)
  const all = [...counts].sort(([, a], [, b]) => b - a)
  const others = all.slice(SHORT.items).reduce((sum, [, count]) => sum + count, 0)
  return Object.fromEntries([...all.slice(0, SHORT.items), ...(others > 0 ? [['others', others] as const] : [])])
}
