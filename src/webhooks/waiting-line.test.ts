import { describe, expect, it } from 'vitest'
import { WaitingLine } from './waiting-line.js'

const lineOf = (...items: [string, number][]): WaitingLine<number> => {
  const line = new WaitingLine<number>()
  for (const [name, item] of items) line.add(name, item)
  return line
}

describe('a waiting line', () => {
  it('lets those who wait take turns, each in order', () => {
    const line = lineOf(['a', 1], ['a', 2], ['a', 3], ['b', 4], ['c', 5])
    const taken = Array.from({ length: 6 }, () => line.take(() => true))
    expect(taken).toEqual([1, 4, 5, 2, 3, undefined])
    expect(line.size).toBe(0)
  })

  it('passes over those who may not have one now', () => {
    const line = lineOf(['a', 1], ['b', 2])
    expect(line.take(name => name === 'b')).toBe(2)
    expect(line.take(name => name === 'b')).toBeUndefined()
    expect([line.size, line.sizeOf('a'), line.sizeOf('b')]).toEqual([1, 1, 0])
  })

  it('gives all back', () => {
    const line = lineOf(['a', 1], ['a', 2], ['b', 3])
    expect([line.size, line.takeAll(), line.size]).toEqual([3, [1, 2, 3], 0])
  })
})
