import type { Crash } from './host-process.js'

/**
 * Which moments a sweep kills its hosts at, of all that there are: other ones each time, so that in time all are met. To
 * meet the same again: `ASSAY_TEST_SEED=7 npm test -- test/crash`.
 */
export const SEED = Number(process.env.ASSAY_TEST_SEED ?? Math.floor(Math.random() * 1_000))

/** Before and after each of so many writes; of `every` such points one, at least one, evenly spread. */
export function crashPoints(writes: number, every: number): Crash[] {
  const points = Array.from({ length: writes }, (_, i): Crash[] => [
    { at: i + 1, when: 'before' },
    { at: i + 1, when: 'after' },
  ]).flat()
  const count = Math.max(1, Math.round(points.length / every))
  return Array.from(
    { length: count },
    (_, i) => points[(SEED + Math.floor((i * points.length) / count)) % points.length]!,
  )
}
