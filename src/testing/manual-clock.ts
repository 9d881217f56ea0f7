import type { Clock } from '../engine/ports/clock.js'

/** A clock that stands still until it is told how far to go; callbacks fire in time order. */
export class ManualClock implements Clock {
  #now: number
  readonly #start: number
  #timers: { at: number; callback: () => void }[] = []

  /** `rest`: gives what is under way the chance to finish; `settled` does for all that needs no other process. */
  constructor(
    start = Date.UTC(2026, 0, 1),
    private readonly rest: () => Promise<void> = settled,
  ) {
    this.#now = start
    this.#start = start
  }

  /** Wall time in milliseconds, as far as it was moved. */
  now(): number {
    return this.#now
  }

  /** How far it was moved. */
  monotonic(): number {
    return this.#now - this.#start
  }

  /** Calls back when it has been moved by `ms`; returns a function that takes it back. */
  after(ms: number, callback: () => void): () => void {
    const timer = { at: this.#now + Math.max(ms, 0), callback }
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter(other => other !== timer)
    }
  }

  /** Moves on without anybody noticing, as when a machine was asleep. */
  skip(ms: number): void {
    this.#now += ms
  }

  /** Moves on by `ms`, letting everything that falls due, and what that leads to, happen on the way. */
  async advance(ms: number): Promise<void> {
    const end = this.#now + ms
    await this.rest()
    for (;;) {
      const next = this.#timers.reduce<{ at: number; callback: () => void } | undefined>(
        (first, timer) => (first && first.at <= timer.at ? first : timer),
        undefined,
      )
      if (!next || next.at > end) break
      this.#timers = this.#timers.filter(timer => timer !== next)
      this.#now = Math.max(this.#now, next.at)
      next.callback()
      await this.rest()
    }
    this.#now = end
  }
}

/** Gives promises and in-process IO that are already under way the chance to finish. */
export async function settled(): Promise<void> {
  for (let turn = 0; turn < 20; turn += 1) await new Promise(resolve => setImmediate(resolve))
}
