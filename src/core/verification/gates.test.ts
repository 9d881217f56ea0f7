import { describe, expect, it } from 'vitest'
import {
  blocker,
  convenes,
  gateAt,
  inspects,
  judged,
  poor,
  recordsOf,
  subFlow,
  verdicts,
  votes,
  wantedOf,
  works,
} from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { eventsOf, owedTo, story } from '../../testing/invocations.js'
import { answer, begins, ends, payloads } from '../../testing/orchestration.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'
import type { BoundGate } from './gate.js'

const gate = (more: Parameters<typeof gateAt>[2] = {}) => gateAt('a', 'phase_exit', more)
const PASS = { score: 10 }

const sub = (gates: readonly BoundGate[] = [gate()], config: JsonObject = {}) =>
  given(subFlow(config)).start({}, undefined, gates)

const started = (run: Scenario) => payloads(run, 'dws.verification.started')
const variables = (run: Scenario) => (run.state.phase === 'absent' ? {} : run.state.variables)

describe('a gate over what a sub-workflow brings back', () => {
  it('R-VERIFY-10 R-DWS-7: wants evidence of exactly the result first, and merges nothing meanwhile', () => {
    const run = works(sub(), 'child-1', { x: 1 })
    expect(wantedOf(run)).toMatchObject({
      nodeId: 'a',
      since: run.log.findLast(({ type }) => type === 'core.workflowChain.event')!.sequence,
      attempt: 1,
      round: 1,
      dimensions: ['correctness'],
      result: { x: 1 },
      output: { x: 1 },
    })
    expect(run.owed).toHaveLength(1)
    expect(variables(run)).toEqual({})
  })

  it('R-VERIFY-2 R-VERIFY-15 R-VERIFY-23 R-DWS-31: a pass is told before the merge, due to what brought the result', () => {
    const run = works(sub(), 'child-1', { x: 1 })
    const from = run.log.length
    judged(run)
    expect(story(run, from - 1)).toEqual([
      'core.workflowChain.event < core.workflowChain.event',
      'dws.verification.started < core.workflowChain.event',
      'assay.verifier.began < dws.verification.started',
      'assay.verifier.started < assay.verifier.began',
      'assay.verifier.ended < assay.verifier.began',
      'artifact.created < dws.verification.started',
      'dws.verification.verdict_rendered < dws.verification.started',
      'agent.verified < core.workflowChain.event',
      'variable.changed < node.started',
      'core.workflowChain.event < core.workflowChain.event',
      'node.completed < node.started',
      'run.completed < node.completed',
    ])
    expect(run.log[eventsOf(run, 'agent.verified')[0]!.cause!]).toMatchObject({ payload: { phase: 'child.completed' } })
    expect(verdicts(run)).toEqual([
      { agentId: 'assay.verifier', target: 'child-1', verdict: 'pass', criteria: ['correctness'] },
    ])
    expect(variables(run)).toEqual({ got: 1 })
    expect(run.state).toMatchObject({ outcome: { status: 'completed', goalSatisfied: true } })
  })

  it('R-DWS-4 R-DWS-7 R-DWS-33: a verifier is given the agent, the bundle and the schema, may do nothing, and has a limit', () => {
    const run = inspects(works(sub(), 'child-1', { x: 1 }))
    const owed = owedTo(run, 'start-child')!
    expect(owed).toMatchObject({
      workflowId: 'assay-verifier',
      verifier: true,
      principalScope: [],
      unset: [],
      hiddenInputs: [],
      timeoutMs: 300_000,
    })
    expect(owed.inputs).toEqual({ agentId: 'assay.verifier' })
    const given = owed.withheld!
    expect(Object.keys(given).sort()).toEqual(['bundle', 'schema'])
    expect(given).toMatchObject({ bundle: { output: { x: 1 }, evidence: [] } })
    expect(Object.keys(given.bundle as JsonObject).sort()).toEqual([
      'constraints',
      'context',
      'criteria',
      'evidence',
      'intents',
      'knowledge',
      'output',
      'role',
    ])
  })

  it('R-VERIFY-14 R-DWS-19 R-DWS-20 R-DWS-22: what fails goes back to the same worker with what was found', () => {
    const run = judged(works(sub(), 'child-1'), poor())
    expect(verdicts(run)).toMatchObject([{ verdict: 'revise', target: 'child-1' }])
    expect(payloads(run, 'assay.rework.began')).toEqual([
      { gateId: 'g1', attempt: 2, point: 'harvest', scope: 'targeted', workerId: 'w' },
    ])
    expect(variables(run)).toEqual({})
    expect(payloads(run, 'output.harvested')).toEqual([])
    const { inputs, withheld } = owedTo(run, 'start-child')!
    expect(inputs).toEqual({})
    expect(withheld).toMatchObject({
      verificationFeedback: {
        gateId: 'g1',
        attempt: 1,
        dimensions: ['correctness'],
        findings: [{ dimension: 'correctness' }],
      },
    })
    expect(JSON.stringify(withheld)).not.toContain('assay.verifier')
    const [first, second] = payloads(run, 'dispatch.began')
    expect(second).toEqual(first)
    const causes = eventsOf(run, 'core.workflowChain.event').filter(({ payload }) => payload.phase === 'dispatch.began')
    expect(new Set(causes.map(({ cause }) => cause)).size).toBe(1)
  })

  it('R-DWS-22 R-DWS-35: the second result is attempt 2, and merged when it passes', () => {
    const run = judged(works(sub(), 'child-1'), poor())
    judged(works(run, 'child-2', { x: 'better' }))
    expect(started(run).map(({ attempt, targetRef }) => [attempt, targetRef])).toEqual([
      [1, 'child-1'],
      [2, 'child-2'],
    ])
    expect(verdicts(run).map(({ verdict, target }) => [verdict, target])).toEqual([
      ['revise', 'child-1'],
      ['pass', 'child-2'],
    ])
    expect(variables(run)).toEqual({ got: 'better' })
    expect(payloads(run, 'output.harvested')).toMatchObject([{ childRunId: 'child-2' }])
  })

  it('R-VERIFY-11 R-VERIFY-12 R-DWS-22: with the attempts used up nothing is merged, and the run says why', () => {
    const run = judged(works(sub(), 'child-1'), poor(3))
    judged(works(run, 'child-2'), poor(4))
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['revise', 'fail'])
    expect(payloads(run, 'assay.result.withheld')).toEqual([
      {
        gateId: 'g1',
        attempt: 2,
        workerId: 'w',
        targetRef: 'child-2',
        verdict: 'fail',
        criteriaFailed: 1,
        criteria: 1,
      },
    ])
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'verification_failed' } } })
    expect(variables(run)).toEqual({})
  })

  it('R-VERIFY-12: what absorbs the failure ends, and says that the goal is not reached', () => {
    const once = gate({ behaviour: { max_attempts: 1 } })
    const run = judged(works(sub([once], { onChildFailure: 'absorb' }), 'child-1'), poor())
    expect(run.state).toMatchObject({ outcome: { status: 'completed', goalSatisfied: false }, variables: {} })
  })

  it('R-DWS-22: on_fail conditional_pass lets the last attempt through, and says that it was forced', () => {
    const forced = gate({ behaviour: { max_attempts: 1, on_fail: 'conditional_pass' } })
    const run = judged(works(sub([forced]), 'child-1', { x: 1 }), poor())
    expect(verdicts(run)).toMatchObject([
      { verdict: 'pass', criteria: ['correctness', 'gate.on-fail.conditional-pass'] },
    ])
    expect(payloads(run, 'dws.verification.verdict_rendered')).toMatchObject([{ dwsVerdict: 'fail', forced: true }])
    expect(recordsOf(run.log)).toMatchObject([{ verdict: 'fail', forced: true }])
    expect(variables(run)).toEqual({ got: 1 })
  })

  it('R-DWS-17: a warning is kept and lets it through', () => {
    const run = judged(works(sub(), 'child-1'), { findings: [blocker('correctness', 'warning')] })
    expect(payloads(run, 'dws.verification.finding_issued')).toEqual([
      { gateId: 'g1', attempt: 1, findingId: 'v1-1', dimension: 'correctness', classification: 'warning' },
    ])
    expect(payloads(run, 'dws.verification.verdict_rendered')).toMatchObject([{ dwsVerdict: 'conditional_pass' }])
    expect(verdicts(run)).toMatchObject([{ verdict: 'pass' }])
  })

  it('R-DWS-23: what failed is judged again, and nothing else; or everything where the gate says so', () => {
    const criteria = [{ dimension: 'one' }, { dimension: 'two' }]
    const halfBad = { scores: { one: 10, two: 2 } }
    const targeted = judged(works(sub([gate({ criteria })]), 'child-1'), halfBad)
    works(targeted, 'child-2')
    expect(owedTo(inspects(targeted), 'start-child')!.withheld).toMatchObject({
      bundle: { criteria: [{ dimension: 'two' }] },
    })
    expect(started(targeted).at(-1)!.criteria).toEqual(['two'])
    const full = judged(works(sub([gate({ criteria, behaviour: { reverification: 'full' } })]), 'child-1'), halfBad)
    expect(started(inspects(works(full, 'child-2'))).at(-1)!.criteria).toEqual(['one', 'two'])
  })

  it('R-DWS-21: the verifier of a second attempt is given nothing of the first', () => {
    const run = judged(works(sub(), 'child-1', { x: 'CANARY-OF-THE-FIRST' }), poor())
    inspects(works(run, 'child-2', { x: 'second' }))
    const owed = owedTo(run, 'start-child')!
    expect(JSON.stringify(owed)).not.toContain('CANARY')
    expect(JSON.stringify(owed)).not.toContain('not there')
    expect(owed.withheld).toMatchObject({ bundle: { output: { x: 'second' } } })
  })

  it('R-VERIFY-16: a worker that does not complete is nothing to judge', () => {
    const run = begins(sub(), 'child-1', { nodeId: 'a' })
    ends(run, 'child-1', {}, { nodeId: 'a', status: 'failed' })
    expect(eventsOf(run, 'dws.verification.started')).toEqual([])
    expect(statusOf(run.state)).toBe('failed')
  })

  it('a checkpoint stands where a phase exit does; a gate of another worker, or of the exit, does not', () => {
    expect(wantedOf(works(sub([gateAt('a', 'checkpoint')]), 'child-1'))).toBeDefined()
    const elsewhere = { workflow_id: 'sketch', phase_id: 'a', placement: 'phase_exit' as const }
    const ofAnother = gate({ position: { ...elsewhere, worker_id: 'other' } })
    expect(statusOf(works(sub([ofAnother]), 'child-1').state)).toBe('completed')
    const own = gate({ position: { ...elsewhere, worker_id: 'w' } })
    expect(wantedOf(works(sub([own]), 'child-1'))).toBeDefined()
  })

  it('R-DWS-22: the attempts are used up, also where nothing gets better', () => {
    const run = sub([gate({ behaviour: { max_attempts: 5 } })])
    for (const child of ['c-1', 'c-2', 'c-3', 'c-4', 'c-5']) judged(works(run, child), poor(3))
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['revise', 'revise', 'revise', 'revise', 'fail'])
  })

  it('R-DWS-22: two reworks without improvement end it earlier where the gate says so', () => {
    const run = sub([gate({ behaviour: { max_attempts: 10, stop_when_stuck: true } })])
    for (const child of ['child-1', 'child-2', 'child-3']) judged(works(run, child), poor(3))
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['revise', 'revise', 'fail'])
    expect(statusOf(run.state)).toBe('failed')
  })

  it('R-DWS-22: as long as it gets better it goes on', () => {
    const run = sub([gate({ behaviour: { max_attempts: 5 } })])
    for (const [i, score] of [1, 2, 3, 4].entries()) judged(works(run, `child-${i}`), poor(score))
    judged(works(run, 'child-5'))
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['revise', 'revise', 'revise', 'revise', 'pass'])
  })
})

