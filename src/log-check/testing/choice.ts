/** Picks a number from 0 to n-1. Generated logs are a function of the choices made, so a failing log can be shrunk. */
export type Choose = (n: number) => number

/** Choices read from a tape; past its end the first option is taken, which always leads to an end. */
export function fromTape(tape: readonly number[]): Choose {
  let place = 0
  return n => (n <= 1 ? 0 : (tape[place++] ?? 0) % n)
}

/** Choices from a seed (mulberry32). */
export function fromSeed(seed: number): Choose {
  let state = seed >>> 0
  return n => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return n <= 1 ? 0 : ((mixed ^ (mixed >>> 14)) >>> 0) % n
  }
}

export const pick = <T>(choose: Choose, items: readonly T[]): T => items[choose(items.length)] as T

export const chance = (choose: Choose, oneIn: number): boolean => choose(oneIn) === oneIn - 1
