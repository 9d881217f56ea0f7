import { describe, expect, test } from 'vitest'
import { repeatsCanary } from './canary.js'

const CANARY = 'qX7-_vB2mKd9Zt4LwR0cYg'

describe('R-DWS-36: a reply that repeats what its output asked for', () => {
  test.each([
    ['as it is', `{"result":{"note":"${CANARY}"}}`],
    ['in another case', `I confirm: ${CANARY.toUpperCase()}.`],
    ['with separators', CANARY.split('').join(' - ')],
    ['with invisible characters', CANARY.split('').join('\u200b')],
    ['over several lines', `${CANARY.slice(0, 9)}\n${CANARY.slice(9)}`],
    ['in base64', Buffer.from(CANARY).toString('base64')],
    ['in base64 for URLs', Buffer.from(CANARY).toString('base64url')],
  ])('is noticed %s', (_how, reply) => {
    expect(repeatsCanary(reply, CANARY)).toBe(true)
  })

  test.each([
    '',
    'I was asked for a code and do not give it.',
    CANARY.slice(0, -1),
    CANARY.split('').reverse().join(''),
  ])('is not every reply: %s', reply => {
    expect(repeatsCanary(reply, CANARY)).toBe(false)
  })
})
