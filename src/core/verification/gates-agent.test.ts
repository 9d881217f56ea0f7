import { describe, expect, it } from 'vitest'
import { gateAt, inspects, judged, poor, verdicts, wantedOf } from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import {
  AGENT,
  agentFlow,
  agentNode,
  answered,
  breaks,
  briefs,
  eventsOf,
  owedTo,
  says,
  story,
} from '../../testing/invocations.js'
import { answer, payloads } from '../../testing/orchestration.js'
import { statusOf } from '../run/state.js'
import type { BoundGate } from './gate.js'

const gate = (more: Parameters<typeof gateAt>[2] = {}) => gateAt('a', 'phase_exit', more)

const flow = agentFlow({ config: { resultVariable: 'got' }, settings: { maxRetries: 2, retryDelayMs: 10 } })

const agent = (gates: readonly BoundGate[] = [gate()]) => briefs(given(flow).start({}, undefined, gates))

const variables = (run: Scenario) => (run.state.phase === 'absent' ? {} : run.state.variables)
const attempts = (run: Scenario) => payloads(run, 'dws.verification.started').map(({ attempt }) => attempt)

describe('a gate over what an agent comes to', () => {
  it('R-VERIFY-10 A14: the verdict stands between the decision and the end of the invocation', () => {
    const run = says(agent(), answered('first'))
    const from = run.sequence('agent.decided')
    expect(run.told(from)).toEqual(['agent.decided a', 'assay.result.staged a'])
    expect(variables(run)).toEqual({})
    judged(run)
    expect(story(run, from)).toEqual([
      'agent.decided < assay.model.requested',
      'assay.result.staged < agent.decided',
      'dws.verification.started < agent.decided',
      'assay.verifier.began < dws.verification.started',
      'assay.verifier.started < assay.verifier.began',
      'assay.verifier.ended < assay.verifier.began',
      'artifact.created < dws.verification.started',
      'dws.verification.verdict_rendered < dws.verification.started',
      'agent.verified < agent.decided',
      'agent.invocation.completed < agent.decided',
      'variable.changed < agent.invocation.completed',
      'node.completed < agent.invocation.completed',
      'run.completed < node.completed',
    ])
    expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { got: 'first' } })
  })

  it('R-VERIFY-23 §11.2: the target is the event of the decision', () => {
    const run = judged(says(agent(), answered('first')))
    const { sequence } = run.log.find(({ type }) => type === 'agent.decided')!
    expect(verdicts(run)).toMatchObject([{ target: `run-1:${sequence}`, verdict: 'pass' }])
    expect(payloads(run, 'dws.verification.started')).toMatchObject([{ point: 'node', targetRef: `run-1:${sequence}` }])
  })

  it('R-DWS-20 R-VERIFY-14: sent back, it is another invocation, briefed with what was found', () => {
    const run = judged(says(agent(), answered('first')), poor())
    expect(payloads(run, 'agent.invocation.completed')).toMatchObject([{ outcome: 'completed' }])
    expect(payloads(run, 'assay.rework.began')).toEqual([
      { gateId: 'g1', attempt: 2, point: 'node', scope: 'targeted' },
    ])
    const { feedback, since, wait } = owedTo(run, 'prepare-agent')!
    expect(feedback).toMatchObject({ gateId: 'g1', attempt: 1, findings: [{ dimension: 'correctness' }] })
    expect(since).toBe(run.sequence('assay.rework.began'))
    expect(wait.ordinal).toBe(1)
    says(briefs(run), answered('second'))
    judged(run)
    const started = payloads(run, 'agent.invocation.started').map(({ invocationId }) => invocationId)
    expect(new Set(started).size).toBe(2)
    expect(payloads(run, 'agent.invocation.completed').map(({ invocationId }) => invocationId)).toEqual(started)
    expect(attempts(run)).toEqual([1, 2])
    expect(variables(run)).toEqual({ got: 'second' })
    expect(eventsOf(run, 'node.started')).toHaveLength(1)
  })

  it('R-DWS-35: a retry of the node keeps what was found and how often it was judged', () => {
    const run = briefs(judged(says(agent(), answered('first')), poor()))
    breaks(run)
    expect(eventsOf(run, 'node.retried')).toHaveLength(1)
    run.after(10)
    expect(owedTo(run, 'prepare-agent')!.feedback).toMatchObject({ attempt: 1 })
    says(briefs(run), answered('second'))
    expect(wantedOf(run)).toMatchObject({ attempt: 2 })
    judged(run)
    expect(variables(run)).toEqual({ got: 'second' })
  })

  it('R-VERIFY-11 R-VERIFY-12: with the attempts used up the node has failed, and is not tried again', () => {
    const run = judged(says(agent(), answered('first')), poor(3))
    judged(says(briefs(run), answered('second')), poor(4))
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['revise', 'fail'])
    expect(payloads(run, 'agent.invocation.completed').map(({ outcome }) => outcome)).toEqual(['completed', 'failed'])
    expect(run.state).toMatchObject({
      outcome: {
        status: 'failed',
        failedNodeId: 'a',
        error: { code: 'verification_failed', details: { gateId: 'g1', attempts: 2, criteriaFailed: ['correctness'] } },
      },
      variables: {},
    })
    expect(eventsOf(run, 'node.retried')).toEqual([])
  })

  it('R-VERIFY-12: a failure that the workflow handles does not reach the goal', () => {
    const nodes = { a: agentNode(), after: 'core.noop' }
    const handled = { nodes, edges: [{ path: 'a > after', triggerRule: 'any_failed' as const }] }
    const run = briefs(given(handled).start({}, undefined, [gate({ behaviour: { max_attempts: 1 } })]))
    judged(says(run, answered('first')), poor())
    expect(run.state).toMatchObject({ outcome: { status: 'completed', goalSatisfied: false } })
  })

  it('R-VERIFY-9: what the agent is not sure of is a person’s first, and the gate’s then', () => {
    const run = says(agent(), answered('first', 0.1))
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(wantedOf(run)).toBeUndefined()
    run.when(answer('a', { action: 'edit-accept', editedArtifactData: 'edited' }))
    expect(wantedOf(run)).toMatchObject({ result: 'edited' })
    judged(run)
    expect(variables(run)).toEqual({ got: 'edited' })
  })

  it('R-VERIFY-23: the target is its own decision, also when another agent has decided since', () => {
    const two = { nodes: { f: 'core.parallel', a: agentNode(), b: agentNode() }, edges: ['f > a', 'f > b'] }
    const run = given(two).start({}, undefined, [gate()])
    briefs(run, {}, 'a')
    briefs(run, {}, 'b')
    says(run, answered('unsure', 0.1), 'a')
    const own = run.sequence('agent.decided', 'a')
    says(run, answered('sure'), 'b')
    run.when(answer('a', { action: 'accept' }))
    expect(wantedOf(run)).toMatchObject({ since: own })
    judged(run)
    expect(verdicts(run)).toMatchObject([{ target: `run-1:${own}` }])
  })

  it('the time of the node is for its work: judging takes none of it', () => {
    const timed = agentFlow({ settings: { timeoutMs: 50 } })
    const run = says(briefs(given(timed).start({}, undefined, [gate()])), answered('first'))
    judged(run.after(1_000), poor())
    expect(statusOf(run.state)).toBe('running')
    briefs(run).after(51)
    expect(run.state).toMatchObject({ outcome: { error: { code: 'node_timeout' } } })
  })
})

