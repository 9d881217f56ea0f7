import type { Clock } from '../ports/clock.js'

/**
 * Runs that are due soon, and one timer for the earliest of them. Only what falls before the next sweep of the store's
 * table of due times is kept here, so a million sleeping runs cost nothing.
 */
export class DueTimes {
  readonly #at = new Map<string, number>()
  #horizon = Number.NEGATIVE_INFINITY
  #armedFor = Number.POSITIVE_INFINITY
  #disarm: () => void = () => undefined

  constructor(
    private readonly clock: Clock,
    private readonly onDue: (runId: string) => void,
  ) {}

  /** From here on, times up to `horizon` are watched; later ones are left to a later sweep. */
  watchUntil(horizon: number): void {
    this.#horizon = horizon
  }

  /** Replaces what was noted for this run. */
  note(runId: string, at: number): void {
    if (at > this.#horizon) {
      this.#at.delete(runId)
      return
    }
    this.#at.set(runId, at)
    if (at < this.#armedFor) this.#arm(at)
  }

  forget(runId: string): void {
    this.#at.delete(runId)
  }

  stop(): void {
    this.#disarm()
    this.#at.clear()
    this.#armedFor = Number.POSITIVE_INFINITY
  }

  #arm(at: number): void {
    this.#disarm()
    this.#armedFor = at
    this.#disarm = this.clock.after(at - this.clock.now(), () => this.#fire())
  }

  #fire(): void {
    this.#armedFor = Number.POSITIVE_INFINITY
    const now = this.clock.now()
    let next = Number.POSITIVE_INFINITY
    for (const [runId, at] of this.#at) {
      if (at <= now) {
        this.#at.delete(runId)
        this.onDue(runId)
      } else {
        next = Math.min(next, at)
      }
    }
    if (next < this.#armedFor) this.#arm(next)
  }
}
