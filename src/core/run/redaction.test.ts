import { describe, expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import type { Json } from '../json.js'
import { carriesSecret, MASK, maskWithin, secretsIn } from './redaction.js'

const secrets = secretsIn(['hunter22', 'pin', 7])

describe('R-EVENT-6: what carries a secret', () => {
  it.each<[string, Json]>([
    ['the value itself', 'hunter22'],
    ['a text around it', 'say hunter22 to enter'],
    ['a value too short to look for in texts, alone', 'pin'],
    ['a number, alone', 7],
    ['an item of a list', ['fine', ['hunter22']]],
    ['a field of an object', { inner: { word: 'hunter22' } }],
    ['the name of a field', { hunter22: true }],
    ['a text around it as the name of a field', { inner: { 'is-hunter22': 1 } }],
  ])('is seen in %s', (_, value) => {
    expect(carriesSecret(value, secrets)).toBe(true)
    expect(JSON.stringify(maskWithin(value, secrets))).not.toContain('hunter22')
  })

  it.each<[string, Json]>([
    ['a short value within a text', 'spinning'],
    ['a number within a text', '17'],
    ['null', null],
    ['an empty object', {}],
  ])('is not seen in %s', (_, value) => {
    expect(carriesSecret(value, secrets)).toBe(false)
    expect(maskWithin(value, secrets)).toEqual(value)
  })

  it('is masked where it stands, and an object whole when a name in it tells', () => {
    const value = { by: 'ann', words: ['hunter22', 'fine'], index: { hunter22: 1 } }
    expect(maskWithin(value, secrets)).toEqual({ by: 'ann', words: [MASK, 'fine'], index: MASK })
  })
})

describe('R-EVENT-6: a secret that a workflow makes the name of a field', () => {
  it('is in no payload of the log, and whatever it was written to is hidden from then on', () => {
    const byName = { type: 'expression' as const, expression: '{variables.key: "seen"}' }
    const run = given({
      nodes: {
        tell: { type: 'core.identity', inputs: { payload: byName } },
        keep: { type: 'core.setVariable', config: { name: 'plain' }, inputs: { value: byName } },
      },
      edges: ['tell > keep'],
      variables: [{ name: 'key', type: 'string', sensitive: true }],
    }).start({ key: 'hunter22' })
    expect(run.state).toMatchObject({
      outcome: { status: 'completed' },
      variables: { plain: { hunter22: 'seen' } },
      hidden: { variables: ['key', 'plain'] },
    })
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('hunter22')
  })
})
