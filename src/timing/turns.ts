import { FairLines } from './fair-lines.js'

/** Work is counted in steps of about twenty nanoseconds (`core/meter.ts`), by whoever does it. */
export type TurnTaking = {
  /** Resolves when it is the caller's turn. `name` is who it is done for. */
  next(name: string): Promise<void>
  /** Undefined while the loop's present round has room for more; otherwise resolves when it is the caller's turn. */
  room(name: string): Promise<void> | undefined
  /** What was done, in a turn or without one, and took so many steps. */
  spent(name: string, steps: number): void
}

/** What is done in one round of the event loop before everybody has to wait for a turn: about five milliseconds. */
export const ROUND_STEPS = 250_000

/** What a turn counts for at least between those who wait, whatever is done in it. */
const TURN_STEPS = 25_000

/**
 * Turns of the one thread that everything shares, and whatever else the process has to do between two of them. Whoever has
 * much to do asks again after each part; what a part may take must be bounded by whoever takes it.
 *
 *  T1  one turn at most in each round of the event loop, and none in a round whose room is used up.
 *  T2  the next turn is of who has had least, in steps; within one name they are in order of arrival (`fair-lines.ts`).
 *  T3  nobody passes those who wait: there is room without a turn only while nobody waits for one.
 */
export class Turns implements TurnTaking {
  readonly #waiting = new FairLines<() => void>()
  #spent = 0
  #isArmed = false

  /** How many wait for a turn. */
  get waiting(): number {
    return this.#waiting.size
  }

  next(name: string): Promise<void> {
    return new Promise(resolve => {
      this.#waiting.add(name, resolve)
      this.#arm()
    })
  }

  room(name: string): Promise<void> | undefined {
    return this.#waiting.size === 0 && this.#spent < ROUND_STEPS ? undefined : this.next(name)
  }

  spent(name: string, steps: number): void {
    this.#spent += steps
    this.#waiting.charge(name, steps)
    this.#arm()
  }

  #arm(): void {
    if (this.#isArmed) return
    this.#isArmed = true
    setImmediate(this.#endRound)
  }

  readonly #endRound = (): void => {
    this.#isArmed = false
    const isFull = this.#spent >= ROUND_STEPS
    this.#spent = 0
    if (!isFull) this.#waiting.take(TURN_STEPS)?.()
    // A round in which nobody waits, and nobody had much, leaves nothing to be made up for.
    if (isFull || this.#waiting.size > 0) this.#arm()
    else this.#waiting.settle()
  }
}

/** For whoever measures what turns are there for. */
export const NO_TURNS: TurnTaking = {
  next: () => Promise.resolve(),
  room: () => undefined,
  spent: () => undefined,
}
