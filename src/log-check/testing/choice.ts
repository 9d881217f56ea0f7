/** Picks a number from 0 to n-1. A generated log is a function of the choices made. */
export type Choose = (n: number) => number

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
