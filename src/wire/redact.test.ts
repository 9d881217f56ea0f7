import { describe, expect, test } from 'vitest'
import { redactPayload, scrubber } from './redact.js'

const MASK = '[REDACTED]'

describe('a text that somebody wrote', () => {
  const scrub = scrubber([])
  test.each([
    'Authorization: Bearer abcdefghijklmnop',
    'ask_0123456789abcdefghijklmnopqrstuvwxyzABCDEFG',
    'sk-proj-0123456789abcdef',
    'ghp_0123456789abcdefghij',
    'AKIAIOSFODNN7EXAMPLE',
    'eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl',
    'api_key=0123456789',
    'password: hunter2222',
    'postgres://user:pass@db.internal/x',
    '-----BEGIN PRIVATE KEY-----\nMIIE\n-----END PRIVATE KEY-----',
  ])('loses what looks like a credential: %s', text => {
    const said = scrub(`it was ${text} there`)
    expect(said).toContain(MASK)
    for (const word of [
      'abcdefghijklmnop',
      '0123456789',
      'IOSFODNN7',
      'c2lnbmF0dXJl',
      'hunter2222',
      'user:pass',
      'MIIE',
    ])
      expect(said).not.toContain(word)
  })

  test('keeps what does not', () => {
    const text = 'node "ask-the-user" failed after 3 attempts; run 019a2b3c-0000-7000-8000-000000000000'
    expect(scrub(text)).toBe(text)
  })

  test('loses what the run was given', () => {
    expect(scrubber([{ a: ['Jane Doe'] }])('cannot parse Jane Doe')).toBe(`cannot parse ${MASK}`)
  })

  test('is not shown at all when there is too much to look for', () => {
    expect(scrubber([Array.from({ length: 501 }, (_, i) => `person ${i}`)])('cannot parse person 7')).toBe(MASK)
  })
})

test('a payload keeps how it went and loses everything else, known or not', () => {
  const payload = {
    nodeId: 'n',
    attempt: 1,
    outputs: { secret: 1 },
    neverSeenBefore: 'x',
    reason: 'told by Bearer abcdefghijkl',
    error: { code: 'c', message: 'sk-0123456789', details: { a: 1 } },
  }
  expect(redactPayload(payload, scrubber([]))).toEqual({
    nodeId: 'n',
    attempt: 1,
    outputs: MASK,
    neverSeenBefore: MASK,
    reason: `told by ${MASK}`,
    error: { code: 'c', message: MASK, details: { [MASK]: MASK } },
  })
})
