import { describe, expect, it } from 'vitest'
import {
  convenes,
  faults,
  gateAt,
  inspects,
  judged,
  judgesOf,
  poor,
  recordsOf,
  subFlow,
  verdicts,
  verifiersOwed,
  votes,
  works,
} from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { eventsOf, owedTo } from '../../testing/invocations.js'
import { payloads } from '../../testing/orchestration.js'
import { statusOf } from '../run/state.js'
import type { BoundGate } from './gate.js'

type Given = NonNullable<Parameters<typeof gateAt>[2]>

const gate = (more: Given = {}) => gateAt('a', 'phase_exit', more)
const three = (more: Given = {}) => gate({ ...more, quorum: { verifier_count: 3, ...more.quorum } })
const SPENT = { tokens: 10, costNano: 5, toolCalls: 0, retries: 0 }

/** A result is there, and its verifiers are at work. */
const hearing = (bound: BoundGate, configurable?: { budget: { maxTokens: number } }): Scenario =>
  convenes(inspects(works(given(subFlow()).start({}, configurable, [bound]), 'child-1', { x: 1 })))

const running = (run: Scenario) => judgesOf(run).map(({ is }) => is)
const called = (run: Scenario) => run.owed.flatMap(effect => (effect.kind === 'cancel-child' ? [effect.worker] : []))

