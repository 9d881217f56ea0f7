export type TurnTaking = {
  /** Resolves when it is the caller's turn. */
  next(): Promise<void>
}

/**
 * Turns of the one thread that everything shares: one at a time, in the order in which they were asked for, and whatever
 * else the process has to do between two of them. Whoever has much to do asks again after each part, and so stands behind
 * all the others; what a turn is used for must be bounded by whoever takes it.
 */
export class Turns implements TurnTaking {
  readonly #waiting: (() => void)[] = []

  next(): Promise<void> {
    return new Promise(resolve => {
      this.#waiting.push(resolve)
      if (this.#waiting.length === 1) setImmediate(this.#serve)
    })
  }

  readonly #serve = (): void => {
    this.#waiting[0]?.()
    this.#waiting.shift()
    if (this.#waiting.length > 0) setImmediate(this.#serve)
  }
}
