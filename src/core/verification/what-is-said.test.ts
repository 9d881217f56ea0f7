import { describe, expect, it } from 'vitest'
import {
  blocker,
  gateAt,
  inspects,
  judged,
  polled,
  poor,
  recordsOf,
  subFlow,
  verdicts,
  works,
} from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { eventsOf, owedTo } from '../../testing/invocations.js'
import { answer, begins, ends, next, payloads, scripted } from '../../testing/orchestration.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'
import { foldEvent } from '../view/fold.js'
import { emptyView } from '../view/run-view.js'

type Given = Parameters<typeof gateAt>[2]

const TWO = [{ dimension: 'one' }, { dimension: 'two' }]
const halfBad = { scores: { one: 10, two: 2 }, findings: [blocker('two')] }

const sub = (more: Given = {}) => given(subFlow()).start({}, undefined, [gateAt('a', 'phase_exit', more)])
const labels = (run: Scenario) => eventsOf(run, 'agent.verified').map(({ secret }) => secret?.label)
const goal = (run: Scenario) => {
  const { goalSatisfied, against } = payloads(run, 'run.completed')[0] ?? {}
  return { goalSatisfied, against }
}

/** What somebody who has only the public events knows of each place that a gate stands at. */
const viewed = (run: Scenario) => {
  const told = run.log.map(({ sequence, type, nodeId, payload, at }) => ({
    eventId: `run-1:${sequence}`,
    runId: 'run-1',
    type,
    payload: payload as JsonObject,
    timestamp: new Date(at).toISOString(),
    sequence,
    ...(nodeId === undefined ? {} : { nodeId }),
  }))
  return [...told.reduce(foldEvent, emptyView()).slots.values()]
}

describe('a forced pass', () => {
  const forced = () =>
    judged(works(sub({ behaviour: { max_attempts: 1, on_fail: 'conditional_pass' } }), 'c-1'), poor())

  it('R-VERIFY-2 R-DWS-22: is the gate’s own word, and nobody’s confidence', () => {
    const run = judged(works(sub({ behaviour: { max_attempts: 1, on_fail: 'conditional_pass' } }), 'c-1'), {
      ...poor(),
      confidence: 0.9,
    })
    expect(verdicts(run)).toEqual([
      {
        agentId: 'host:gate:g1',
        target: 'c-1',
        verdict: 'pass',
        criteria: ['correctness', 'gate.on-fail.conditional-pass'],
      },
    ])
    expect(labels(run)).toEqual(['forced'])
  })

  it('R-VERIFY-19: satisfies no goal, and the end says where', () => {
    expect(goal(forced())).toEqual({
      goalSatisfied: false,
      against: [{ what: 'forced', gateId: 'g1', nodeId: 'a', workerId: 'w' }],
    })
  })

  it('R-VERIFY-19: nor where a supervisor says that all is met', () => {
    const gate = gateAt('dispatch', 'phase_exit', { behaviour: { max_attempts: 1, on_fail: 'conditional_pass' } })
    const end = { kind: 'terminate', successCriteria: [{ key: 'done', met: true }] }
    const run = given(scripted([next('w'), end], { dispatch: { outputMapping: { got: 'x' } } })).start({}, {}, [gate])
    judged(works(run, 'c-1', { x: 1 }, { nodeId: 'dispatch' }), poor())
    expect(goal(run)).toMatchObject({ goalSatisfied: false, against: [{ what: 'forced' }] })
  })
})

