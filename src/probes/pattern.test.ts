import { expect, test } from 'vitest'
import { ManualClock } from '../testing/manual-clock.js'
import { readPattern } from './pattern.js'

const clock = new ManualClock()

test('a pattern is found, or not', () => {
  const pattern = readPattern('b+')
  expect(pattern?.find('aabb')).toBe(2)
  expect(pattern?.find('aa')).toBe(-1)
  expect(pattern?.all('b bb a', clock)).toEqual(['b', 'bb'])
  expect(readPattern('<(\\w+)>')?.all('<x> <yy>', clock)).toEqual(['x', 'yy'])
  expect(readPattern('x*')?.all('ab', clock)).toEqual(['', '', ''])
})

test.each(['(a', '(?=a)', '(a)\\1', '[z-a]', 'a'.repeat(1_001)])('%s is not a pattern', source => {
  expect(readPattern(source)).toBeUndefined()
})

test('a pattern that takes ages elsewhere is searched for in linear time', () => {
  const text = 'x'.repeat(100_000)
  const attacks = ['(x+x+)+y', '(x|x)*y', '(x*)*y', '^(([a-z])+.)+[A-Z]([a-z])+$']
  expect(attacks.map(source => readPattern(source)?.find(text))).toEqual([-1, -1, -1, -1])
})

test('a large pattern over a long text is not begun', () => {
  const text = 'x'.repeat(200_000)
  const attacks = ['(?i)[a-z0-9]{1,900}@', '(a?b?c?x?){1000}$']
  expect(attacks.map(source => readPattern(source)?.find(text))).toEqual([undefined, undefined])
  expect(attacks.map(source => readPattern(source)?.all(text, clock))).toEqual([undefined, undefined])
})

test('many searches to the end of a text are given up', () => {
  let looks = 0
  const hasty = { ...clock, monotonic: () => looks++ * 400 } as ManualClock
  expect(readPattern('x*y|x')?.all('x'.repeat(1_000), hasty)).toBeUndefined()
  expect(looks).toBeLessThan(10)
})
