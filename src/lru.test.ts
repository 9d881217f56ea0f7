import { expect, test } from 'vitest'
import { Lru } from './lru.js'

const filled = (most: number, ...keys: string[]): Lru<string> => {
  const cache = new Lru<string>(most)
  for (const key of keys) cache.set(key, `value of ${key}`)
  return cache
}

test('holds no more than it may; what was put first goes first', () => {
  const cache = filled(2, 'a', 'b', 'c')
  expect(cache.keys()).toEqual(['b', 'c'])
  expect(cache.get('a')).toBeUndefined()
  expect(cache.get('b')).toBe('value of b')
})

test('what was read stays, and what nobody read goes', () => {
  const cache = filled(2, 'a', 'b')
  cache.get('a')
  cache.set('c', 'new')
  expect(cache.keys()).toEqual(['a', 'c'])
})

test('what was put again stays with its new value, and takes no second place', () => {
  const cache = filled(2, 'a', 'b')
  cache.set('a', 'other')
  expect(cache.keys()).toEqual(['b', 'a'])
  cache.set('c', 'new')
  expect(cache.get('a')).toBe('other')
  expect(cache.get('b')).toBeUndefined()
})

test('asking for what is not there changes nothing', () => {
  const cache = filled(2, 'a', 'b')
  expect(cache.get('c')).toBeUndefined()
  expect(cache.keys()).toEqual(['a', 'b'])
})

test('forgets one, or all', () => {
  const cache = filled(3, 'a', 'b', 'c')
  cache.delete('b')
  expect(cache.keys()).toEqual(['a', 'c'])
  cache.clear()
  expect(cache.keys()).toEqual([])
  expect(cache.get('a')).toBeUndefined()
})