describe('a confirming round', () => {
  const second = (more: Given = {}) => {
    const run = judged(works(sub({ criteria: TWO, ...more }), 'c-1'), halfBad)
    return polled(inspects(works(run, 'c-2')))
  }

  it('R-DWS-23: what was left out is judged for the new result before it is merged', () => {
    const run = second()
    expect(verdicts(run)).toHaveLength(1)
    expect(payloads(run, 'output.harvested')).toEqual([])
    expect(payloads(run, 'assay.verification.confirming')).toEqual([
      { gateId: 'g1', attempt: 2, round: 2, criteria: ['one'], verifiers: 1 },
    ])
    expect(owedTo(run, 'start-child')!.withheld).toMatchObject({
      bundle: { criteria: [{ dimension: 'one' }], output: { x: 'c-2' } },
    })
    polled(run)
    expect(verdicts(run).at(-1)).toMatchObject({ verdict: 'pass', target: 'c-2', criteria: ['two', 'one'] })
    expect(labels(run).at(-1)).toBe('verified')
    expect(goal(run)).toEqual({ goalSatisfied: true })
  })

  it('R-DWS-19 R-DWS-22: what it finds is the feedback of that attempt, and the worker works again', () => {
    const run = second({ behaviour: { max_attempts: 3 } })
    polled(run, { score: 1, findings: [blocker('one')] })
    expect(verdicts(run).map(({ verdict, criteria }) => [verdict, criteria])).toEqual([
      ['revise', ['one', 'two']],
      ['revise', ['two', 'one']],
    ])
    expect(payloads(run, 'assay.rework.began').at(-1)).toMatchObject({ attempt: 3 })
    const told = eventsOf(run, 'assay.rework.began').at(-1)!.secret!.feedback
    expect(told).toMatchObject({ attempt: 2, dimensions: ['one'], findings: [{ dimension: 'one' }] })
    expect(payloads(run, 'output.harvested')).toEqual([])
  })

  it('R-DWS-25: the record has the votes of both rounds, each with its own findings', () => {
    const warned = { findings: [blocker('two', 'warning')] }
    const run = judged(works(sub({ criteria: TWO }), 'c-1'), halfBad)
    polled(polled(inspects(works(run, 'c-2')), warned), { findings: [blocker('one', 'warning')] })
    const record = recordsOf(run.log).at(-1)!
    expect(record).toMatchObject({
      attempt: 2,
      verdict: 'conditional_pass',
      quorum: { votes: 2, passVotes: 2, needed: 2 },
    })
    expect(record.votes.map(({ scores, confirming }) => [Object.keys(scores), confirming])).toEqual([
      [['two'], undefined],
      [['one'], true],
    ])
    expect(new Set(record.findings.map(({ finding_id }) => finding_id)).size).toBe(2)
    expect(record.criteria.map(({ settledBy }) => settledBy)).toEqual(['verifiers', 'verifiers'])
    expect(labels(run).at(-1)).toBe('conditional')
  })

  it('R-DWS-23: a gate that wants none says so of its results', () => {
    const run = second({ behaviour: { confirm: 'none' } })
    expect(payloads(run, 'assay.verification.confirming')).toEqual([])
    expect(labels(run).at(-1)).toBe('verified in part')
    expect(payloads(run, 'dws.verification.verdict_rendered').at(-1)).toMatchObject({ label: 'verified in part' })
    expect(goal(run)).toMatchObject({ goalSatisfied: false, against: [{ what: 'part', gateId: 'g1' }] })
  })

  it('R-DWS-23: there is none where everything was judged again', () => {
    const run = second({ behaviour: { reverification: 'full' } })
    expect(payloads(run, 'assay.verification.confirming')).toEqual([])
    expect(labels(run).at(-1)).toBe('verified')
  })
})

