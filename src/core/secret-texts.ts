/** Says whether a text holds one of many others; takes as long as it is long, whatever they are and however many. */
export type HoldsAny = (text: string) => boolean

/** So few texts, of so many characters times those they are sought in, are looked for one by one. */
const FEW = 4
const LITTLE = 64 * 1_048_576

/** The texts must not be empty. What is prepared for long texts takes as long as all of these together. */
export function holdsAny(texts: readonly string[]): HoldsAny {
  const characters = texts.reduce((sum, { length }) => sum + length, 0)
  let machine: Machine | undefined
  return text => {
    if (texts.length <= FEW && text.length * characters <= LITTLE) return texts.some(sought => text.includes(sought))
    machine ??= new Machine(texts, characters)
    return machine.finds(text)
  }
}

const NONE = -1

type Levels = { readonly last: Int32Array; readonly before: Int32Array }

/**
 * Aho and Corasick's. State 0 is the beginning; a state is a beginning of a sought text, and `shorter` is the longest end
 * of it that is one too. Edges are in one table, found by the state and the character that leads on.
 */
class Machine {
  readonly #mask: number
  readonly #from: Int32Array
  readonly #unit: Uint16Array
  readonly #to: Int32Array
  readonly #shorter: Int32Array
  readonly #isWhole: Uint8Array
  #states = 1

  constructor(texts: readonly string[], characters: number) {
    const room = 2 ** Math.ceil(Math.log2(2 * characters + 2))
    this.#mask = room - 1
    this.#from = new Int32Array(room).fill(NONE)
    this.#unit = new Uint16Array(room)
    this.#to = new Int32Array(room)
    this.#shorter = new Int32Array(characters + 1)
    this.#isWhole = new Uint8Array(characters + 1)
    const parent = new Int32Array(characters + 1)
    const unit = new Uint16Array(characters + 1)
    const longest = texts.reduce((most, { length }) => Math.max(most, length), 0)
    /** By depth the state that was added last; by state the one of its depth that was added before it. */
    const levels = { last: new Int32Array(longest), before: new Int32Array(characters + 1) }
    for (const text of texts) this.#add(text, parent, unit, levels)
    for (const last of levels.last)
      for (let state = last; state > 0; state = levels.before[state]!)
        this.#fallBack(state, parent[state]!, unit[state]!)
  }

  finds(text: string): boolean {
    let state = 0
    for (let i = 0; i < text.length; i += 1) {
      state = this.#step(state, text.charCodeAt(i))
      if (this.#isWhole[state] === 1) return true
    }
    return false
  }

  #add(text: string, parent: Int32Array, unit: Uint16Array, levels: Levels): void {
    let state = 0
    // What begins with another sought text is found with it.
    for (let i = 0; i < text.length && this.#isWhole[state] === 0; i += 1) {
      const code = text.charCodeAt(i)
      const at = this.#place(state, code)
      if (this.#from[at] === NONE) {
        this.#from[at] = state
        this.#unit[at] = code
        this.#to[at] = this.#states
        parent[this.#states] = state
        unit[this.#states] = code
        levels.before[this.#states] = levels.last[i]!
        levels.last[i] = this.#states
        this.#states += 1
      }
      state = this.#to[at]!
    }
    this.#isWhole[state] = 1
  }

  /** Shallow states first: what it falls back to is always a shallower one. */
  #fallBack(state: number, parent: number, unit: number): void {
    const shorter = parent === 0 ? 0 : this.#step(this.#shorter[parent]!, unit)
    this.#shorter[state] = shorter
    if (this.#isWhole[shorter] === 1) this.#isWhole[state] = 1
  }

  #step(from: number, unit: number): number {
    for (let state = from; ; state = this.#shorter[state]!) {
      const at = this.#place(state, unit)
      if (this.#from[at] !== NONE) return this.#to[at]!
      if (state === 0) return 0
    }
  }

  /** Where the edge stands, or would stand. */
  #place(state: number, unit: number): number {
    let at = (Math.imul(state, 0x9e37_79b1) ^ Math.imul(unit, 0x85eb_ca6b)) >>> 0
    at = (at ^ (at >>> 15)) & this.#mask
    while (this.#from[at] !== NONE && (this.#from[at] !== state || this.#unit[at] !== unit)) at = (at + 1) & this.#mask
    return at
  }
}