describe('evidence alone', () => {
  const probes = [{ probe_id: 'p', type: 'equals' as const, value: true }]
  const probed = gate({ criteria: [{ dimension: 'checked', probes }] })
  const found = (outcome: 'held' | 'failed' | 'unavailable') => ({
    evidence: [{ probeId: 'p', dimension: 'checked', outcome, evidence: [] }],
  })

  it('passes a result, and no model is asked', () => {
    const run = inspects(works(sub([probed]), 'child-1', { x: 1 }), found('held'))
    expect(eventsOf(run, 'assay.verifier.began')).toEqual([])
    expect(verdicts(run)).toEqual([
      { agentId: 'host:gate:g1', target: 'child-1', verdict: 'pass', criteria: ['checked'] },
    ])
    expect(started(run)).toMatchObject([{ probes: 1, probesFailed: 0, verifiers: 0 }])
    expect(variables(run)).toEqual({ got: 1 })
  })

  it('fails a result at once, also where verifiers would have been asked about the rest', () => {
    const both = gate({ criteria: [{ dimension: 'checked', probes }, { dimension: 'judged' }] })
    const run = inspects(works(sub([both]), 'child-1'), found('failed'))
    expect(eventsOf(run, 'assay.verifier.began')).toEqual([])
    expect(verdicts(run)).toMatchObject([{ verdict: 'revise' }])
    expect(payloads(run, 'dws.verification.finding_issued')).toMatchObject([
      { findingId: 'p-p', dimension: 'checked', classification: 'blocking' },
    ])
    // Nobody has seen the rest hold, so it is judged next time; the worker is told of what was found alone.
    expect(owedTo(run, 'start-child')!.withheld).toMatchObject({ verificationFeedback: { dimensions: ['checked'] } })
    expect(wantedOf(works(run, 'child-2'))!.dimensions).toEqual(['checked', 'judged'])
  })

  it('R-DWS-36: what could not be found out is looked at again, later each time, and nobody is asked meanwhile', () => {
    const run = inspects(works(sub([probed]), 'child-1', { x: 1 }), found('unavailable'))
    expect(payloads(run, 'assay.verification.held')).toEqual([
      { gateId: 'g1', attempt: 1, round: 1, votes: 0, faults: 1, retryInMs: 2_000 },
    ])
    expect(run.owed).toEqual([])
    expect(run.wakeAt).toBe(run.now + 2_000)
    expect(run.after(1_999).owed).toEqual([])
    expect(wantedOf(run.after(1))).toMatchObject({ attempt: 1, round: 2 })
    inspects(run, found('unavailable'))
    expect(run.wakeAt).toBe(run.now + 4_000)
    inspects(run.after(4_000), found('held'))
    expect(variables(run)).toEqual({ got: 1 })
    expect(started(run)).toMatchObject([{ attempt: 1 }])
  })

  it('R-DWS-36: what cannot be found out at all is a person’s to say, without another wait', () => {
    const run = inspects(works(sub([probed]), 'child-1', { x: 1 }), found('unavailable'))
    inspects(run.after(2_000), found('unavailable'))
    inspects(run.after(4_000), found('unavailable'))
    expect(payloads(run, 'assay.verification.held')).toHaveLength(2)
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(verdicts(run)).toEqual([])
    run.when(answer('a', { action: 'accept' }))
    expect(verdicts(run)).toMatchObject([{ agentId: 'host:human-override', verdict: 'pass' }])
    expect(variables(run)).toEqual({ got: 1 })
  })
})