describe('several verifiers', () => {
  it('R-DWS-24 R-DWS-33: are started one by one, in their order, and work at once', () => {
    const all = three({ quorum: { early_stop: false } })
    const run = inspects(works(given(subFlow()).start({}, undefined, [all]), 'child-1'))
    expect(payloads(run, 'assay.verifier.began').map(({ verifier }) => verifier)).toEqual([0, 1, 2])
    expect(verifiersOwed(run).map(({ worker }) => worker)).toEqual([0])
    convenes(run)
    expect(running(run)).toEqual(['running', 'running', 'running'])
    expect(run.owed.map(({ kind }) => kind)).toEqual(['watch-child', 'watch-child', 'watch-child'])
    const inputs = eventsOf(run, 'assay.verifier.started').map(({ payload }) => payload.childRunId)
    expect(new Set(inputs).size).toBe(3)
  })

  it('R-DWS-24: those that a gate names are asked by their names', () => {
    const named = gate({ verifiers: [{ agent_id: 'one' }, { agent_id: 'two', weight: 3 }] })
    const run = hearing(named)
    expect(payloads(run, 'assay.verifier.began').map(({ agentId }) => agentId)).toEqual(['one', 'two'])
    expect(recordsOf(votes(votes(run, 0), 1).log)[0]!.votes).toMatchObject([
      { agentId: 'one', weight: 1 },
      { agentId: 'two', weight: 3 },
    ])
  })

  it('R-DWS-24 §23.2: a majority decides; the gate speaks for them', () => {
    const run = votes(votes(hearing(three({ quorum: { early_stop: false } })), 0), 1, poor())
    expect(verdicts(run)).toEqual([])
    votes(run, 2)
    expect(verdicts(run)).toEqual([
      { agentId: 'host:gate:g1', target: 'child-1', verdict: 'pass', criteria: ['correctness'] },
    ])
    expect(payloads(run, 'dws.verification.verdict_rendered')).toMatchObject([{ quorum: { votes: 3, passVotes: 2 } }])
  })

  it('R-DWS-25: what the minority found is kept', () => {
    const run = votes(votes(votes(hearing(three({ quorum: { early_stop: false } })), 0), 1, poor()), 2)
    expect(recordsOf(run.log)[0]).toMatchObject({ verdict: 'conditional_pass', findings: [{ finding_id: 'v2-1' }] })
    expect(payloads(run, 'dws.verification.finding_issued')).toHaveLength(1)
  })

  it('R-DWS-24: only as many are asked as a pass needs; who is not needed is neither started nor paid for', () => {
    const run = votes(hearing(three()), 0, { spent: SPENT })
    expect(running(run)).toEqual(['voted', 'running', 'idle'])
    votes(run, 1, { spent: SPENT })
    expect(verdicts(run)).toMatchObject([{ verdict: 'pass' }])
    expect(payloads(run, 'assay.verifier.began')).toHaveLength(2)
    expect(recordsOf(run.log)[0]!.cost).toMatchObject({ tokens: 20 })
    expect(run.state).toMatchObject({ spend: { tokens: 20 }, verification: { tokens: 20 } })
  })

  it.each([
    ['a vote against', (run: Scenario) => votes(run, 0, poor())],
    ['R-DWS-36: a vote that is missing', (run: Scenario) => faults(run, 0)],
  ])('%s: the next is asked at once, while it can still decide', (_name, first) => {
    const run = first(hearing(three()))
    expect(verifiersOwed(run).map(({ worker }) => worker)).toEqual([2])
    votes(votes(convenes(run), 1), 2)
    expect(verdicts(run)).toMatchObject([{ verdict: 'pass' }])
  })

  it('R-DWS-25: who is at work when the vote is decided is heard, not called back', () => {
    const run = votes(hearing(three({ quorum: { quorum_strategy: 'unanimous' } })), 0, poor())
    expect(called(run)).toEqual([])
    expect(verdicts(run)).toEqual([])
    votes(votes(run, 1, poor()), 2, { spent: SPENT })
    expect(verdicts(run)).toMatchObject([{ verdict: 'revise' }])
    expect(recordsOf(run.log)[0]!.findings).toHaveLength(2)
  })

  it.each([
    ['majority', {}, 5, 3],
    ['majority', { min_agree: 4 }, 5, 4],
    ['unanimous', {}, 3, 3],
    ['any', {}, 3, 1],
    ['any', { min_agree: 2 }, 3, 2],
  ] as const)('R-DWS-24: %s %j of %i begins with %i', (quorum_strategy, more, verifier_count, begun) => {
    const run = hearing(gate({ quorum: { quorum_strategy, verifier_count, ...more } }))
    expect(running(run).filter(is => is === 'running')).toHaveLength(begun)
  })

  it('R-DWS-24: by weight: as many, in their order, as could carry it', () => {
    const verifiers = [1, 1, 3, 1].map((weight, k) => ({ agent_id: `v${k}`, weight }))
    const run = hearing(gate({ verifiers, quorum: { quorum_strategy: 'weighted' } }))
    expect(running(run)).toEqual(['running', 'running', 'running', 'idle'])
  })

  it('R-DWS-36: where a probe could not find out, the rest are asked one at a time: only a vote against decides', () => {
    const probes = [{ probe_id: 'p', type: 'equals' as const, value: true }]
    const bound = three({ criteria: [{ dimension: 'd', probes }, { dimension: 'e' }], behaviour: { retries: 0 } })
    const evidence = [{ probeId: 'p', dimension: 'd', outcome: 'unavailable' as const, evidence: [] }]
    const run = inspects(works(given(subFlow()).start({}, undefined, [bound]), 'child-1', { x: 1 }), { evidence })
    const scores = { e: 10 }
    votes(votes(convenes(run), 0, { scores }), 1, { scores })
    expect(running(run)).toEqual(['voted', 'voted', 'starting'])
    votes(convenes(run), 2, { scores })
    expect(statusOf(run.state)).toBe('waiting-approval')
  })

  it('early_stop false waits for all', () => {
    const run = votes(votes(hearing(three({ quorum: { early_stop: false } })), 0), 1)
    expect(called(run)).toEqual([])
    expect(running(run)).toEqual(['voted', 'voted', 'running'])
    expect(verdicts(votes(run, 2))).toHaveLength(1)
  })

  it.each([
    ['unanimous', [10, 10, 3], 'revise'],
    ['unanimous', [10, 10, 10], 'pass'],
    ['any', [3, 3, 10], 'pass'],
    ['any', [3, 3, 3], 'revise'],
    ['majority', [3, 3, 10], 'revise'],
  ] as const)('R-DWS-24 A31: %s of %j is a %s', (quorum_strategy, scores, verdict) => {
    const run = hearing(three({ quorum: { quorum_strategy, early_stop: false } }))
    for (const [k, score] of scores.entries()) votes(run, k, { score })
    expect(verdicts(run)).toMatchObject([{ verdict }])
  })
})