describe('a result that verifiers have passed and a person is asked about', () => {
  const unsure = { confidence: 0.2 }
  const asked = (more: Given = {}) => judged(works(sub(more), 'c-1'), unsure)
  const rendered = (run: Scenario) => payloads(run, 'dws.verification.verdict_rendered').at(-1)!

  it('R-VERIFY-9: is called nothing before the person has answered', () => {
    const run = asked()
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(rendered(run)).toMatchObject({ dwsVerdict: 'pass', judged: 'whole' })
    expect(rendered(run)).not.toHaveProperty('label')
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toMatch(/"label"/)
  })

  it.each([
    ['pass', {}, 'verified'],
    ['conditional_pass', { findings: [blocker('correctness', 'warning')] }, 'conditional'],
  ])('R-VERIFY-9: %s is what it is once the person lets it pass', (dwsVerdict, vote, label) => {
    const run = judged(works(sub(), 'c-1'), { ...unsure, ...vote }).when(answer('a', { action: 'accept' }))
    expect(rendered(run)).toMatchObject({ dwsVerdict, judged: 'whole' })
    expect(labels(run)).toEqual([label])
    expect(viewed(run)).toMatchObject([{ verdict: 'pass', label }])
  })

  it('R-DWS-23: says so where not all of it was judged', () => {
    const gate = { criteria: TWO, behaviour: { confirm: 'none' as const } }
    const run = judged(works(judged(works(sub(gate), 'c-1'), halfBad), 'c-2'), unsure)
    expect(rendered(run)).toMatchObject({ judged: 'part' })
    run.when(answer('a', { action: 'accept' }))
    expect(labels(run).at(-1)).toBe('verified in part')
    expect(viewed(run)).toMatchObject([{ verdict: 'pass', label: 'verified in part' }])
  })

  it('R-VERIFY-9: was never called verified where the person rejects it', () => {
    const run = asked().when(answer('a', { action: 'reject' }))
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['fail'])
    expect(JSON.stringify(run.log)).not.toMatch(/"label"|"verified":true/)
    const [slot] = viewed(run)
    expect(slot).toMatchObject({ verdict: 'fail' })
    expect(slot).not.toHaveProperty('label')
  })
})

describe('a worker that works again', () => {
  it('R-DWS-20: has its previous result beside the findings', () => {
    const run = judged(works(sub(), 'c-1', { x: 'the first' }), poor())
    expect(owedTo(run, 'start-child')!.withheld).toMatchObject({
      verificationFeedback: { previous: { x: 'the first' }, findings: [{ dimension: 'correctness' }] },
    })
  })

  it('R-DWS-19: is told once what several have found alike', () => {
    const found = (detail: string) => ({
      ...poor(),
      findings: [{ ...blocker(), evidence: [{ evidence_type: 'metric' as const, ref: '/x', detail }] }],
    })
    const run = inspects(works(sub({ quorum: { verifier_count: 3, early_stop: false } }), 'c-1'))
    polled(run, found('seen'))
    const { feedback } = eventsOf(run, 'assay.rework.began')[0]!.secret!
    expect(feedback.findings).toHaveLength(1)
    expect(feedback.findings[0]!.evidence).toHaveLength(1)
    expect(recordsOf(run.log)[0]!.findings).toHaveLength(3)
  })
})

describe('a worker that gave up further down', () => {
  const failed = { code: 'verification_failed', message: 'gave up', retryable: false }
  const flow = (config: JsonObject = {}) => given(subFlow({ onChildFailure: 'absorb', ...config })).start({})

  it('R-VERIFY-12: is not forgotten where its failure is absorbed', () => {
    const run = begins(flow(), 'c-1', { nodeId: 'a' })
    ends(run, 'c-1', {}, { nodeId: 'a', status: 'failed', error: failed })
    expect(goal(run)).toEqual({
      goalSatisfied: false,
      against: [{ what: 'gave-up', nodeId: 'a', workerId: 'w' }],
    })
  })

  it('R-VERIFY-12: nor where a run between them failed for it', () => {
    const details = { childRunId: 'c-2', childStatus: 'failed', childError: 'verification_failed' }
    const run = begins(flow(), 'c-1', { nodeId: 'a' })
    ends(run, 'c-1', {}, { nodeId: 'a', status: 'failed', error: { ...failed, code: 'child_failed', details } })
    expect(goal(run)).toMatchObject({ goalSatisfied: false, against: [{ what: 'gave-up', nodeId: 'a' }] })
  })

  it('R-VERIFY-12 R-VERIFY-19: a supervisor cannot claim what it was to reach', () => {
    const met = { kind: 'terminate', successCriteria: [{ key: 'inner', met: true }] }
    const run = given(scripted([next('w'), met, met])).start({})
    begins(run, 'c-1')
    ends(run, 'c-1', {}, { status: 'failed', error: failed })
    expect(payloads(run, 'run.completed')).toEqual([])
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'verification_failed' } } })
  })

  it('R-VERIFY-12: until the same place succeeds', () => {
    const met = { kind: 'terminate', successCriteria: [{ key: 'inner', met: true }] }
    const run = given(scripted([next('w'), next('w'), met])).start({})
    begins(run, 'c-1')
    ends(run, 'c-1', {}, { status: 'failed', error: failed })
    begins(run, 'c-2')
    ends(run, 'c-2')
    expect(goal(run)).toEqual({ goalSatisfied: true })
  })

  it('R-HANDOFF-7: a failure of another kind says nothing of the goal', () => {
    const run = begins(flow(), 'c-1', { nodeId: 'a' })
    ends(run, 'c-1', {}, { nodeId: 'a', status: 'failed', error: { ...failed, code: 'model_failed' } })
    expect(goal(run)).toEqual({})
  })
})

