import { expect, test } from 'vitest'
import { waitAfter } from './wait.js'

const NOW = Date.UTC(2026, 0, 1)

test('waits double, are spread by chance, and have an end', () => {
  const middle = () => 0.5
  expect([1, 2, 3, 10].map(tries => waitAfter(tries, undefined, NOW, middle))).toEqual([500, 1000, 2000, 30_000])
  expect(waitAfter(1, undefined, NOW, () => 0)).toBe(250)
  expect(waitAfter(1, undefined, NOW, () => 0.999)).toBeLessThan(750)
})

test.each([
  ['7', 7000],
  ['0', 0],
  ['1.5', 1500],
  ['Thu, 01 Jan 2026 00:00:30 GMT', 30_000],
  ['Wed, 31 Dec 2025 00:00:00 GMT', 0],
  ['soon', 500],
  ['-5', 500],
  ['', 500],
])('Retry-After %j waits %i ms', (retryAfter, ms) => {
  expect(waitAfter(1, retryAfter, NOW, () => 0.5)).toBe(ms)
})
