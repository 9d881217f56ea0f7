import { expect, test } from 'vitest'
import { sinceTime } from './since.js'

const NOW = Date.parse('2026-03-08T12:00:00Z')

test.each([
  ['7d', '2026-03-01T12:00:00.000Z'],
  ['90s', '2026-03-08T11:58:30.000Z'],
  ['999999999d', '1970-01-01T00:00:00.000Z'],
  ['2026-02-01', '2026-02-01T00:00:00.000Z'],
  ['2026-02-01T10:00:00+01:00', '2026-02-01T09:00:00.000Z'],
])('%s is %s', (text, time) => {
  expect(sinceTime(text, NOW)).toBe(time)
})

test.each(['', 'yesterday', '7', '0d', '7w', '2026-13-01'])('%j is refused, with what to write', text => {
  expect(() => sinceTime(text, NOW)).toThrow(/write .*7d/)
})
