import type { ManualClock } from '../../../src/testing/manual-clock.js'

const STEP_MS = 500
/** So many looks, a millisecond apart, at which nothing has moved: then nothing will before time passes. */
const QUIET_LOOKS = 3
const DEADLINE_MS = 120_000

export type Surroundings = {
  readonly clock: ManualClock
  /** Grows whenever something happens. */
  readonly moves: () => number
  /** Something is under way that needs no time to pass. */
  readonly isBusy: () => boolean
  readonly before?: () => Promise<void>
  /** As much as the clock is moved on at once when nothing happens by itself. */
  readonly stepMs?: number
}

/** Lets everything happen until `probe` is true; where nothing does, time passes. */
export async function passing<T>(
  what: string,
  probe: () => T | Promise<T>,
  { clock, moves, isBusy, before, stepMs = STEP_MS }: Surroundings,
): Promise<NonNullable<T>> {
  const end = performance.now() + DEADLINE_MS
  for (let quiet = 0, seen = -1; ; ) {
    await before?.()
    const found = await probe()
    if (found) return found as NonNullable<T>
    if (performance.now() > end) throw new Error(`waited ${DEADLINE_MS} ms for ${what}`)
    await new Promise(resolve => setTimeout(resolve, 1))
    const moved = moves()
    quiet = moved === seen && !isBusy() ? quiet + 1 : 0
    seen = moved
    if (quiet < QUIET_LOOKS) continue
    await clock.advance(stepMs)
    quiet = 0
  }
}
