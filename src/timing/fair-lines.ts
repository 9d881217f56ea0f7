type Line<Item> = {
  readonly waiting: Item[]
  /** Where its next turn stands in virtual time: what it has had, counted from when it last came in debt to nobody. */
  turn: number
}

/** With so many lines, those that nobody stands in are forgotten: each may then have one turn earlier than its due. */
const MAX_IDLE_LINES = 1_000

/**
 * Things that wait for something scarce, in a line for each name. Those of one name are taken in order of arrival; between
 * names the next is of the one that has had least, as its things were charged.
 *
 *  T4  who has had less goes first, however much the others have waiting and whoever came first.
 *  T5  what was not used is not saved up: who comes back after a while has the next turn, not all those that were missed.
 *  T6  what was had in one go is made up for: whoever comes back before the others have had as much stands behind them.
 */
export class FairLines<Item> {
  readonly #lines = new Map<string, Line<Item>>()
  #size = 0
  /** The turn that was taken last. */
  #now = 0
  /** Whoever is next, once that has been found out. */
  #next: readonly [string, Line<Item>] | undefined

  get size(): number {
    return this.#size
  }

  /** How many names are remembered. */
  get names(): number {
    return this.#lines.size
  }

  add(name: string, item: Item): void {
    const line = this.#lineOf(name)
    if (line.waiting.length === 0) line.turn = Math.max(line.turn, this.#now)
    line.waiting.push(item)
    this.#size += 1
    this.#next = undefined
  }

  /** Whoever is next, and what waits there. */
  first(): readonly [name: string, item: Item] | undefined {
    this.#next ??= this.#earliest()
    return this.#next && [this.#next[0], this.#next[1].waiting[0]!]
  }

  /** Takes what `first` shows, at that cost. */
  take(cost: number): Item | undefined {
    this.first()
    if (this.#next === undefined) return undefined
    const [, line] = this.#next
    this.#next = undefined
    this.#now = line.turn
    line.turn += cost
    this.#size -= 1
    return line.waiting.shift()
  }

  /** What a name has had besides, or what came out only when it was used. */
  charge(name: string, cost: number): void {
    const line = this.#lineOf(name)
    line.turn = Math.max(line.turn, this.#now) + cost
    this.#next = undefined
  }

  /** Forgets what anybody has had; for when nobody waits, and nobody has to make up for anything. */
  settle(): void {
    this.#forget()
    if (this.#lines.size === 0) this.#now = 0
  }

  #lineOf(name: string): Line<Item> {
    const known = this.#lines.get(name)
    if (known !== undefined) return known
    if (this.#lines.size >= MAX_IDLE_LINES) this.#forget()
    const line: Line<Item> = { waiting: [], turn: this.#now }
    this.#lines.set(name, line)
    return line
  }

  /** Of equals the one that has been there longer; it is behind the other once it has had something. */
  #earliest(): readonly [string, Line<Item>] | undefined {
    let first: readonly [string, Line<Item>] | undefined
    for (const entry of this.#lines)
      if (entry[1].waiting.length > 0 && (first === undefined || entry[1].turn < first[1].turn)) first = entry
    return first
  }

  #forget(): void {
    for (const [name, line] of this.#lines) if (line.waiting.length === 0) this.#lines.delete(name)
  }
}