describe('who says that a goal is reached', () => {
  const led = (criteria?: JsonObject[]) => {
    const end = { kind: 'terminate', ...(criteria ? { successCriteria: criteria } : {}) }
    const gate = gateAt('dispatch', 'phase_exit')
    const run = given(scripted([next('w'), end], { dispatch: { outputMapping: { got: 'x' } } })).start({}, {}, [gate])
    return judged(works(run, 'c-1', { x: 1 }, { nodeId: 'dispatch' }))
  }

  it('R-VERIFY-19: nobody, where a supervisor names no criteria, whatever gates have passed', () => {
    expect(goal(led())).toEqual({})
    expect(goal(led([]))).toEqual({})
    expect(goal(led([{ key: 'a', met: true }]))).toEqual({ goalSatisfied: true })
    expect(goal(led([{ key: 'a', met: false }]))).toEqual({ goalSatisfied: false })
  })

  it('R-VERIFY-19: blocking gates, where there is no supervisor, and each of them', () => {
    expect(goal(judged(works(sub(), 'c-1')))).toEqual({ goalSatisfied: true })
    expect(goal(judged(works(sub({ behaviour: { blocking: false } }), 'c-1')))).toEqual({})
    const unreached = gateAt('never', 'phase_exit', { gate_id: 'g2' })
    const flow = {
      nodes: {
        ...subFlow().nodes,
        never: { type: 'core.subWorkflow', config: { workflowId: 'v' } },
      },
      edges: [{ path: 'a > never', condition: { type: 'expression' as const, expression: 'false' } }],
    }
    const run = judged(works(given(flow).start({}, undefined, [gateAt('a', 'phase_exit'), unreached]), 'c-1'))
    expect(goal(run)).toEqual({})
  })
})

describe('how sure verifiers are', () => {
  it('R-VERIFY-9: a pass below the host’s floor is shown to a person, where the gate says nothing', () => {
    const run = judged(works(sub(), 'c-1'), { confidence: 0.1 })
    expect(payloads(run, 'interrupt.requested')).toMatchObject([{ kind: 'approval', data: { reason: 'unsure' } }])
    expect(eventsOf(run, 'core.workflowChain.confidence-escalated')).toEqual([])
    expect(verdicts(run)).toEqual([])
  })

  it('R-VERIFY-9: at the floor it is merged, and so it is where nobody says', () => {
    expect(verdicts(judged(works(sub(), 'c-1'), { confidence: 0.5 }))).toMatchObject([{ verdict: 'pass' }])
    expect(verdicts(judged(works(sub(), 'c-1')))).toMatchObject([{ verdict: 'pass' }])
    const free = sub({ behaviour: { min_confidence: 0 } })
    expect(verdicts(judged(works(free, 'c-1'), { confidence: 0.1 }))).toMatchObject([{ confidence: 0.1 }])
  })
})