describe('who judges its own work', () => {
  const own = (allow: boolean) =>
    gate({
      verifiers: [{ agent_id: AGENT }],
      requirements: { allow_self_verification: allow },
      behaviour: { retries: 0 },
    })

  it('R-VERIFY-7 A13: is not asked', () => {
    const run = inspects(says(agent([own(false)]), answered('first')))
    expect(payloads(run, 'assay.verifier.ended')).toMatchObject([
      { agentId: AGENT, vote: 'none', fault: 'self_verification' },
    ])
    expect(eventsOf(run, 'assay.verifier.began')).toEqual([])
    expect(verdicts(run)).toEqual([])
    expect(statusOf(run.state)).toBe('waiting-approval')
  })

  it('R-VERIFY-8 A13: is seen to, where the gate allows it', () => {
    const run = judged(says(agent([own(true)]), answered('first')))
    expect(verdicts(run)).toMatchObject([
      { agentId: AGENT, verdict: 'pass', criteria: ['correctness', 'self-verification'] },
    ])
    const [record] = eventsOf(run, 'artifact.created')
    expect(record!.secret!.content).toMatchObject({ selfVerification: true, votes: [{ agentId: AGENT }] })
  })
})

describe('a gate that does not block an agent', () => {
  it('§23.2 A32: lets the node complete whatever it says', () => {
    const run = judged(says(agent([gate({ behaviour: { blocking: false } })]), answered('first')), poor())
    expect(verdicts(run)).toEqual([])
    expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { got: 'first' } })
  })
})
