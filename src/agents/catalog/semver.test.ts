import { describe, expect, test } from 'vitest'
import { compareVersions, isRange, satisfies } from './semver.js'

describe('versions', () => {
  test('are in order, oldest first', () => {
    const ordered = [
      '0.9.9',
      '1.0.0-1',
      '1.0.0-alpha',
      '1.0.0-alpha.1',
      '1.0.0-alpha.2',
      '1.0.0-beta',
      '1.0.0',
      '1.0.10',
    ]
    expect([...ordered].reverse().sort(compareVersions)).toEqual(ordered)
    expect(compareVersions('1.0.0+a', '1.0.0+b')).toBe(0)
  })

  test.each([
    ['1.2.3', '1.2.3', true],
    ['1.2.4', '1.2.3', false],
    ['1.9.0', '^1.2.3', true],
    ['2.0.0', '^1.2.3', false],
    ['0.2.9', '^0.2.3', true],
    ['0.3.0', '^0.2.3', false],
    ['0.0.4', '^0.0.3', false],
    ['1.2.9', '~1.2.3', true],
    ['1.3.0', '~1.2.3', false],
    ['1.2.0', '>=1.1.0 <2.0.0', true],
    ['2.0.0', '>=1.1.0 <2.0.0', false],
    ['3.0.1', '^1.0.0 || ^3.0.0', true],
    ['1.0.0', '>1.0.0', false],
    ['1.0.0', '<=1.0.0', true],
    ['7.7.7', '*', true],
  ])('%s in %s: %s', (version, range, expected) => {
    expect(isRange(range)).toBe(true)
    expect(satisfies(version, range)).toBe(expected)
  })

  test.each(['', '1.x', 'latest', '1.2', '>= 1.2.0', '^1.2.3 ||'])('%j is no range', range => {
    expect(isRange(range)).toBe(false)
  })
})
