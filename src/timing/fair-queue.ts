/** How much of what is shared somebody may have: turns in proportion to `weight`, and so many places at once. */
export type Share = { readonly weight: number; readonly atOnce: number }

/** How much is being worked on now, how much waits, and how many names are remembered. */
export type QueueLoad = { readonly running: number; readonly waiting: number; readonly names: number }

type Line = {
  readonly waiting: (() => void)[]
  running: number
  /** Where the next turn of this line stands in virtual time. */
  turn: number
}

/** With so many lines, those that nobody stands in are forgotten: each may then have one turn earlier than its due. */
const MAX_IDLE_LINES = 1_000

/**
 * Runs work, so much of it at a time. Where places are scarce those who wait take turns: within one name in order of
 * arrival, between names in proportion to their weights, whoever came first and however much each has waiting.
 *
 *  F1  never more than `places` at once, never more than its share's `atOnce` of one name.
 *  F2  while a name with weight v waits, and has a place left of its own, another of weight w begins at most
 *      ⌊w / v⌋ + 1 pieces of work before one of its own begins.
 *  F3  no place stays empty while somebody may take it.
 *  F4  what was not used is not saved up: who comes back after a while has the next turn, not all those that were missed.
 */
export class FairQueue {
  readonly #lines = new Map<string, Line>()
  #running = 0
  /** The turn that was taken last. */
  #now = 0

  constructor(
    private readonly places: number,
    private readonly shareOf: (name: string) => Share,
  ) {}

  get load(): QueueLoad {
    let waiting = 0
    for (const line of this.#lines.values()) waiting += line.waiting.length
    return { running: this.#running, waiting, names: this.#lines.size }
  }

  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    let isTurn = false
    let begin = () => {
      isTurn = true
    }
    this.#lineOf(name).waiting.push(() => begin())
    this.#next()
    if (!isTurn)
      await new Promise<void>(resolve => {
        begin = resolve
      })
    try {
      return await work()
    } finally {
      this.#leave(name)
    }
  }

  #lineOf(name: string): Line {
    const known = this.#lines.get(name)
    if (known !== undefined) return known
    if (this.#lines.size >= MAX_IDLE_LINES) this.#forget()
    const line: Line = { waiting: [], running: 0, turn: this.#now }
    this.#lines.set(name, line)
    return line
  }

  /** Gives every free place to whoever has the earliest turn of those that may take it. */
  #next(): void {
    while (this.#running < this.places) {
      const [name, line] = this.#earliest()
      const begin = line?.waiting.shift()
      if (name === undefined || line === undefined || begin === undefined) return
      this.#now = Math.max(this.#now, line.turn)
      line.turn = this.#now + 1 / this.shareOf(name).weight
      line.running += 1
      this.#running += 1
      begin()
    }
  }

  #earliest(): readonly [string, Line] | readonly [] {
    let first: readonly [string, Line] | readonly [] = []
    for (const entry of this.#lines) {
      const [name, line] = entry
      if (line.waiting.length === 0 || line.running >= this.shareOf(name).atOnce) continue
      if (first[1] === undefined || line.turn < first[1].turn) first = entry
    }
    return first
  }

  #leave(name: string): void {
    const line = this.#lines.get(name)
    if (line === undefined) return
    line.running -= 1
    this.#running -= 1
    this.#next()
    if (this.#running === 0) {
      // Nobody is left to be compared with.
      this.#forget()
      this.#now = 0
    }
  }

  #forget(): void {
    for (const [name, line] of this.#lines)
      if (line.running === 0 && line.waiting.length === 0) this.#lines.delete(name)
  }
}
