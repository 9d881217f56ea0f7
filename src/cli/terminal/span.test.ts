import { expect, test } from 'vitest'
import { parseSpan, spanText } from './span.js'

test.each([
  [-5, '0 s'],
  [12_400, '12 s'],
  [59 * 60_000, '59 min'],
  [3 * 3_600_000, '3 h'],
  [47 * 3_600_000, '47 h'],
  [72 * 3_600_000, '3 d'],
])('%d ms is %s', (ms, text) => {
  expect(spanText(ms)).toBe(text)
})

test('spans are read as seconds', () => {
  expect(['90s', '30m', '12h', '7d'].map(parseSpan)).toEqual([90, 1800, 43_200, 604_800])
})

test.each(['', '7', 'd', '0d', '7 d', '1w', '-1d'])('%j is refused', text => {
  expect(() => parseSpan(text)).toThrow(/write 90s, 30m, 12h or 7d/)
})
