import { describe, expect, it } from 'vitest'
import {
  convenes,
  faults,
  gateAt,
  inspects,
  judged,
  poor,
  recordsOf,
  verdicts,
  verifiersOwed,
  wantedOf,
} from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import {
  AGENT,
  agentFlow,
  answered,
  briefs,
  eventsOf,
  owedTo,
  returns,
  says,
  story,
  tool,
  wants,
} from '../../testing/invocations.js'
import { answer, payloads } from '../../testing/orchestration.js'
import { statusOf } from '../run/state.js'
import type { BoundGate } from '../verification/gate.js'
import { toldInstead } from './withheld.js'

const PRICES = 'mcp:shop.prices'
const OTHER = 'mcp:shop.other'

const gate = ({ behaviour, ...more }: NonNullable<Parameters<typeof gateAt>[2]> = {}) =>
  gateAt('a', 'checkpoint', {
    ...more,
    position: { workflow_id: 'sketch', phase_id: 'a', placement: 'checkpoint', tool_name: PRICES },
    behaviour: { max_attempts: 1, ...behaviour },
  })

const agent = (gates: readonly BoundGate[] = [gate()]) =>
  briefs(given(agentFlow({ config: { resultVariable: 'got' } })).start({}, undefined, gates), {
    tools: [tool(PRICES), tool(OTHER)],
  })

const asks = (run: Scenario, ...tools: readonly string[]) => says(run, wants(...tools))
const brings = (run: Scenario, result: Parameters<typeof returns>[3] = { total: 7 }) => returns(run, {}, 'a', result)
const resultsIn = (run: Scenario) => owedTo(run, 'call-model')?.invocation.rounds.at(-1)?.results