describe('a verifier that gives no vote', () => {
  const alone = gate({ behaviour: { retries: 2, retry_delay_ms: 1_000 } })

  it.each([
    ['fails', (run: Scenario) => faults(run, 0), 'model_failed'],
    [
      'fails with a code of its own words',
      (run: Scenario) => faults(run, 0, 'failed', { code: 'Ünsafe words' }),
      'verifier_failed',
    ],
    ['is cancelled', (run: Scenario) => faults(run, 0, 'cancelled'), 'verifier_cancelled'],
    ['says something else', (run: Scenario) => votes(run, 0, { scores: { other: 1 } }), 'verifier_off_schema'],
    ['gives a score that is not on the scale', (run: Scenario) => votes(run, 0, { score: 11 }), 'verifier_off_schema'],
  ])('R-DWS-36: %s: nothing is merged, nothing is said of it, no turn is spent', (_name, ends, fault) => {
    const run = ends(hearing(alone))
    expect(payloads(run, 'assay.verifier.ended')).toMatchObject([{ vote: 'none', fault }])
    expect(payloads(run, 'assay.verification.held')).toEqual([
      { gateId: 'g1', attempt: 1, round: 1, votes: 0, faults: 1, retryInMs: 1_000 },
    ])
    expect(verdicts(run)).toEqual([])
    expect(eventsOf(run, 'assay.rework.began')).toEqual([])
    expect(run.owed).toEqual([])
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('secret thing')
  })

  it('R-DWS-36: an answer that is no object at all is none', () => {
    const run = hearing(alone)
    const [judge] = judgesOf(run)
    const childRunId = judge?.is === 'running' ? judge.childRunId : ''
    run.when({ type: 'ChildEnded', nodeId: 'a', childRunId, status: 'completed', variables: {}, hidden: [] })
    expect(payloads(run, 'assay.verifier.ended')).toMatchObject([{ vote: 'none', fault: 'verifier_off_schema' }])
  })

  it('R-DWS-36: is asked again after a while that doubles, and then a person is', () => {
    const run = faults(hearing(alone), 0)
    expect(run.wakeAt).toBe(run.now + 1_000)
    faults(convenes(run.after(1_000)), 0)
    expect(payloads(run, 'assay.verification.resumed')).toEqual([{ gateId: 'g1', attempt: 1, round: 2 }])
    expect(run.wakeAt).toBe(run.now + 2_000)
    expect(run.after(1_999).owed).toEqual([])
    faults(convenes(run.after(1)), 0)
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(payloads(run, 'assay.verification.held').map(({ retryInMs }) => retryInMs)).toEqual([1_000, 2_000])
    expect(payloads(run, 'assay.verifier.began').map(({ round }) => round)).toEqual([1, 2, 3])
    expect(payloads(run, 'interrupt.requested')).toMatchObject([
      { kind: 'approval', data: { artifactType: 'verification', reason: 'unsettled', gateId: 'g1', attempt: 1 } },
    ])
  })

  it('R-DWS-36: the attempt is the same when it is judged in the end', () => {
    const run = faults(hearing(alone), 0)
    votes(convenes(run.after(1_000)), 0)
    expect(payloads(run, 'dws.verification.verdict_rendered')).toMatchObject([{ attempt: 1 }])
    expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { got: 1 } })
  })

  it('R-DWS-36: only those that are missing are asked again; votes stand', () => {
    const unanimous = three({ quorum: { quorum_strategy: 'unanimous' } })
    const run = votes(faults(votes(hearing(unanimous), 0), 1), 2)
    expect(payloads(run, 'assay.verification.held')).toMatchObject([{ votes: 2, faults: 1 }])
    expect(verifiersOwed(run.after(2_000)).map(({ worker }) => worker)).toEqual([1])
    votes(convenes(run), 1)
    expect(verdicts(run)).toMatchObject([{ verdict: 'pass' }])
    expect(recordsOf(run.log)[0]!.votes).toHaveLength(3)
  })

  it('R-DWS-36: is not needed where the others decide', () => {
    const run = votes(faults(hearing(three({ quorum: { early_stop: false } })), 0), 1)
    votes(run, 2)
    expect(verdicts(run)).toMatchObject([{ verdict: 'pass' }])
    expect(recordsOf(run.log)[0]!.faults).toMatchObject([{ code: 'model_failed' }])
  })

  it.each([
    ['for now', 'too_many_runs', 'running'],
    ['at all', 'unknown_agent', 'waiting-approval'],
  ])(
    'R-DWS-36: one that cannot be started %s gives no vote, and is asked again where that could help',
    (_how, code, status) => {
      const run = inspects(works(given(subFlow()).start({}, undefined, [alone]), 'child-1'))
      const { since } = owedTo(run, 'start-child')!
      const error = { code, message: 'no verifier', retryable: false }
      run.when({ type: 'ChildRefused', nodeId: 'a', since, worker: 0, verifier: true, error })
      expect(payloads(run, 'assay.verifier.ended')).toMatchObject([{ vote: 'none', fault: code }])
      expect(statusOf(run.state)).toBe(status)
    },
  )

  it('§23.2: a budget that is spent is a hard stop, not a verifier that gives no vote', () => {
    const run = given(subFlow()).start({}, { budget: { maxTokens: 100 } }, [alone])
    inspects(works(run, 'child-1', { x: 1 }, { spent: { ...SPENT, tokens: 100 } }))
    expect(run.state).toMatchObject({
      outcome: { status: 'failed', error: { code: 'budget_exhausted' } },
      variables: {},
    })
    expect(verdicts(run)).toEqual([])
  })
})

