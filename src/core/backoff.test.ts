import fc from 'fast-check'
import { expect, test } from 'vitest'
import { backoff } from './backoff.js'

const waits = (plan: Parameters<typeof backoff>[0], failures: readonly number[]): number[] =>
  failures.map(count => backoff(plan, count))

test('waits double from the first on, up to the longest', () => {
  expect(waits({ firstMs: 1_000, mostMs: 5_000 }, [1, 2, 3, 4, 5_000])).toEqual([1_000, 2_000, 4_000, 5_000, 5_000])
  expect(waits({ firstMs: 2_000 }, [1, 2, 20])).toEqual([2_000, 4_000, 2_000 * 2 ** 19])
})

test('another factor grows otherwise, in whole milliseconds', () => {
  expect(waits({ firstMs: 100, factor: 1.5, mostMs: 300 }, [1, 2, 3, 4])).toEqual([100, 150, 225, 300])
  expect(waits({ firstMs: 100, factor: 1 }, [1, 2, 9])).toEqual([100, 100, 100])
  expect(waits({ firstMs: 0, factor: 10, mostMs: 300 }, [1, 2_000])).toEqual([0, 0])
  expect(waits({ firstMs: 7, factor: 1e300, mostMs: 300.5 }, [2_000])).toEqual([300.5])
})

test('a draw spreads the wait from half to one and a half times itself; other draws are other waits', () => {
  const plan = { firstMs: 1_000, mostMs: 8_000 }
  expect([0, 0.25, 0.5, 1].map(draw => backoff(plan, 2, draw))).toEqual([1_000, 1_500, 2_000, 3_000])
  expect(backoff(plan, 99, 1)).toBe(12_000)
})

/** What runs have recorded since they record waits. */
test('without a draw a wait is what runs have always recorded', () => {
  fc.assert(
    fc.property(
      fc.nat(3_600_000),
      fc.double({ min: 1, max: 100, noNaN: true }),
      fc.nat(86_400_000),
      fc.integer({ min: 1, max: 200 }),
      (firstMs, factor, mostMs, failures) => {
        const recorded = Math.min(Math.round(firstMs * factor ** Math.min(failures - 1, 100)), mostMs)
        expect(backoff({ firstMs, factor, mostMs }, failures)).toBe(recorded)
        const round = Math.min(failures, 21)
        expect(backoff({ firstMs }, round)).toBe(firstMs * 2 ** (round - 1))
      },
    ),
  )
})
