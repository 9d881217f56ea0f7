/**
 * Finds many words in a text in one pass (Aho and Corasick): the time it takes grows with the text alone, whatever the
 * words are and whoever wrote the text.
 */
export interface Needles {
  /** The places of the text in which a word stands, ascending; places that overlap are one. */
  find(text: string): readonly Span[]
}

/** `label` is that of the longest word in the place. */
export type Span = { readonly start: number; readonly end: number; readonly label: string }

/** State 0 is the beginning. Edges are keyed by state and UTF-16 unit, which costs less than a map for each state. */
type Machine = {
  readonly edges: Map<number, number>
  /** By state: where to go on when no word continues. */
  readonly fallback: number[]
  /** By state: the longest word that ends there. */
  readonly ending: (Word | undefined)[]
}

type Word = { readonly length: number; readonly label: string }

const UNITS = 65_536
const edge = (state: number, unit: number): number => state * UNITS + unit

/** Labels by word; no word is empty. */
export function createNeedles(labels: ReadonlyMap<string, string>): Needles {
  const machine: Machine = { edges: new Map(), fallback: [0], ending: [undefined] }
  for (const [word, label] of labels) addWord(machine, word, label)
  addFallbacks(machine)
  const starts = new Uint8Array(UNITS)
  for (const word of labels.keys()) starts[word.charCodeAt(0)] = 1
  return {
    find(text) {
      const spans: Span[] = []
      let state = 0
      for (let i = 0; i < text.length; i += 1) {
        const unit = text.charCodeAt(i)
        // Most of a text begins no word.
        if (state === 0 && starts[unit] === 0) continue
        state = step(machine, state, unit)
        const word = machine.ending[state]
        if (word !== undefined) addSpan(spans, { start: i + 1 - word.length, end: i + 1, label: word.label })
      }
      return spans
    },
  }
}

function addWord({ edges, fallback, ending }: Machine, word: string, label: string): void {
  let state = 0
  for (let i = 0; i < word.length; i += 1) {
    const key = edge(state, word.charCodeAt(i))
    let to = edges.get(key)
    if (to === undefined) {
      to = fallback.push(0) - 1
      edges.set(key, to)
    }
    state = to
  }
  ending[state] = { length: word.length, label }
}

/** Shallow states first: a state's fallback is always a shallower one. */
function addFallbacks(machine: Machine): void {
  const { edges, fallback, ending } = machine
  const children = fallback.map((): { unit: number; child: number }[] => [])
  for (const [key, child] of edges) children[Math.floor(key / UNITS)]!.push({ unit: key % UNITS, child })
  const queue = [0]
  for (const state of queue) {
    for (const { unit, child } of children[state]!) {
      const shorter = state === 0 ? 0 : step(machine, fallback[state]!, unit)
      fallback[child] = shorter
      ending[child] ??= ending[shorter]
      queue.push(child)
    }
  }
}

function step({ edges, fallback }: Machine, from: number, unit: number): number {
  for (let state = from; ; state = fallback[state]!) {
    const to = edges.get(edge(state, unit))
    if (to !== undefined || state === 0) return to ?? 0
  }
}

/** Ends only grow, starts need not: a longer word may have begun before places that are there already. */
function addSpan(spans: Span[], added: Span): void {
  let span = added
  for (let last = spans.at(-1); last !== undefined && last.end > span.start; last = spans.at(-1)) {
    const longest = last.end - last.start > span.end - span.start ? last : span
    span = { start: Math.min(last.start, span.start), end: span.end, label: longest.label }
    spans.pop()
  }
  spans.push(span)
}
