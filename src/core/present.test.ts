import { expect, test } from 'vitest'
import { present } from './present.js'

test('what is there is given back as it is, also what counts as nothing', () => {
  for (const value of [0, '', false, null]) expect(present(value, 'value')).toBe(value)
})

test('what is missing is a bug that says what was looked for', () => {
  expect(() => present(new Map<string, number>().get('a'), 'node "a"')).toThrow('internal error: no node "a"')
})
