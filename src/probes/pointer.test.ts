import { expect, test } from 'vitest'
import { stringsIn, valueAt } from './pointer.js'

const value = { a: [{ b: 1 }, 'x'], 'c/d': { '~': null }, '': { '0': 'zero' } }

test.each([
  [undefined, value],
  ['', value],
  ['/a/0/b', 1],
  ['/a/1', 'x'],
  ['/c~1d/~0', null],
  ['//0', 'zero'],
])('%s leads to a value', (pointer, expected) => {
  expect(valueAt(value, pointer)).toEqual(expected)
})

test.each(['a', '/b', '/a/2', '/a/-', '/a/01', '/a/0/b/c', '/a/length', '/constructor', '/__proto__', '/a/1/0'])(
  '%s leads nowhere',
  pointer => {
    expect(valueAt(value, pointer)).toBeUndefined()
  },
)

test('texts are found at any depth, in order', () => {
  expect(stringsIn({ a: ['1', { b: '2' }, 3], c: '3', d: null })).toEqual(['1', '2', '3'])
})
