import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { Json } from './json.js'
import { carriesSecret, secretsIn } from './run/redaction.js'
import { holdsAny } from './secret-texts.js'

describe('R-EVENT-6: secrets are looked for', () => {
  it('and found exactly where one of them stands, however many there are and however alike', () => {
    const letters = fc.string({ minLength: 1, maxLength: 6, unit: fc.constantFrom('a', 'b', 'é', '\u{1f511}') })
    let [found, missed] = [0, 0]
    fc.assert(
      fc.property(
        fc.array(letters, { minLength: 5, maxLength: 30 }),
        fc.array(letters, { maxLength: 8 }),
        (texts, parts) => {
          const text = parts.join('')
          const expected = texts.some(sought => text.includes(sought))
          if (expected) found += 1
          else missed += 1
          expect(holdsAny(texts)(text)).toBe(expected)
        },
      ),
      { numRuns: 2_000 },
    )
    expect(Math.min(found, missed)).toBeGreaterThan(50)
  })

  it.each([
    ['at its very end', ['x1', 'x2', 'x3', 'x4', 'needle'], 'a needle', true],
    ['within another that is not there', ['abcd!', 'bc', 'x', 'y', 'z'], 'abcd', true],
    ['after a false start', ['aab', '1', '2', '3', '4'], 'aaab', true],
    ['nowhere', ['aab', '1', '2', '3', '4'], 'aaac', false],
  ])('one that stands %s', (_where, texts, text, expected) => {
    expect(holdsAny(texts)(text)).toBe(expected)
  })

  /** Text by text this is 10^10 searches: it would run into the time limit of the test. */
  it('in time that does not grow with their number', () => {
    const secrets = secretsIn([Array.from({ length: 100_000 }, (_, i) => `s${i.toString(36).padStart(4, '0')}`)])
    expect(secrets.texts).toHaveLength(100_000)
    const words = Array.from({ length: 100_000 }, (_, i): Json => `w${i}`)
    expect(carriesSecret(words, secrets)).toBe(false)
    expect(carriesSecret([...words, 'it is s0abc'], secrets)).toBe(true)
  })

  it('in a list that is too long to be the arguments of a call', () => {
    expect(secretsIn([Array(500_000).fill(0), 'hunter22']).texts).toEqual(['hunter22'])
  })
})
