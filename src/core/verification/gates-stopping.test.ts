import { describe, expect, it } from 'vitest'
import {
  convenes,
  faults,
  gateAt,
  inspectionOf,
  inspects,
  judged,
  judgesOf,
  poor,
  subFlow,
  verdicts,
  verifiersOwed,
  voteOf,
  votes,
  wantedOf,
  works,
} from '../../testing/gate-stories.js'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { agentFlow, answered, briefs, eventsOf, says } from '../../testing/invocations.js'
import { begins, ends, next, payloads, scripted, terminate } from '../../testing/orchestration.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'

const gate = (more: Parameters<typeof gateAt>[2] = {}) => gateAt('a', 'phase_exit', more)
const two = gate({ quorum: { verifier_count: 2, quorum_strategy: 'unanimous' }, behaviour: { retry_delay_ms: 1_000 } })
const sub = (config: JsonObject = {}, configurable?: JsonObject) =>
  works(given(subFlow(config)).start({}, configurable, [two]), 'child-1', { x: 1 })
const hearing = (config: JsonObject = {}, configurable?: JsonObject) => convenes(inspects(sub(config, configurable)))

const cancel = { type: 'CancelRun' as const, by: 'ann' }
const pause = (drainPolicy: 'immediate' | 'drain-current-node') => ({ type: 'PauseRun' as const, drainPolicy })
const kinds = (run: Scenario) => run.owed.map(({ kind }) => kind)
const length = (run: Scenario) => run.log.length

describe('a run that is stopped while its verifiers work', () => {
  it('R-DWS-36: calls them back and waits for them; nothing is merged', () => {
    const run = hearing().when(cancel)
    expect(statusOf(run.state)).toBe('cancelling')
    expect(kinds(run)).toEqual(['cancel-child', 'watch-child', 'cancel-child', 'watch-child'])
    faults(run, 0, 'cancelled')
    expect(statusOf(run.state)).toBe('cancelling')
    votes(run, 1)
    expect(statusOf(run.state)).toBe('cancelled')
    expect(verdicts(run)).toEqual([])
    expect(run.state).toMatchObject({ variables: {} })
  })

  it('R-DWS-28: books what they have cost', () => {
    const spent = { tokens: 10, costNano: 0, toolCalls: 0, retries: 0 }
    const run = hearing({}, { budget: { maxTokens: 100 } }).when(cancel)
    faults(faults(run, 0, 'cancelled', { spent }), 1, 'cancelled', { spent })
    expect(run.state).toMatchObject({ spend: { tokens: 20 }, verification: { tokens: 20 } })
  })

  it('R-DWS-36: also where its workers would be let go on: they have something left to do, verifiers have not', () => {
    const run = hearing({ propagateCancellation: false }).when(cancel)
    expect(kinds(run)).toEqual(['cancel-child', 'watch-child', 'cancel-child', 'watch-child'])
    faults(faults(run, 0, 'cancelled'), 1, 'cancelled')
    expect(statusOf(run.state)).toBe('cancelled')
  })

  it('lets workers go on beside them that are not to be called back', () => {
    const dispatch = { outputMapping: { got: 'x' }, fanOutPolicy: 'parallel', propagateCancellation: false }
    const gates = [gateAt('dispatch', 'phase_exit')]
    const run = given(scripted([next('a', 'b'), terminate], { dispatch })).start({}, undefined, gates)
    begins(run, 'child-a', { worker: 0 })
    begins(run, 'child-b', { worker: 1 })
    convenes(inspects(ends(run, 'child-a', { x: 1 }))).when(cancel)
    const calledBack = run.owed.flatMap(effect => (effect.kind === 'cancel-child' ? [effect.childRunId] : []))
    expect(calledBack).toEqual([judgesOf(run).flatMap(judge => (judge.is === 'running' ? [judge.childRunId] : []))[0]])
    faults(run, 0, 'cancelled')
    expect(statusOf(run.state)).toBe('cancelled')
  })

  it('whose time is over, does the same', () => {
    const run = hearing({}, { runTimeoutMs: 500 }).after(501)
    expect(kinds(run)).toContain('cancel-child')
    faults(faults(run, 0, 'cancelled'), 1, 'cancelled')
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'run_timeout' } } })
  })

  it('who are not started yet starts none', () => {
    const run = inspects(sub()).when(cancel)
    expect(statusOf(run.state)).toBe('cancelled')
    expect(run.owed).toEqual([])
  })

  it('while it waits to ask again, or for evidence, or for a person, ends at once', () => {
    const waiting = [
      sub(),
      faults(votes(hearing(), 0), 1),
      says(briefs(given(agentFlow()).start({}, undefined, [two])), answered('x')),
    ]
    for (const run of waiting) expect(statusOf(run.when(cancel).state)).toBe('cancelled')
  })
})

