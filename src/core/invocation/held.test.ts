import { describe, expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import { AGENT, agentFlow, answered, atWork, eventsOf, says, story } from '../../testing/invocations.js'
import { answer, payloads } from '../../testing/orchestration.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'
import type { Brief } from './brief.js'

const PLAN = { plan: 'sell' }
const unsure = (brief: Partial<Brief> = {}, config: JsonObject = {}, configurable: JsonObject = {}) =>
  says(atWork(given(agentFlow({ config })), brief, configurable), answered(PLAN, 0.5))

describe('a result that its agent is not sure of', () => {
  it('R-LIVE-13 R-LOWC-1: is told and held: a person is asked before anything follows from it', () => {
    const run = unsure()
    expect(story(run).slice(-4)).toEqual([
      'provider.usage < assay.model.requested',
      'agent.decided < assay.model.requested',
      'interrupt.requested < agent.decided',
      'node.suspended < interrupt.requested',
    ])
    expect(payloads(run, 'interrupt.requested')[0]).toMatchObject({
      kind: 'low-confidence',
      data: { agentId: AGENT, threshold: 0.7, observed: 0.5, decision: PLAN },
    })
    expect(payloads(run, 'node.suspended')[0]).toMatchObject({
      reason: 'low-confidence',
      agentId: AGENT,
      threshold: 0.7,
      observed: 0.5,
    })
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(run.owed).toEqual([])
  })

  it('R-LIVE-13: accepted, it is the result, and the bracket closes with how sure the agent was', () => {
    const run = unsure({ checksResult: true })
    const { length } = run.log
    run.when(answer('a', { action: 'accept' }))
    expect(story(run, length)).toEqual([
      'interrupt.resolved',
      'node.resumed < interrupt.resolved',
      'agent.invocation.completed < interrupt.resolved',
      'node.completed < agent.invocation.completed',
      'run.completed < node.completed',
    ])
    expect(payloads(run, 'agent.invocation.completed')[0]).toEqual({
      invocationId: 'a:1',
      agentId: AGENT,
      outcome: 'completed',
      schemaValidated: true,
      confidence: 0.5,
    })
    expect(payloads(run, 'node.completed')[0]).toMatchObject({ outputs: { result: PLAN, confidence: 0.5 } })
  })

  it.each([[{ plan: 'keep' }], ['just text'], [7], [null]])('R-LIVE-13: edited to %j, that is the result', edited => {
    const run = unsure().when(answer('a', { action: 'edit-accept', editedArtifactData: edited }))
    expect(payloads(run, 'node.completed')[0]).toMatchObject({ outputs: { result: edited } })
    expect(payloads(run, 'agent.invocation.completed')[0]).toMatchObject({ outcome: 'completed' })
  })

  it('R-LIVE-13 R-LIVE-20: rejected, there is no result', () => {
    const run = unsure()
    const { length } = run.log
    run.when(answer('a', { action: 'reject' }))
    expect(story(run, length)).toEqual([
      'interrupt.resolved',
      'node.resumed < interrupt.resolved',
      'agent.invocation.completed < interrupt.resolved',
      'node.failed < interrupt.resolved',
      'run.failed',
    ])
    expect(payloads(run, 'agent.invocation.completed')[0]).toEqual({
      invocationId: 'a:1',
      agentId: AGENT,
      outcome: 'escalated',
    })
    expect(payloads(run, 'node.failed')[0]).toMatchObject({ error: { code: 'interrupt_rejected', retryable: false } })
  })

  it('R-LIVE-13: answered by nobody in time, it is rejected', () => {
    const run = unsure({}, { timeoutMs: 100 })
    expect(run.wakeAt).toBe(1_100)
    run.after(100)
    expect(payloads(run, 'agent.invocation.completed')[0]).toMatchObject({ outcome: 'escalated' })
    expect(payloads(run, 'node.failed')[0]).toMatchObject({ error: { code: 'interrupt_timeout' } })
  })

  it('an answer that is none is refused, and the question stays open', () => {
    const run = unsure()
    for (const value of [{}, { action: 'maybe' }, { action: 'refine' }]) {
      run.when(answer('a', value))
      expect(run.refusal?.code).toBe('validation_error')
    }
    expect(statusOf(run.state)).toBe('waiting-approval')
  })

  it.each([
    ['the run, also against the agent', 0.4, 0.9, 0.9],
    ['the run, also against the agent', 0.6, 0.1, undefined],
    ['the run: zero holds nothing', 0.6, 0, undefined],
    ['the agent, where the run says nothing', 0.6, undefined, 0.6],
    ['the run, where the agent says nothing', undefined, 0.51, 0.51],
    ['the run, where the agent says nothing', undefined, 0.5, undefined],
    ['nobody: seven tenths', undefined, undefined, 0.7],
    ['the agent: zero holds nothing', 0, undefined, undefined],
  ])('R-LIVE-13 R-LOWC-4: the threshold is that of %s (%s, %s): %s', (_whose, threshold, escalationThreshold, held) => {
    const run = unsure(
      threshold === undefined ? {} : { threshold },
      {},
      escalationThreshold === undefined ? {} : { escalationThreshold },
    )
    expect(payloads(run, 'node.suspended').map(payload => payload.threshold)).toEqual(held === undefined ? [] : [held])
    expect(statusOf(run.state)).toBe(held === undefined ? 'completed' : 'waiting-approval')
  })

  it.each([0.7, 1, undefined])('R-LIVE-13: %s is sure enough', confidence => {
    const run = says(atWork(given(agentFlow())), answered(PLAN, confidence))
    expect(eventsOf(run, 'interrupt.requested')).toEqual([])
    expect(statusOf(run.state)).toBe('completed')
  })
})
