import { describe, expect, test } from 'vitest'
import { withoutCredentials } from './credentials.js'

describe('what looks like a credential', () => {
  test.each([
    ['Authorization: Basic dXNlcjpwYXNz', 'Authorization: [REDACTED]'],
    ['{"authorization":"Basic abcdefgh"}', '{"authorization":"[REDACTED]"}'],
    ['sent Basic dXNlcjpwYXNzMQ== to it', 'sent [REDACTED] to it'],
    ['Bearer abcdefghijklmnop', '[REDACTED]'],
    ['a JWT eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl.', 'a JWT [REDACTED].'],
  ])('is masked: %s', (text, said) => {
    expect(withoutCredentials(text)).toBe(said)
  })

  test.each([
    'Basic understanding of authentication is a must.',
    'The basic requirements are met; basic/advanced users agree.',
    'node "ask-the-user" failed after 3 attempts',
  ])('is told from plain words: %s', text => {
    expect(withoutCredentials(text)).toBe(text)
  })
})
