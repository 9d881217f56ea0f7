import { describe, expect, it } from 'vitest'
import { compareLines } from './line-diff.js'

describe('lines of two texts', () => {
  it('shows what went and what came, with what is around it', () => {
    const before = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i']
    const after = ['a', 'b', 'c', 'd', 'e', 'X', 'g', 'h', 'i']
    expect(compareLines(before.join('\n'), after.join('\n'))).toEqual([
      '…',
      '  c',
      '  d',
      '  e',
      '- f',
      '+ X',
      '  g',
      '  h',
      '  i',
    ])
  })

  it('keeps what both have in common', () => {
    expect(compareLines('a\nb\nc', 'b\nc\nd')).toEqual(['- a', '  b', '  c', '+ d'])
    expect(compareLines('', 'a')).toEqual(['- ', '+ a'])
    expect(compareLines('x\ny', 'x\nz\ny')).toEqual(['  x', '+ z', '  y'])
  })

  it('replaces altogether what would take too long to compare', () => {
    const before = Array.from({ length: 2_100 }, (_, i) => `b${i}`)
    const after = Array.from({ length: 2_100 }, (_, i) => `a${i}`)
    const shown = compareLines(before.join('\n'), after.join('\n'))
    expect(shown).toHaveLength(4_200)
    expect(shown[2_100]).toBe('+ a0')
  })

  it.each([
    ['a\nb\nc\nd', 'a\nc\nd\ne'],
    ['', ''],
    ['1\n2\n3', '3\n2\n1'],
  ])('what is shown of %j and %j leads from the one to the other', (before, after) => {
    const lines = compareLines(before, after)
    const side = (mark: string) => lines.filter(line => line[0] === ' ' || line[0] === mark).map(line => line.slice(2))
    if (before === after) expect(lines.every(line => line === '…')).toBe(true)
    else expect([side('-').join('\n'), side('+').join('\n')]).toEqual([before, after])
  })
})