describe('several gates at one place', () => {
  const two = [gate({ gate_id: 'g1' }), gate({ gate_id: 'g2', criteria: [{ dimension: 'style' }] })]

  it('R-VERIFY-10: are applied in their order, and all must pass', () => {
    const run = works(sub(two), 'child-1', { x: 1 })
    expect(wantedOf(run)!.bound.gate.gate_id).toBe('g1')
    judged(run)
    expect(variables(run)).toEqual({})
    expect(wantedOf(run)!.bound.gate.gate_id).toBe('g2')
    judged(run)
    expect(verdicts(run).map(({ verdict, criteria }) => [verdict, criteria])).toEqual([
      ['pass', ['correctness']],
      ['pass', ['style']],
    ])
    expect(variables(run)).toEqual({ got: 1 })
  })

  it('R-DWS-22: what the second sends back is seen by the first again, each counting its own attempts', () => {
    const run = judged(works(sub(two), 'child-1'))
    judged(run, { score: 3 })
    works(run, 'child-2')
    judged(judged(run))
    expect(started(run).map(({ gateId, attempt, targetRef }) => [gateId, attempt, targetRef])).toEqual([
      ['g1', 1, 'child-1'],
      ['g2', 1, 'child-1'],
      ['g1', 2, 'child-2'],
      ['g2', 2, 'child-2'],
    ])
    expect(statusOf(run.state)).toBe('completed')
  })
})

