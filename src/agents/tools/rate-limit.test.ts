import { describe, expect, test } from 'vitest'
import { ManualClock } from '../../testing/manual-clock.js'
import { createRateLimit } from './rate-limit.js'

const KEY = ['tenant', 'alice', 'mcp:srv.echo']

describe('calls per minute', () => {
  test('R-TOOL-5: a minute of calls at once, then one each time the bucket has refilled', () => {
    const clock = new ManualClock()
    const limit = createRateLimit(clock)
    expect([limit.take(KEY, 3), limit.take(KEY, 3), limit.take(KEY, 3)]).toEqual([0, 0, 0])
    expect(limit.take(KEY, 3)).toBe(20_000)
    clock.skip(19_999)
    expect(limit.take(KEY, 3)).toBe(1)
    clock.skip(1)
    expect(limit.take(KEY, 3)).toBe(0)
    expect(limit.take(KEY, 3)).toBe(20_000)
    clock.skip(3_600_000)
    expect([1, 2, 3, 4].map(() => limit.take(KEY, 3) === 0)).toEqual([true, true, true, false])
  })

  test('R-TOOL-5: every principal, tool and tenant has a bucket of its own', () => {
    const limit = createRateLimit(new ManualClock())
    const keys = [KEY, ['tenant', 'bob', 'mcp:srv.echo'], ['tenant', 'alice', 'x'], ['other', 'alice', 'mcp:srv.echo']]
    expect(keys.map(key => limit.take(key, 1))).toEqual([0, 0, 0, 0])
    expect(keys.every(key => limit.take(key, 1) > 0)).toBe(true)
    expect(limit.take(['a","b', 'c'], 1)).toBe(0)
    expect(limit.take(['a', 'b","c'], 1)).toBe(0)
  })

  test('none at all is none at all, and less than one a minute still comes', () => {
    const clock = new ManualClock()
    const limit = createRateLimit(clock)
    expect(limit.take(KEY, 0)).toBe(60_000)
    clock.skip(600_000)
    expect(limit.take(KEY, 0)).toBe(60_000)
  })

  test('forgets those who are back at a full bucket, not those who are not', () => {
    const clock = new ManualClock()
    const limit = createRateLimit(clock)
    for (let i = 0; i < 9_999; i += 1) limit.take([String(i)], 1)
    clock.skip(59_000)
    limit.take(KEY, 1)
    clock.skip(1_000)
    limit.take(['one more'], 1)
    expect(limit.take(KEY, 1)).toBeGreaterThan(0)
    expect(limit.take(['0'], 1)).toBe(0)
  })
})
