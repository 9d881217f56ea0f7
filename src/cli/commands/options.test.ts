import { describe, expect, test } from 'vitest'
import { shareOption } from './options.js'

describe('a share', () => {
  test.each([
    ['0', 0],
    ['1', 1],
    ['0.8', 0.8],
    ['80%', 0.8],
    ['100%', 1],
    ['0.000001', 0.000001],
  ])('%s is %d', (text, share) => expect(shareOption(text)).toBe(share))

  test.each(['1.1', '101%', '-0.1', '', '%', 'all', '.8', '0,8', '1e-1', '80 %', 'NaN', '0.0000001'])(
    '%j is refused with what to write',
    text => expect(() => shareOption(text)).toThrow(`${JSON.stringify(text)} is not a share; write 0.8 or 80%`),
  )
})