describe('the attempts of several gates', () => {
  it('R-DWS-22: what another gate has sent back was no attempt at this one', () => {
    const gates = [
      gate({ gate_id: 'g1', behaviour: { max_attempts: 2 } }),
      gate({ gate_id: 'g2', behaviour: { max_attempts: 2 } }),
    ]
    const run = judged(works(sub(gates), 'child-1'))
    judged(run, poor())
    judged(works(run, 'child-2'), poor())
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['pass', 'revise', 'revise'])
    judged(works(run, 'child-3'), poor(4))
    expect(verdicts(run).at(-1)).toMatchObject({ verdict: 'fail' })
  })

  it('R-DWS-22: what a person has sent back was one', () => {
    const licensed = gate({ behaviour: { auto_commit: 'licensed', max_attempts: 2 } })
    const run = judged(works(sub([licensed]), 'child-1'))
    run.when(answer('a', { action: 'refine', refineFeedback: { scope: 'whole' } }))
    judged(works(run, 'child-2'), poor())
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['revise', 'fail'])
  })
})

describe('a gate that does not block', () => {
  const open = gate({ behaviour: { blocking: false } })

  it('R-VERIFY-17 §23.2 A32: says neither fail nor revise; what it found is kept, and the work goes on', () => {
    const run = judged(works(sub([open]), 'child-1', { x: 1 }), poor())
    expect(verdicts(run)).toEqual([])
    expect(payloads(run, 'dws.verification.verdict_rendered')).toMatchObject([{ dwsVerdict: 'fail', proceeds: true }])
    expect(recordsOf(run.log)).toMatchObject([{ verdict: 'fail', findings: [{ dimension: 'correctness' }] }])
    expect(started(run)).toMatchObject([{ blocking: false }])
    expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { got: 1 } })
  })

  it('§23.2: says that it passes where it does', () => {
    const run = judged(works(sub([open]), 'child-1'))
    expect(verdicts(run)).toMatchObject([{ verdict: 'pass' }])
    expect(statusOf(run.state)).toBe('completed')
  })

  it('§23.2: asks no person, whatever the reason', () => {
    const wary = gate({
      behaviour: { blocking: false, auto_commit: 'licensed', min_confidence: 1, on_fail: 'escalate' },
    })
    for (const said of [poor(), { ...PASS, confidence: 0.1 }])
      expect(statusOf(judged(works(sub([wary]), 'child-1'), said).state)).toBe('completed')
  })

  it('R-DWS-36 A32: does not hold the work up where nobody can judge it', () => {
    const run = convenes(inspects(works(sub([gate({ behaviour: { blocking: false, retries: 0 } })]), 'child-1')))
    votes(run, 0, { scores: { nonsense: 1 } })
    expect(eventsOf(run, 'interrupt.requested')).toEqual([])
    expect(verdicts(run)).toEqual([])
    expect(statusOf(run.state)).toBe('completed')
  })
})

describe('a run without gates', () => {
  it('R-VERIFY-16: goes on as if there were none in the world', () => {
    const run = works(given(subFlow()).start(), 'child-1', { x: 1 })
    expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { got: 1 } })
    expect(run.state).not.toHaveProperty('outcome.goalSatisfied')
  })

  it('R-DWS-35: one with gates names those it was started with', () => {
    expect(payloads(sub(), 'run.started')[0]).toMatchObject({
      gates: [{ gateId: 'g1', version: 1, hash: 'hash-of-g1' }],
    })
  })
})