describe('what verification costs', () => {
  const budget = { budget: { maxTokens: 1_000 } }
  const granted = (run: Scenario) => eventsOf(run, 'assay.verifier.began').map(({ secret }) => secret?.grant?.maxTokens)

  it('R-DWS-28: verifiers share what is left, and what is set aside for them is nobody else’s', () => {
    const run = given(subFlow()).start({}, budget, [three()])
    inspects(works(run, 'child-1', { x: 1 }, { spent: { ...SPENT, tokens: 100 } }))
    expect(granted(run)).toEqual([300, 300])
    expect(owedTo(run, 'start-child')).toMatchObject({ grant: { maxTokens: 300 } })
    // Who may yet be asked is not left without: it gets what is neither used nor set aside.
    votes(convenes(run), 0, { ...poor(), spent: SPENT })
    expect(granted(run)).toEqual([300, 300, 590])
  })

  it('R-DWS-27 R-DWS-28: two ledgers, one ceiling: every attempt counts, of both', () => {
    const run = given(subFlow()).start({}, budget, [gate()])
    works(run, 'child-1', { x: 1 }, { spent: { ...SPENT, tokens: 100 } })
    judged(run, { ...poor(), spent: { ...SPENT, tokens: 30 } })
    works(run, 'child-2', { x: 2 }, { spent: { ...SPENT, tokens: 200 } })
    judged(run, { spent: { ...SPENT, tokens: 40 } })
    expect(run.state).toMatchObject({ spend: { tokens: 370 }, verification: { tokens: 70 } })
    expect(payloads(run, 'budget.consumed').map(({ consumed }) => consumed)).toEqual([100, 130, 330, 370])
    expect(granted(run)).toEqual([900, 670])
    expect(recordsOf(run.log).map(({ cost }) => cost?.tokens)).toEqual([30, 40])
  })

  it('R-DWS-28: what a child has spent on verification is verification here as well', () => {
    const run = given(subFlow()).start({}, budget)
    const spent = { spent: { ...SPENT, tokens: 100 }, verification: { ...SPENT, tokens: 60 } }
    run.when({
      type: 'ChildStarted',
      nodeId: 'a',
      since: run.sequence('node.started', 'a'),
      worker: 0,
      childRunId: 'c',
    })
    run.when({
      type: 'ChildEnded',
      nodeId: 'a',
      childRunId: 'c',
      status: 'completed',
      variables: {},
      hidden: [],
      ...spent,
    })
    expect(run.state).toMatchObject({ spend: { tokens: 100 }, verification: { tokens: 60 } })
  })

  it('R-DWS-36: a fault costs, too', () => {
    const run = faults(hearing(gate(), budget), 0, 'failed', { spent: { ...SPENT, tokens: 50 } })
    expect(run.state).toMatchObject({ spend: { tokens: 50 }, verification: { tokens: 50 } })
    votes(convenes(run.after(2_000)), 0, { spent: SPENT })
    expect(recordsOf(run.log)[0]!.cost?.tokens).toBe(60)
  })
})

describe('the confidence of verifiers', () => {
  it('R-VERIFY-9: is told with the verdict, and a single one that says nothing tells nothing', () => {
    expect(verdicts(votes(hearing(gate()), 0, { confidence: 0.8 }))).toMatchObject([{ confidence: 0.8 }])
    expect(verdicts(votes(hearing(gate()), 0))[0]).not.toHaveProperty('confidence')
  })

  it('R-VERIFY-9: models that judge together are compared', () => {
    const run = hearing(gate({ verifiers: [{ agent_id: 'one' }, { agent_id: 'two' }], quorum: { early_stop: false } }))
    votes(votes(run, 0, { model: 'openai:m' }), 1, { model: 'openai:m' })
    expect(recordsOf(run.log)[0]).toMatchObject({ sharedModel: true })
  })
})
