import { beforeEach, describe, expect, test } from 'vitest'
import { ManualClock } from '../../testing/manual-clock.js'
import { RateLimiter } from './rate-limit.js'

let clock: ManualClock
beforeEach(() => {
  clock = new ManualClock()
})

const limiter = (requestsPerSecond: number, burst: number) => new RateLimiter(clock, { requestsPerSecond, burst })
const takes = (limit: RateLimiter, times: number, name = 'a') => Array.from({ length: times }, () => limit.take(name))

describe('E62: a bucket of tokens', () => {
  test('E62: gives out as many at once as the burst says, and not one more', () => {
    expect(takes(limiter(1, 3), 5)).toEqual([0, 0, 0, 1000, 1000])
  })

  test('E62: has another in the very millisecond that it named, and not before', () => {
    const limit = limiter(125, 1)
    expect(takes(limit, 2)).toEqual([0, 8])
    clock.skip(7)
    expect(limit.take('a')).toBe(1)
    clock.skip(1)
    expect(takes(limit, 2)).toEqual([0, 8])
  })

  test('E62: never holds more than the burst, however long nobody asked', () => {
    const limit = limiter(10, 2)
    takes(limit, 2)
    clock.skip(3_600_000)
    expect(takes(limit, 3)).toEqual([0, 0, 100])
  })

  test('E62: belongs to one name', () => {
    const limit = limiter(1, 1)
    expect(takes(limit, 2, 'a')).toEqual([0, 1000])
    expect(takes(limit, 2, 'b')).toEqual([0, 1000])
  })

  test('E62: of no requests per second is no limit', () => {
    expect(takes(limiter(0, 1), 3)).toEqual([0, 0, 0])
  })

  test('E62: is not forgotten before it is full again, however many there are', () => {
    const limit = limiter(1, 2)
    takes(limit, 2, 'early')
    clock.skip(1)
    for (let i = 1; i < 10_000; i += 1) takes(limit, 2, `name-${i}`)
    clock.skip(1_998)
    expect(limit.take('one more')).toBe(0)
    expect(takes(limit, 2, 'early')).toEqual([0, 1])
  })
})
