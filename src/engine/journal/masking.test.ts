import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { createSecretRegister } from '../../secrets/redactor.js'
import { Masking, PIECE_BYTES } from './masking.js'
import '../../../test/support/seed.js'

const SECRET = 'alpha-secret-0123456789'
const register = createSecretRegister()
register.add('A', SECRET)
const { redact } = register

const CHUNK = 64 * 1024

/** What came out of it, and how much was held at most while it went in. */
function masked(bytes: Buffer, chunk = CHUNK) {
  const masking = new Masking(redact)
  const pieces: Buffer[] = []
  let [given, told, held] = [0, 0, 0]
  for (let at = 0; at < bytes.length; at += chunk) {
    const part = bytes.subarray(at, at + chunk)
    given += part.length
    const out = masking.take(part)
    if ('code' in out) return { refusal: out.message, held }
    for (const piece of out) told += piece.length
    pieces.push(...out)
    held = Math.max(held, given - told)
  }
  const rest = masking.end()
  if ('code' in rest) return { refusal: rest.message, held }
  pieces.push(...rest)
  return { pieces, held, isText: masking.isText, whole: Buffer.concat(pieces) }
}

/** `length` characters in which each of `words` begins that far from its beginning. */
function textWith(
  length: number,
  words: readonly (readonly [at: number, word: string])[],
  filler = 'snow ö\n',
): string {
  let text = filler.repeat(Math.ceil(length / filler.length)).slice(0, length)
  for (const [at, word] of words) text = text.slice(0, at) + word + text.slice(at + word.length)
  return text
}

describe('R-WS-4: secrets in a file that comes bit by bit', () => {
  it('are masked wherever they stand, as in the whole of it, and nothing else is changed', () => {
    const anywhere = fc.integer({ min: 0, max: 1_200_000 })
    const atCuts = fc.tuple(fc.integer({ min: 1, max: 2 }), fc.integer({ min: -60, max: 60 }))
    const places = fc.oneof(
      anywhere,
      atCuts.map(([n, off]) => n * PIECE_BYTES + off),
    )
    const words = fc.constantFrom(SECRET, 'bearer abcdefghijkl', 'sk-abcdefghijklmnop', 'https://me:pass@host')
    let found = 0
    fc.assert(
      fc.property(fc.array(fc.tuple(places, words), { maxLength: 6 }), fc.constantFrom(997, CHUNK), (put, chunk) => {
        const text = textWith(1_300_000, put, put.length % 2 === 0 ? 'snow and ice\n' : 'snow ö\n')
        const { whole, isText, pieces } = masked(Buffer.from(text), chunk)
        const meant = redact.text(text)
        if (meant !== text) found += 1
        expect(whole?.equals(Buffer.from(meant))).toBe(true)
        expect(isText).toBe(true)
        for (const piece of pieces ?? []) expect(piece.length).toBeLessThanOrEqual(PIECE_BYTES)
      }),
      { numRuns: 10 },
    )
    expect(found).toBeGreaterThan(3)
  })

  it('of a key that goes on over lines are masked as one, also over a cut', () => {
    const key = `-----BEGIN RSA KEY-----\n${'QUJD'.repeat(60_000)}\n-----END RSA KEY-----`
    const text = textWith(PIECE_BYTES * 3, [[PIECE_BYTES - 1_000, key]], 'plain\n')
    const { whole } = masked(Buffer.from(text))
    expect(whole?.toString()).toBe(redact.text(text))
    expect(whole?.includes('QUJD')).toBe(false)
  })

  it('that have no end are not held for ever: the file is refused', () => {
    const text = textWith(PIECE_BYTES * 8, [[1_000, '-----BEGIN RSA KEY-----']], 'plain\n')
    const { refusal, held } = masked(Buffer.from(text))
    expect(refusal).toContain('such as a BEGIN without its END')
    expect(held).toBeLessThan(PIECE_BYTES * 6)
  })

  it.each([0, 100, PIECE_BYTES - 10, PIECE_BYTES + 131_000, PIECE_BYTES * 3 - 5])(
    'of a file that is no text are found, at %i, and it is refused',
    at => {
      const bytes = Buffer.alloc(PIECE_BYTES * 3 + 100, 0x80)
      expect(masked(bytes).whole?.equals(bytes)).toBe(true)
      bytes.write(SECRET, at)
      expect(masked(bytes).refusal).toContain('holds a secret that this host knows')
    },
  )

  it('are refused where something was masked already and the file turns out to be no text', () => {
    const begun = Buffer.from(textWith(PIECE_BYTES * 2, [[6, 'bearer abcdefghijkl']], 'plain\n'))
    expect(masked(Buffer.concat([begun, Buffer.from([0xff])])).refusal).toContain('begins as text')
    const plain = Buffer.concat([
      Buffer.alloc(PIECE_BYTES * 2, 'plain\n'),
      Buffer.from([0xff]),
      Buffer.alloc(300_000, 'x'),
    ])
    const { whole, isText } = masked(plain)
    expect([whole?.equals(plain), isText]).toEqual([true, false])
  })

  it.each([
    ['text', Buffer.alloc(PIECE_BYTES * 24, 'snow ö\n')],
    ['text with a secret in every piece', Buffer.alloc(PIECE_BYTES * 24, `${'snow '.repeat(50_000)}${SECRET}\n`)],
    ['no text', Buffer.alloc(PIECE_BYTES * 24, Buffer.from([1, 0, 200]))],
  ])('are looked for in %s while little of it is held, however long it is', (_, bytes) => {
    const { held, pieces } = masked(bytes)
    expect(pieces?.length).toBeGreaterThanOrEqual(23)
    expect(held).toBeLessThan(2 * PIECE_BYTES)
  })
})