describe('a run that is paused while a gate is at work', () => {
  it.each(['immediate', 'drain-current-node'] as const)(
    'R-DWS-35: %s: goes on where it was, in the same attempt',
    drainPolicy => {
      const run = votes(hearing(), 0).when(pause(drainPolicy))
      expect(statusOf(run.state)).toBe('paused')
      expect(run.owed).toEqual([])
      const heard = length(run)
      votes(run, 1)
      expect(length(run)).toBe(heard)
      run.when({ type: 'ResumeRun' })
      expect(kinds(run)).toEqual(['watch-child'])
      votes(run, 1)
      expect(payloads(run, 'dws.verification.verdict_rendered')).toMatchObject([{ attempt: 1 }])
      expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { got: 1 } })
    },
  )

  it('R-DWS-35: before the evidence is in: it is gathered again', () => {
    const run = sub().when(pause('immediate'))
    expect(wantedOf(run)).toBeUndefined()
    run.when({ type: 'ResumeRun' })
    expect(wantedOf(run)).toMatchObject({ attempt: 1, round: 1 })
  })

  it('R-DWS-35: while an agent’s result is staged: the result is the same', () => {
    const run = says(briefs(given(agentFlow()).start({}, undefined, [gate()])), answered('first'))
    run.when(pause('immediate')).when({ type: 'ResumeRun' })
    expect(wantedOf(run)).toMatchObject({ result: 'first' })
    expect(eventsOf(run, 'agent.decided')).toHaveLength(1)
    judged(run)
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-DWS-36: while it waits to ask again: it asks when it goes on', () => {
    const run = faults(votes(hearing(), 0), 1).when(pause('immediate'))
    expect(run.after(60_000).told().at(-1)).toBe('run.paused')
    run.when({ type: 'ResumeRun' }).when({ type: 'TimeCame' })
    expect(verifiersOwed(run)).toMatchObject([{ worker: 1 }])
  })
})

describe('what comes too late, or twice', () => {
  it('R-VERIFY-21: evidence for another attempt, round, gate or result is for nothing', () => {
    const run = sub()
    const meant = inspectionOf(run)
    const before = length(run)
    const others = [{ attempt: 2 }, { round: 2 }, { gateId: 'g2' }, { since: meant.since - 1 }, { nodeId: 'nowhere' }]
    for (const other of others) run.when({ ...meant, ...other })
    expect(length(run)).toBe(before)
    expect(payloads(run, 'dws.verification.started')).toEqual([])
    run.when(meant)
    const heard = length(run)
    expect(length(run.when(meant))).toBe(heard)
  })

  it('R-VERIFY-21: the evidence about the first result says nothing of the second', () => {
    const run = sub()
    const stale = inspectionOf(run)
    works(judged(run, poor()), 'child-2', { x: 2 })
    const heard = length(run)
    run.when(stale)
    expect(length(run)).toBe(heard)
    expect(wantedOf(run)).toMatchObject({ attempt: 2, result: { x: 2 } })
  })

  it('R-VERIFY-21: a verifier of the first result has no vote over the second', () => {
    const late = gate({ quorum: { verifier_count: 2 } })
    const run = convenes(inspects(works(given(subFlow()).start({}, undefined, [late]), 'child-1', { x: 1 })))
    const first = judgesOf(run).map(judge => (judge.is === 'running' ? judge.childRunId : ''))
    const praise = voteOf(run, first[0]!)
    for (const childRunId of first) run.when(voteOf(run, childRunId, poor()))
    convenes(inspects(works(run, 'child-2', { x: 2 })))
    const heard = length(run)
    run.when(praise)
    expect(length(run)).toBe(heard)
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['revise'])
  })

  it('a verifier ends once, and begins once', () => {
    const run = inspects(sub())
    const [owed] = verifiersOwed(run)
    const started = {
      type: 'ChildStarted' as const,
      nodeId: 'a',
      since: owed!.since,
      worker: 0,
      verifier: true as const,
      childRunId: 'j',
    }
    run.when(started)
    const heard = length(run)
    expect(length(run.when(started))).toBe(heard)
    const vote = voteOf(run, 'j')
    run.when(vote)
    const voted = length(run)
    expect(length(run.when(vote))).toBe(voted)
  })

  it('a worker’s start and a verifier’s are not taken for each other', () => {
    const run = inspects(sub())
    const heard = length(run)
    begins(run, 'not-a-verifier', { nodeId: 'a', since: run.sequence('assay.verifier.began') })
    begins(run, 'not-a-worker', { nodeId: 'a' })
    expect(length(run)).toBe(heard)
  })

  it('what comes after the end is for nothing', () => {
    const run = sub()
    const evidence = inspectionOf(run)
    judged(run)
    const heard = length(run)
    expect(length(run.when(evidence))).toBe(heard)
  })
})