describe('a gate over what a tool brings', () => {
  it('R-VERIFY-2 R-VERIFY-23 §11.2: the agent is given it after the gate has let exactly that result pass', () => {
    const run = brings(asks(agent(), PRICES))
    const from = run.sequence('agent.toolReturned')
    expect(run.told(from)).toEqual(['agent.toolReturned a', 'assay.result.staged a'])
    expect(owedTo(run, 'call-model')).toBeUndefined()
    expect(wantedOf(run)).toMatchObject({ result: { total: 7 }, output: { total: 7 } })
    judged(run)
    expect(story(run, from)).toEqual([
      'agent.toolReturned < agent.toolCalled',
      'assay.result.staged < agent.toolReturned',
      'dws.verification.started < agent.toolReturned',
      'assay.verifier.began < dws.verification.started',
      'assay.verifier.started < assay.verifier.began',
      'assay.verifier.ended < assay.verifier.began',
      'artifact.created < dws.verification.started',
      'dws.verification.verdict_rendered < dws.verification.started',
      'agent.verified < agent.toolReturned',
      'assay.tool.delivered < agent.verified',
      'assay.model.requested < assay.tool.delivered',
    ])
    const [called] = payloads(run, 'agent.toolCalled')
    expect(verdicts(run)).toMatchObject([{ target: called?.callId, verdict: 'pass' }])
    expect(payloads(run, 'dws.verification.started')).toMatchObject([
      { point: 'tool', placement: 'checkpoint', targetRef: called?.callId, attempt: 1 },
    ])
    const { resultHash } = payloads(run, 'dws.verification.started')[0]!
    expect(eventsOf(run, 'assay.tool.delivered')).toMatchObject([{ secret: { position: 0, resultHash } }])
    expect(resultsIn(run)).toEqual({ 0: { contents: 'result-a-1-0' } })
    expect(recordsOf(run.log)).toMatchObject([{ toolId: PRICES, target: called?.callId, output: { total: 7 } }])
    expect(says(run, answered('done')).state).toMatchObject({ outcome: { status: 'completed' } })
  })

  it('R-VERIFY-11 R-VERIFY-12: what does not pass never reaches the agent, which is told so, and the run is no success', () => {
    const run = judged(brings(asks(agent(), PRICES)), poor())
    const [called] = payloads(run, 'agent.toolCalled')
    expect(payloads(run, 'assay.tool.withheld')).toEqual([
      { callId: called?.callId, toolId: PRICES, gateId: 'g1', attempt: 1, criteriaFailed: 1, criteria: 1 },
    ])
    expect(verdicts(run)).toMatchObject([{ target: called?.callId, verdict: 'fail' }])
    const instead = { code: 'tool_withheld', withheld: { gateId: 'g1', failed: ['correctness'] } }
    expect(resultsIn(run)).toEqual({ 0: instead })
    expect(toldInstead(instead)).toContain('withheld by gate "g1" (not met: correctness)')
    expect(payloads(run, 'agent.invocation.completed')).toEqual([])
    says(run, answered('without it'))
    expect(run.state).toMatchObject({
      outcome: { status: 'completed', goalSatisfied: false, against: [{ what: 'fail', gateId: 'g1', nodeId: 'a' }] },
    })
  })

  it('R-VERIFY-21: another result of the same tool that passes makes up for one that was withheld', () => {
    const run = judged(brings(asks(agent(), PRICES), { total: -1 }), poor())
    judged(brings(asks(run, PRICES), { total: 1 }))
    says(run, answered())
    expect(payloads(run, 'dws.verification.started').map(({ attempt }) => attempt)).toEqual([1, 1])
    expect(run.state).toMatchObject({ outcome: { status: 'completed' } })
    expect(run.state).not.toHaveProperty('outcome.goalSatisfied')
  })

  it('a pass over a tool says nothing of the goal', () => {
    const run = says(judged(brings(asks(agent(), PRICES))), answered())
    expect(run.state).not.toHaveProperty('outcome.goalSatisfied')
  })

  it('parallel calls of one turn are judged one by one; only those of the gated tool', () => {
    const run = brings(asks(agent(), PRICES, OTHER, PRICES), 'first')
    judged(run, poor())
    returns(run)
    brings(run, 'third')
    judged(run)
    expect(resultsIn(run)).toMatchObject({
      0: { code: 'tool_withheld' },
      1: { contents: 'result-a-1-1' },
      2: { contents: 'result-a-1-2' },
    })
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['fail', 'pass'])
  })

  it('a gate over a tool does not stand before the result of the agent, nor the other way round', () => {
    const own = gateAt('a', 'checkpoint', { gate_id: 'own' })
    const run = returns(asks(agent([own, gate()]), OTHER))
    expect(owedTo(run, 'call-model')).toBeDefined()
    says(run, answered('x'))
    expect(wantedOf(run)?.bound.gate.gate_id).toBe('own')
    expect(says(returns(asks(agent(), OTHER)), answered('x')).state).toMatchObject({ outcome: { status: 'completed' } })
  })

  it('several gates over one tool: all of them pass it, in their order', () => {
    const run = brings(asks(agent([gate(), gate({ gate_id: 'g2' })]), PRICES))
    judged(run)
    expect(payloads(run, 'assay.tool.delivered')).toEqual([])
    judged(run, poor())
    expect(payloads(run, 'assay.tool.withheld')).toMatchObject([{ gateId: 'g2' }])
  })

  it('a gate that does not block records, and the agent is given the result all the same', () => {
    const run = judged(brings(asks(agent([gate({ behaviour: { blocking: false } })]), PRICES)), poor())
    expect(verdicts(run)).toEqual([])
    expect(recordsOf(run.log)).toMatchObject([{ verdict: 'fail', blocking: false }])
    expect(resultsIn(run)).toEqual({ 0: { contents: 'result-a-1-0' } })
  })

  it('on_fail: conditional_pass gives it to the agent as forced, for good: a later pass does not take it back', () => {
    const run = judged(brings(asks(agent([gate({ behaviour: { on_fail: 'conditional_pass' } })]), PRICES)), poor())
    expect(verdicts(run)).toMatchObject([{ verdict: 'pass', agentId: 'host:gate:g1' }])
    expect(resultsIn(run)).toEqual({ 0: { contents: 'result-a-1-0' } })
    judged(brings(asks(run, PRICES), { total: 2 }))
    says(run, answered())
    expect(run.state).toMatchObject({ outcome: { goalSatisfied: false, against: [{ what: 'forced' }] } })
  })

  it.each([
    ['accept', 'assay.tool.delivered', { 0: { contents: 'result-a-1-0' } }],
    ['reject', 'assay.tool.withheld', { 0: { code: 'tool_withheld' } }],
  ])('on_fail: escalate asks a person, who may %s it', (action, told, results) => {
    const run = judged(brings(asks(agent([gate({ behaviour: { on_fail: 'escalate' } })]), PRICES)), poor())
    expect(statusOf(run.state)).toBe('waiting-approval')
    const [{ data }] = payloads(run, 'interrupt.requested') as unknown as [{ data: { actions: unknown } }]
    expect(data.actions).toEqual(['accept', 'reject'])
    run.when(answer('a', { action }))
    expect(run.log.map(({ type }) => type)).toContain(told)
    expect(resultsIn(run)).toMatchObject(results)
  })

  it('R-DWS-36: no votes are no pass: a person is asked, and meanwhile the agent waits', () => {
    const run = brings(asks(agent([gate({ behaviour: { retries: 0 } })]), PRICES))
    faults(convenes(inspects(run)), 0)
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(verdicts(run)).toEqual([])
    expect(owedTo(run, 'call-model')).toBeUndefined()
  })

  it.each([
    ['error', { status: 'error' as const, code: 'tool_failed' }, 'tool_failed'],
    ['refusal', { status: 'rate_limited' as const }, 'rate_limited'],
  ])('an %s of the tool is told by its code alone, for its words are not judged either', (_, reply, code) => {
    const run = returns(asks(agent(), PRICES), reply)
    expect(resultsIn(run)).toEqual({ 0: { code, withheld: { gateId: 'g1', failed: [] } } })
    const free = returns(asks(agent([gate({ behaviour: { blocking: false } })]), PRICES), reply)
    expect(resultsIn(free)).toEqual({ 0: { contents: 'result-a-1-0' } })
  })

  it('what is too large to be judged is an error', () => {
    const run = brings(asks(agent(), PRICES), 'x'.repeat(1_048_577))
    expect(payloads(run, 'agent.toolReturned')).toMatchObject([
      { status: 'error', error: { code: 'tool_result_too_large' } },
    ])
    expect(resultsIn(run)).toMatchObject({ 0: { code: 'tool_result_too_large' } })
  })

  it('R-VERIFY-7: the agent that asked for it does not judge it', () => {
    const run = brings(asks(agent([gate({ verifiers: [{ agent_id: AGENT }] })]), PRICES))
    inspects(run)
    expect(verifiersOwed(run)).toEqual([])
    expect(payloads(run, 'assay.verifier.ended')).toMatchObject([{ fault: 'self_verification' }])
  })

  it('a run that is cancelled meanwhile closes the invocation, and the call has its return once', () => {
    const run = convenes(inspects(brings(asks(agent(), PRICES))))
    run.when({ type: 'CancelRun', by: 'u', reason: 'enough' })
    faults(run, 0, 'cancelled')
    expect(payloads(run, 'agent.toolReturned')).toHaveLength(1)
    expect(payloads(run, 'agent.invocation.completed')).toHaveLength(1)
    expect(payloads(run, 'assay.tool.delivered')).toEqual([])
  })
})
