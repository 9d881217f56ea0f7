import { describe, expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import { agentFlow, answered, atWork, breaks, eventsOf, owedTo, says, story } from '../../testing/invocations.js'
import { payloads } from '../../testing/orchestration.js'
import { statusOf } from '../run/state.js'
import type { ModelSaid } from './brief.js'

const one = (brief = {}, configurable = {}) => atWork(given(agentFlow()), brief, configurable)

const unusable = (reason: 'schema-violation' | 'parse-error' = 'schema-violation'): ModelSaid => ({
  kind: 'unusable',
  reason,
  problem: 'say it as JSON',
})
const CUT: ModelSaid = { kind: 'truncated', stopReason: 'max_tokens' }

describe('an answer that cannot be used', () => {
  it.each(['schema-violation', 'parse-error'] as const)(
    'R-ENV-2: %s: asked for again with what to mend and no more room, and the answer stands',
    reason => {
      const run = one({ inputTokens: 100, maxOutputTokens: 500 })
      says(run, { said: unusable(reason), replyTokens: 10 })
      expect(payloads(run, 'envelope.retry.attempted')).toEqual([{ nodeId: 'a', attempt: 2, reason }])
      expect(story(run).slice(-3)).toEqual([
        'provider.usage < assay.model.requested',
        'envelope.retry.attempted < assay.model.requested',
        'assay.model.requested < envelope.retry.attempted',
      ])
      const { invocation, maxOutputTokens, call, attempt } = owedTo(run, 'call-model')!
      expect({ maxOutputTokens, call, attempt }).toEqual({ maxOutputTokens: 500, call: 2, attempt: 1 })
      expect(invocation.rounds).toEqual([
        { contents: 'thought-a-1', wanted: [], results: {}, correction: 'say it as JSON' },
      ])
      // Room for what was said and for the correction, at three bytes a character.
      expect(payloads(run, 'assay.model.requested')[1]).toMatchObject({
        reservedTokens: 100 + 10 + 'say it as JSON'.length * 3 + 16 + 500,
      })
      says(run, answered())
      expect(statusOf(run.state)).toBe('completed')
    },
  )

  it('R-ENV-2: the correction is told to the model and to nobody else', () => {
    const run = one()
    says(run, unusable())
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('say it as JSON')
  })

  it.each([
    ['schema-violation', true, 'handoff_return_schema_violation'],
    ['schema-violation', false, 'envelope_invalid'],
    ['parse-error', true, 'envelope_invalid'],
    ['parse-error', false, 'envelope_invalid'],
  ] as const)(
    'R-ENV-2 R-LIVE-11 R-MANIF-7: %s (held to a schema: %s) until nothing is left to try: %s, and no result',
    (reason, checksResult, code) => {
      const run = one({ checksResult, maxRetries: 2 })
      for (let n = 0; n < 3; n += 1) says(run, unusable(reason))
      expect(payloads(run, 'envelope.retry.attempted').map(({ attempt }) => attempt)).toEqual([2, 3])
      expect(payloads(run, 'envelope.retry.exhausted')).toEqual([
        { nodeId: 'a', totalAttempts: 3, finalReason: reason },
      ])
      expect(story(run).slice(-4)).toEqual([
        'envelope.retry.exhausted < assay.model.requested',
        'agent.invocation.completed < envelope.retry.exhausted',
        'node.failed < agent.invocation.completed',
        'run.failed',
      ])
      const completed = payloads(run, 'agent.invocation.completed')[0]!
      expect(completed).toMatchObject({ outcome: 'failed' })
      expect(completed).not.toHaveProperty('schemaValidated')
      expect(payloads(run, 'node.failed')[0]).toMatchObject({ error: { code, retryable: false } })
      expect(eventsOf(run, 'agent.decided')).toEqual([])
    },
  )

  it('R-ENV-2: an agent that may not be asked again is not', () => {
    const run = one({ maxRetries: 0 })
    says(run, unusable())
    expect(payloads(run, 'envelope.retry.exhausted')).toMatchObject([{ totalAttempts: 1 }])
  })

  it('R-ENV-2: what is asked for again does not use up rounds', () => {
    const run = one({ maxRounds: 1, maxRetries: 2 })
    says(run, unusable())
    says(run, CUT)
    says(run, answered())
    expect(statusOf(run.state)).toBe('completed')
  })
})

describe('an answer that was cut off', () => {
  it('R-ENV-2: gets twice the room, as if it had not been said, and no correction', () => {
    const run = one({ maxOutputTokens: 500 })
    says(run, { said: CUT, usage: { inputTokens: 90, outputTokens: 500 } })
    expect(payloads(run, 'envelope.truncated')).toEqual([
      { nodeId: 'a', provider: 'openai', model: 'gpt-test', stopReason: 'max_tokens', outputTokenCount: 500 },
    ])
    expect(story(run).slice(-4)).toEqual([
      'provider.usage < assay.model.requested',
      'envelope.truncated < assay.model.requested',
      'envelope.retry.attempted < assay.model.requested',
      'assay.model.requested < envelope.retry.attempted',
    ])
    expect(payloads(run, 'envelope.retry.attempted')).toEqual([{ nodeId: 'a', attempt: 2, reason: 'truncation' }])
    const { invocation, maxOutputTokens } = owedTo(run, 'call-model')!
    expect({ maxOutputTokens, rounds: invocation.rounds }).toEqual({ maxOutputTokens: 1_000, rounds: [] })
    says(run, CUT)
    expect(owedTo(run, 'call-model')!.maxOutputTokens).toBe(2_000)
  })

  it('R-ENV-2: cut off again and again: envelope_truncation_unrecoverable', () => {
    const run = one({ maxRetries: 1 })
    says(says(run, CUT), CUT)
    expect(payloads(run, 'envelope.truncated')).toHaveLength(2)
    expect(payloads(run, 'envelope.retry.exhausted')).toEqual([
      { nodeId: 'a', totalAttempts: 2, finalReason: 'truncation' },
    ])
    expect(payloads(run, 'node.failed')[0]).toMatchObject({ error: { code: 'envelope_truncation_unrecoverable' } })
  })

  it('R-ENV-2: a wrong answer and a cut one count together', () => {
    const run = one({ maxRetries: 2 })
    for (const said of [unusable(), CUT, unusable('parse-error')]) says(run, said)
    expect(payloads(run, 'envelope.retry.exhausted')).toEqual([
      { nodeId: 'a', totalAttempts: 3, finalReason: 'parse-error' },
    ])
  })
})

describe('a refusal', () => {
  it('R-ENV-1 R-ENV-3 R-LIVE-30: is told once, never asked again, and never made up for', () => {
    const run = given(agentFlow({ settings: { maxRetries: 3, retryDelayMs: 1 } }))
    atWork(run)
    says(run, { kind: 'refused', safetyCategory: 'violence' })
    expect(payloads(run, 'envelope.refusal')).toEqual([
      { nodeId: 'a', provider: 'openai', model: 'gpt-test', refusalText: null, safetyCategory: 'violence' },
    ])
    expect(story(run).slice(-5)).toEqual([
      'provider.usage < assay.model.requested',
      'envelope.refusal < assay.model.requested',
      'agent.invocation.completed < envelope.refusal',
      'node.failed < envelope.refusal',
      'run.failed',
    ])
    expect(payloads(run, 'agent.invocation.completed')[0]).toMatchObject({ outcome: 'refused' })
    expect(payloads(run, 'node.failed')[0]).toMatchObject({ error: { code: 'envelope_refusal', retryable: false } })
    expect(run.owed).toEqual([])
  })

  it('R-ENV-1: also after answers that could not be used', () => {
    const run = one()
    says(says(run, unusable()), { kind: 'refused' })
    expect(payloads(run, 'envelope.refusal')).toHaveLength(1)
    expect(payloads(run, 'envelope.retry.exhausted')).toEqual([])
    expect(eventsOf(run, 'agent.decided')).toEqual([])
  })
})

describe('a call that breaks off', () => {
  const USAGE = { inputTokens: 80, outputTokens: 20 }

  it('R-BUDGET-1: with costs, they are told and the model is asked again', () => {
    const run = one()
    breaks(run, { usage: USAGE })
    expect(story(run).slice(-3)).toEqual([
      'provider.usage < assay.model.requested',
      'envelope.retry.attempted < assay.model.requested',
      'assay.model.requested < envelope.retry.attempted',
    ])
    expect(payloads(run, 'provider.usage')[0]).toMatchObject({ totalTokens: 100 })
    expect(payloads(run, 'envelope.retry.attempted')[0]).toMatchObject({ reason: 'unknown', attempt: 2 })
    expect(owedTo(run, 'call-model')).toMatchObject({ call: 2, invocation: { rounds: [] } })
    says(run, answered())
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-BUDGET-1: with costs, and not to be tried again: the node fails for it', () => {
    const run = one()
    breaks(run, { usage: USAGE, retryable: false, code: 'model_rejected' })
    expect(payloads(run, 'provider.usage')[0]).toMatchObject({ totalTokens: 100 })
    expect(payloads(run, 'node.failed')[0]).toMatchObject({ error: { code: 'model_rejected' } })
  })

  it('R-BUDGET-1: with costs until nothing is left to try', () => {
    const run = one({ maxRetries: 1 })
    breaks(breaks(run, { usage: USAGE }), { usage: USAGE })
    expect(payloads(run, 'envelope.retry.exhausted')).toEqual([
      { nodeId: 'a', totalAttempts: 2, finalReason: 'unknown' },
    ])
    expect(payloads(run, 'node.failed')[0]).toMatchObject({ error: { code: 'model_failed' } })
  })

  it.each([
    [true, 'node.retried a'],
    [false, 'node.failed a'],
  ])(
    'R-BUDGET-1: without costs (retryable: %s) nothing is spent, and the node is as its failure says',
    (retryable, last) => {
      const run = atWork(given(agentFlow({ settings: { maxRetries: 1, retryDelayMs: 10 } })))
      breaks(run, { retryable })
      expect(payloads(run, 'provider.usage')).toMatchObject([{ inputTokens: 0, outputTokens: 0, totalTokens: 0 }])
      expect(
        run
          .told()
          .filter(line => line !== 'run.failed')
          .slice(-3),
      ).toEqual(['provider.usage a', 'agent.invocation.completed a', last])
    },
  )
})

describe('reasoning', () => {
  it.each(['summary', 'full'] as const)('R-EVENT-4 R-EVENT-5 R-EVENT-7: %s: told once for every call', verbosity => {
    const run = one({}, { reasoningVerbosity: verbosity })
    expect(owedTo(run, 'call-model')!.verbosity).toBe(verbosity)
    says(run, { said: unusable(), reasoning: 'first' })
    says(run, answered())
    expect(payloads(run, 'agent.reasoned')).toEqual([
      { agentId: 'local.test.agent', reasoning: 'first', verbosity },
      { agentId: 'local.test.agent', reasoning: '', verbosity },
    ])
  })

  it('R-EVENT-5: off: nothing of it is told', () => {
    const run = one({}, { reasoningVerbosity: 'off' })
    says(run, { said: answered(), reasoning: 'hidden' })
    expect(payloads(run, 'agent.reasoned')).toEqual([])
  })

  it('R-EVENT-5: a summary is what is told where nothing is asked for', () => {
    expect(owedTo(one(), 'call-model')!.verbosity).toBe('summary')
  })
})
