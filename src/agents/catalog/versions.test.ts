import { describe, expect, test } from 'vitest'
import { compareVersions, isRange, isVersion, satisfies } from './versions.js'

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
    ['2.0.0-beta', '>=1.0.0 <2.0.0', false],
    ['2.0.0-beta.2', '>=2.0.0-beta.1 <3.0.0', true],
    ['1.9.0', '1.x', true],
    ['2.0.0', '1.x', false],
    ['1.2.9', '1.2', true],
    ['1.3.0', '>= 1.2.0', true],
    ['2.0.0-beta', '*', true],
  ])('%s in %s: %s', (version, range, expected) => {
    expect(isRange(range)).toBe(true)
    expect(satisfies(version, range)).toBe(expected)
  })

  test.each(['', 'latest', '^1.2.3 ||', '|| ^1.2.3', '1.2.3.4', '^one'])('%j is no range', range => {
    expect(isRange(range)).toBe(false)
  })

  test.each(['1.2.3', '0.0.0', '1.0.0-rc.1', '1.0.0+build.7'])('%j is a version', version => {
    expect(isVersion(version)).toBe(true)
  })

  test.each(['', '1', '1.2', 'v1.2.3', ' 1.2.3', '01.2.3', '1.2.3-01', '1.2.99999999999999999999'])(
    '%j is no version, for nothing could compare it',
    version => {
      expect(isVersion(version)).toBe(false)
    },
  )
})
