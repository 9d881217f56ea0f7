import { expect, test } from 'vitest'
import { ManualClock } from '../testing/manual-clock.js'
import { TokenBuckets } from './token-buckets.js'

const REFILL = { burst: 3, tokens: 2, everyMs: 1_000 }

test('as many at once as a bucket holds, not one more, then one each time one has come back', () => {
  const clock = new ManualClock()
  const buckets = new TokenBuckets(clock)
  const take = () => buckets.take('a', REFILL)
  expect([take(), take(), take(), take(), take()]).toEqual([0, 0, 0, 500, 500])
  clock.skip(375)
  expect(take()).toBe(125)
  clock.skip(125)
  expect([take(), take()]).toEqual([0, 500])
})

test('a bucket never holds more than it can', () => {
  const clock = new ManualClock()
  const buckets = new TokenBuckets(clock)
  buckets.take('a', REFILL)
  clock.skip(3_600_000)
  expect([1, 2, 3, 4].map(() => buckets.take('a', REFILL) === 0)).toEqual([true, true, true, false])
})

test('each name has a bucket of its own', () => {
  const buckets = new TokenBuckets(new ManualClock())
  const one = { ...REFILL, burst: 1 }
  expect([buckets.take('a', one), buckets.take('b', one)]).toEqual([0, 0])
  expect([buckets.take('a', one), buckets.take('b', one)]).toEqual([500, 500])
})

test('where nothing comes back, the wait is one period', () => {
  const buckets = new TokenBuckets(new ManualClock())
  const never = { burst: 0, tokens: 0, everyMs: 60_000 }
  expect([buckets.take('a', never), buckets.take('a', never)]).toEqual([60_000, 60_000])
})

test('of too many only those are forgotten that are full again', () => {
  const clock = new ManualClock()
  const buckets = new TokenBuckets(clock)
  const one = { burst: 1, tokens: 1, everyMs: 1_000 }
  for (let i = 0; i < 9_999; i += 1) buckets.take(String(i), one)
  clock.skip(600)
  buckets.take('late', one)
  clock.skip(400)
  buckets.take('one more', one)
  expect(buckets.take('late', one)).toBe(600)
  expect(buckets.take('0', one)).toBe(0)
})
