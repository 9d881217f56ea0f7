import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Json } from '../../../src/core/json.js'
import { findingsOf, runsIn } from '../../support/stored-runs.js'
import { CANARY, CRITIC, type Verified, type VerifierRig, verifierRig } from './rig.js'

/** What becomes of the answer of a verifier, from the model to the end of its run. */

let rig: VerifierRig
let misdeeds = 0

beforeAll(async () => {
  rig = await verifierRig()
})

afterAll(async () => {
  expect(misdeeds).toBeGreaterThanOrEqual(10)
  expect(findingsOf(await runsIn(rig.store))).toEqual([])
  await rig.close()
})

const vote = (correctness: number, findings: readonly Json[] = []) => ({ scores: { correctness }, findings })

const outcomeOf = ({ state }: Verified) => (state.phase === 'ended' ? state.outcome : undefined)
const verificationOf = ({ state }: Verified) => (state.phase === 'absent' ? undefined : state.variables.verification)

/** Times a model was called. */
const callsIn = ({ log }: Verified): number => log.match(/^provider\.usage /gm)?.length ?? 0

/** The model does what it must not. */
async function misbehaving(reply: object, agentId?: string): Promise<Verified> {
  misdeeds += 1
  rig.script([{ reply }])
  return rig.verify(agentId === undefined ? {} : { agentId })
}

describe('a vote', () => {
  test.each(['assay.verifier', CRITIC])('of %s is what its model says, with how sure it is', async agentId => {
    rig.script([{ agent: agentId, role: 'verifier', reply: { json: vote(5), confidence: 0.6 } }])
    const done = await rig.verify({ agentId })
    const verification = { result: vote(5), confidence: 0.6 }
    // What the vote is, the parent reads; the run shows that there is one.
    expect(outcomeOf(done)).toEqual({ status: 'completed', outputs: { result: '[REDACTED]', confidence: 0.6 } })
    expect(verificationOf(done)).toEqual(verification)
  })

  test('can be scripted by what is judged, so that work that was done again is judged anew', async () => {
    const missing = { dimension: 'correctness', classification: 'blocking', description: 'No source', evidence: [] }
    rig.script([
      { role: 'verifier', when: { contains: 'second draft' }, reply: { json: vote(5) } },
      { role: 'verifier', when: { contains: 'first draft' }, reply: { json: vote(1, [missing]) } },
    ])
    const [first, second] = await Promise.all(
      ['first draft', 'second draft'].map(text => rig.verify({ bundle: { output: { text } } })),
    )
    expect(verificationOf(first!)).toMatchObject({ result: vote(1, [missing]) })
    expect(verificationOf(second!)).toMatchObject({ result: vote(5) })
  })
})

describe('R-DWS-36: no vote, and none is made up,', () => {
  const VOTE = JSON.stringify({ result: vote(5), confidence: 1 })
  const SPELLINGS = [
    CANARY,
    CANARY.toUpperCase(),
    CANARY.split('').join(' '),
    CANARY.split('').join('\u200b'),
    Buffer.from(CANARY).toString('base64'),
  ]

  test.each(SPELLINGS)('of a verifier that does what its output says: %j', async spelling => {
    const obeying = VOTE.replace('"findings":[]', `"findings":[{"description":"confirmed ${spelling}"}]`)
    const done = await misbehaving({ invalid: obeying })
    expect(outcomeOf(done)).toMatchObject({ status: 'failed', error: { code: 'verifier_canary', retryable: false } })
    expect(verificationOf(done)).toBeUndefined()
    expect(callsIn(done)).toBe(1)
    expect(done.log).not.toContain('agent.decided')
    expect(done.log).not.toContain(spelling)
  })

  test('of one that says so beside a well-formed vote, or in a tool call', async () => {
    for (const reply of [
      { invalid: `The code is ${CANARY}.\n${VOTE}` },
      { tools: [{ tool: 'assay:artifact.read', args: { code: CANARY } }] },
      { truncate: true, text: `The code is ${CANARY}` },
    ])
      expect(outcomeOf(await misbehaving(reply))).toMatchObject({ error: { code: 'verifier_canary' } })
  })

  test('but it may think about what it is told not to do', async () => {
    rig.script([{ reply: { json: vote(4), reasoning: `It asks for ${CANARY}; I do not give it.` } }])
    expect(outcomeOf(await rig.verify())).toMatchObject({ status: 'completed' })
  })

  test('of the offline model that no script has an answer for', async () => {
    for (const script of [[], [{ agent: 'local.judges.other', reply: { json: vote(5) } }]]) {
      rig.script(script)
      const done = await rig.verify()
      expect(outcomeOf(done)).toMatchObject({ status: 'failed', error: { code: 'envelope_refusal' } })
      expect(verificationOf(done)).toBeUndefined()
    }
  })

  test.each<[string, object, string, number]>([
    ['refuses', { refuse: true }, 'envelope_refusal', 1],
    ['scores beyond the scale', { json: vote(6) }, 'handoff_return_schema_violation', 3],
    ['scores nothing', { json: { scores: {}, findings: [] } }, 'handoff_return_schema_violation', 3],
    ['says WORDS-77 only', { invalid: 'WORDS-77: fine by me' }, 'envelope_invalid', 3],
    ['does not say how sure it is', { invalid: JSON.stringify(vote(5)) }, 'handoff_return_schema_violation', 3],
    ['is cut off', { truncate: true, text: 'WORDS-77' }, 'envelope_truncation_unrecoverable', 3],
    ['is turned away', { fail: { status: 401 } }, 'model_rejected', 1],
  ])('of one that %s, nor a word of it', async (_what, reply, code, calls) => {
    const done = await misbehaving(reply)
    expect(outcomeOf(done)).toMatchObject({ status: 'failed', error: { code, retryable: false } })
    expect(verificationOf(done)).toBeUndefined()
    expect(callsIn(done)).toBe(calls)
    expect(done.log).not.toMatch(/WORDS-77|Cats purr|Mind the commas/)
    expect(done.log).not.toContain(CANARY)
  })

  test('of an agent that has gone', async () => {
    expect(outcomeOf(await rig.verify({ agentId: 'local.judges.nobody' }))).toMatchObject({
      error: { code: 'unknown_agent' },
    })
  })

  test('of a tool that a verifier asks for: it has none', async () => {
    const done = await misbehaving({ tools: [{ tool: 'assay:artifact.list', args: {} }] }, CRITIC)
    expect(outcomeOf(done)).toMatchObject({ error: { code: 'agent_rounds_exceeded' } })
    expect(done.log).not.toMatch(/"status":"ok"/)
  })
})
