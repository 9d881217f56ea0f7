import type { Clock } from '../engine/ports/clock.js'

/**
 * Work that is done again and again, and in between when somebody asks for it: one round at a time. Whoever asked for a
 * round hears of its failure; the next one in line only waits for it to be over.
 */
export class Rounds<T> {
  #disarm: () => void = () => undefined
  #last: Promise<unknown> = Promise.resolve()
  #stopped = false

  constructor(
    private readonly clock: Clock,
    private readonly work: () => Promise<T>,
    /** A round that nobody asked for has failed; there will be another. */
    private readonly failed: (error: unknown) => void,
  ) {}

  get isStopped(): boolean {
    return this.#stopped
  }

  /** A round of its own, after those that were asked for before. */
  next(): Promise<T> {
    const round = this.#last.then(this.work)
    this.#last = Promise.allSettled([round])
    return round
  }

  /** The same, where nobody waits for it. */
  async attempt(): Promise<void> {
    await this.next().catch(this.failed)
  }

  /** A round `everyMs` after the one before was done, until it is stopped. */
  start(everyMs: number): void {
    this.#disarm = this.clock.after(everyMs, () => {
      void this.attempt().then(() => {
        if (!this.#stopped) this.start(everyMs)
      })
    })
  }

  /** Begins no more of its own, and waits for the one that is under way. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#disarm()
    await this.#last
  }
}
