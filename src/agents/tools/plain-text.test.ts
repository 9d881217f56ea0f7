import { describe, expect, test } from 'vitest'
import { createSecrets } from '../../secrets/secrets.js'
import { LONGEST_SECRET, plainText } from './plain-text.js'

const SECRET = 'swordfish-very-long-secret'
const secrets = createSecrets(async () => SECRET)
await secrets.resolve({ env: 'KEY' })
const { redact } = secrets

const NOTE = /\n\[cut: the result was longer than the \d+ bytes that are shown\]$/

describe('what of a result is told', () => {
  test('a short text stays as it is', () => {
    expect(plainText('a\n\tb é 🙂', { maxBytes: 100, redact })).toBe('a\n\tb é 🙂')
    expect(plainText('', { maxBytes: 100, redact })).toBe('')
  })

  test('control characters go, line breaks and tabs stay', () => {
    const all = Array.from({ length: 0xa0 }, (_, code) => String.fromCharCode(code)).join('')
    const printable = Array.from({ length: 0x7f - 0x20 }, (_, i) => String.fromCharCode(0x20 + i)).join('')
    expect(plainText(all, { maxBytes: 1_000, redact })).toBe(`\t\n${printable}`)
    expect(plainText('a\r\nb', { maxBytes: 100, redact })).toBe('a\nb')
  })

  test.each([100, 101, 102, 103])('a text that is too long is cut at %i bytes, between characters', maxBytes => {
    const text = plainText('🙂é'.repeat(200), { maxBytes, redact })
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(maxBytes)
    expect(Buffer.byteLength(text)).toBeGreaterThan(maxBytes - 4)
    expect(text).toMatch(NOTE)
    expect(text).not.toMatch(/\ufffd/)
  })

  test('half a surrogate pair does not survive', () => {
    expect(plainText('a\ud83d', { maxBytes: 100, redact })).toBe('a\ufffd')
  })

  test('A4: a secret is redacted before the text is cut, wherever the cut falls', () => {
    for (let before = 400; before < 600; before += 1) {
      const text = plainText(`${'x '.repeat(before / 2)}${SECRET}${' y'.repeat(50_000)}`, { maxBytes: 512, redact })
      expect(text).not.toMatch(/swordf/)
    }
  })

  test('A4: what a result breaks off with may be half a secret, so it is not told', () => {
    const half = SECRET.slice(0, -3)
    const long = 'x '.repeat(LONGEST_SECRET)
    const broken = plainText(`${long}${half}`, { maxBytes: 10 * LONGEST_SECRET, redact, truncated: true })
    expect(broken.includes('swordf')).toBe(false)
    // Masks are shorter than what they hide, so that the end of what is looked at comes within what is shown.
    const shrinking = `${SECRET} `.repeat(2_000)
    const maxBytes = shrinking.length + half.length - LONGEST_SECRET
    const cut = plainText(`${shrinking}${SECRET} and more`, { maxBytes, redact })
    expect([cut.includes('swordf'), NOTE.test(cut)]).toEqual([false, true])
  })

  test('100 MB are not worked through for the few bytes that are told', () => {
    expect(plainText('x'.repeat(100_000_000), { maxBytes: 200, redact })).toHaveLength(200)
  })
})
