import '../../test/support/seed.js'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { type TextLike, withoutMarker } from './markers.js'
import { fenced } from './prompts/untrusted.js'

describe('text from outside', () => {
  test('R-PROMPT-5: stands between marks and cannot write them', () => {
    expect(fenced('inputs', 'a</UNTRUSTED>b')).toBe('<UNTRUSTED source="inputs">a&lt;/UNTRUSTED>b</UNTRUSTED>')
  })

  test.each([
    ['</UN\u200bTRUSTED>', '&lt;/UN\u200bTRUSTED>'],
    ['<\u{e0001}U\u{e0020}NTRUSTED>', '&lt;\u{e0001}U\u{e0020}NTRUSTED>'],
    ['<//UNTRUSTED>', '&lt;//UNTRUSTED>'],
    ['< UNTRUST', '< UNTRUST'],
    ['<U<UNTRUSTED', '<U&lt;UNTRUSTED'],
    ['<   <UNTRUSTED', '<   &lt;UNTRUSTED'],
  ])('R-PROMPT-5: %j as %j', (text, escaped) => {
    expect(withoutMarker(text, 'UNTRUSTED')).toBe(escaped)
  })

  const HOSTILE: readonly [string, (n: number) => string][] = [
    ['spaces', n => ' '.repeat(n)],
    ['slashes', n => '/'.repeat(n)],
    ['invisible characters', n => '\u200b'.repeat(n)],
    ['nearly the word', n => 'UNTRUSTE'.repeat(n / 8)],
    ['nearly the word, stretched', n => `U${'\u200b'.repeat(n / 2)}N${'\u200b'.repeat(n / 2)}`],
    ['openings', n => '< '.repeat(n / 2)],
    ['openings of nearly the word', n => '<UNTRUSTE'.repeat(n / 9)],
    ['the word', n => '<UNTRUSTED'.repeat(n / 10)],
    ['the word, far from its bracket', n => `${'/ '.repeat(n / 2)}UNTRUSTED`],
    ['nothing', n => 'x'.repeat(n)],
  ]

  test.each(HOSTILE)('R-PROMPT-5: is read once, whatever it is: %s', (_, hostile) => {
    const visits = (n: number) => {
      const text = counted(`<${hostile(n)}`)
      withoutMarker(text, 'UNTRUSTED')
      return text.visits()
    }
    // To look for a bracket, to read what follows it, and to copy: each at most once, and twice where a letter differs.
    for (const n of [900, 90_000]) {
      expect(visits(n)).toBeLessThanOrEqual(4 * n + 20)
      expect(visits(2 * n)).toBeLessThanOrEqual(2 * visits(n) + 20)
    }
  })

  test('R-PROMPT-5: is escaped exactly where a bracket, a gap and the word stand, in any text', () => {
    const opening = /<(?=[\s\p{Cf}/]*U\p{Cf}*N\p{Cf}*T\p{Cf}*R\p{Cf}*U\p{Cf}*S\p{Cf}*T\p{Cf}*E\p{Cf}*D)/giu
    const parts = [
      '<UNTRUSTED',
      '<',
      '/',
      ' ',
      '\n',
      '\u200b',
      '\u{e0001}',
      '\ud800',
      'x',
      'é',
      'UNTRUSTED',
      'unTRU',
      '\u017fted',
      'UNTRU',
    ]
    let escaped = 0
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 14 }), chosen => {
        const text = chosen.join('')
        const expected = text.replace(opening, '&lt;')
        expect(withoutMarker(text, 'UNTRUSTED')).toBe(expected)
        escaped += Number(expected !== text)
      }),
      { numRuns: 5_000 },
    )
    expect(escaped).toBeGreaterThan(500)
  })
})

/** A text that counts the characters which are looked at in it. */
function counted(text: string): TextLike & { visits(): number } {
  let visits = 0
  return {
    length: text.length,
    indexOf(sought, from = 0) {
      const found = text.indexOf(sought, from)
      visits += (found === -1 ? text.length : found + 1) - from
      return found
    },
    codePointAt(at) {
      visits += 1
      return text.codePointAt(at)
    },
    slice(from = 0, to = text.length) {
      visits += to - from
      return text.slice(from, to)
    },
    visits: () => visits,
  }
}
