import { describe, expect, it } from 'vitest'
import {
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
import { eventsOf, owedTo } from '../../testing/invocations.js'
import { answer, begins, ends, next, payloads, scripted, terminate, trace } from '../../testing/orchestration.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'
import type { BoundGate } from './gate.js'

const gate = (more: Parameters<typeof gateAt>[2] = {}) => gateAt('a', 'phase_exit', more)
const sub = (gates: readonly BoundGate[] = [gate()], config: JsonObject = {}) =>
  given(subFlow(config)).start({}, undefined, gates)

const dispatching = (
  workers: readonly string[],
  gates: readonly BoundGate[],
  { plan = [next(...workers), terminate], ...dispatch }: JsonObject & { plan?: JsonObject[] } = {},
) => given(scripted(plan, { dispatch: { outputMapping: { got: 'x' }, ...dispatch } })).start({}, undefined, gates)

const atDispatch = (more: Parameters<typeof gateAt>[2] = {}) => gateAt('dispatch', 'phase_exit', more)

const started = (run: Scenario) => payloads(run, 'dws.verification.started')
const variables = (run: Scenario) => (run.state.phase === 'absent' ? {} : run.state.variables)

describe('a gate over what a dispatch brings back', () => {
  it('§31 R-VERIFY-2: one worker, a pass: verdict, harvest, and control goes back', () => {
    const run = dispatching(['a'], [atDispatch()])
    const from = run.log.length
    judged(works(run, 'child-1', { x: 1 }, { nodeId: 'dispatch' }))
    const told = trace(run, from).map(line => line.replace(/ \[\d+\]$/, ''))
    const order = [
      'child.completed a',
      'agent.verified dispatch',
      'output.harvested a',
      'node.completed dispatch',
      'decided 2',
    ]
    expect(told.filter(line => order.includes(line))).toEqual(order)
    expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { got: 1 } })
  })

  it('R-MAP-5: workers that work at once are judged and merged in the order of the decision', () => {
    const run = dispatching(['a', 'b'], [atDispatch()], { fanOutPolicy: 'parallel' })
    begins(run, 'child-a', { worker: 0 })
    begins(run, 'child-b', { worker: 1 })
    ends(run, 'child-b', { x: 'b' })
    expect(wantedOf(run)).toBeUndefined()
    ends(run, 'child-a', { x: 'a' })
    expect(wantedOf(run)).toMatchObject({ result: { x: 'a' } })
    judged(run)
    expect(variables(run)).toEqual({ got: 'a' })
    ends(run, 'child-b', { x: 'b' })
    expect(wantedOf(run)).toMatchObject({ result: { x: 'b' } })
    judged(run)
    expect(variables(run)).toEqual({ got: 'b' })
  })

  it('R-DWS-20: one of several is sent back, and the others wait for it with what they have', () => {
    const run = dispatching(['a', 'b'], [atDispatch()], { fanOutPolicy: 'parallel' })
    begins(run, 'child-a', { worker: 0 })
    begins(run, 'child-b', { worker: 1 })
    ends(run, 'child-a', { x: 'a' })
    ends(run, 'child-b', { x: 'b' })
    judged(run, poor())
    expect(run.owed).toMatchObject([
      { kind: 'start-child', worker: 0, withheld: { verificationFeedback: { attempt: 1 } } },
      { kind: 'watch-child', worker: 1, early: true },
    ])
    judged(works(run, 'child-a2', { x: 'a2' }, { nodeId: 'dispatch', worker: 0 }))
    judged(ends(run, 'child-b', { x: 'b' }))
    expect(started(run).map(({ workerId, attempt, targetRef }) => [workerId, attempt, targetRef])).toEqual([
      ['a', 1, 'child-a'],
      ['a', 2, 'child-a2'],
      ['b', 1, 'child-b'],
    ])
    expect(variables(run)).toEqual({ got: 'b' })
  })

  it('one after the other: the second begins when the first has passed, and counts for itself', () => {
    const run = dispatching(['a', 'b'], [atDispatch()])
    works(run, 'child-a', { x: 'a' }, { nodeId: 'dispatch' })
    expect(payloads(run, 'dispatch.began')).toHaveLength(1)
    judged(run)
    judged(works(run, 'child-b', { x: 'b' }, { nodeId: 'dispatch', worker: 1 }), poor())
    expect(started(run).map(({ attempt }) => attempt)).toEqual([1, 1])
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['pass', 'revise'])
  })

  it('a worker that is named twice has the attempts of each of its tasks', () => {
    const run = dispatching(['a', 'a'], [atDispatch()])
    judged(works(run, 'child-1', { x: 1 }, { nodeId: 'dispatch' }), poor())
    judged(works(run, 'child-2', { x: 2 }, { nodeId: 'dispatch' }))
    judged(works(run, 'child-3', { x: 3 }, { nodeId: 'dispatch', worker: 1 }), poor())
    expect(started(run).map(({ attempt, targetRef }) => [attempt, targetRef])).toEqual([
      [1, 'child-1'],
      [2, 'child-2'],
      [1, 'child-3'],
    ])
    expect(verdicts(run).map(({ verdict }) => verdict)).toEqual(['revise', 'pass', 'revise'])
  })

  it('§31 R-VERIFY-13: after a fail the supervisor has another turn, and sees what it was about', () => {
    const once = atDispatch({ behaviour: { max_attempts: 1 } })
    const run = judged(works(dispatching(['a'], [once]), 'child-1', { x: 1 }, { nodeId: 'dispatch' }), poor())
    expect(payloads(run, 'output.harvested')).toEqual([])
    const [completed] = eventsOf(run, 'node.completed').filter(({ nodeId }) => nodeId === 'dispatch')
    expect(completed!.payload.outputs).toMatchObject({ workers: [{ status: 'failed', error: 'verification_failed' }] })
    expect(payloads(run, 'runOrchestrator.decided')).toHaveLength(3)
  })

  it('R-DWS-20: rework: supervisor leaves it to the supervisor who works again', () => {
    const asks = atDispatch({ behaviour: { rework: 'supervisor' } })
    const plan = [next('a'), next('a'), terminate]
    const run = dispatching(['a'], [asks], { plan })
    judged(works(run, 'child-1', { x: 1 }, { nodeId: 'dispatch' }), poor())
    expect(verdicts(run)).toMatchObject([{ verdict: 'revise' }])
    expect(payloads(run, 'assay.result.withheld')).toMatchObject([{ verdict: 'revise', targetRef: 'child-1' }])
    expect(eventsOf(run, 'assay.rework.began')).toEqual([])
    expect(payloads(run, 'runOrchestrator.decided')).toHaveLength(2)
    judged(works(run, 'child-2', { x: 2 }, { nodeId: 'dispatch' }))
    expect(run.state).toMatchObject({ outcome: { status: 'completed' }, variables: { got: 2 } })
  })
})

describe('a gate and the approval of a merge', () => {
  const approved = { outputAttestation: { requireApproval: true, checksum: true } }

  it('R-ATTEST-9 A7: verdict, harvest, question, merge', () => {
    const run = works(sub([gate()], approved), 'child-1', { x: 1 }, { checksum: 'c0ffee' })
    expect(statusOf(run.state)).toBe('running')
    const from = run.log.length
    judged(run).when(answer('a', { action: 'accept' }))
    const order = [
      'agent.verified',
      'core.workflowChain.event',
      'interrupt.requested',
      'interrupt.resolved',
      'variable.changed',
    ]
    expect(
      run
        .told(from)
        .map(line => line.replace(' a', ''))
        .filter(type => order.includes(type)),
    ).toEqual(order)
    expect(payloads(run, 'output.harvested')).toMatchObject([{ attestation: { checksum: 'c0ffee' } }])
    expect(variables(run)).toEqual({ got: 1 })
  })

  it('R-ATTEST-9: a fail asks nobody whether to merge', () => {
    const run = works(sub([gate({ behaviour: { max_attempts: 1 } })], approved), 'child-1', { x: 1 })
    judged(run, poor())
    expect(eventsOf(run, 'interrupt.requested')).toEqual([])
    expect(run.state).toMatchObject({ outcome: { status: 'failed' }, variables: {} })
  })

  it('R-ATTEST-3: a dispatch asks after the verdict, too, and tells the harvest with the merge', () => {
    const run = dispatching(['a'], [atDispatch()], approved)
    works(run, 'child-1', { x: 1 }, { nodeId: 'dispatch' })
    expect(eventsOf(run, 'interrupt.requested')).toEqual([])
    expect(statusOf(judged(run).state)).toBe('waiting-approval')
    expect(payloads(run, 'output.harvested')).toEqual([])
    run.when(answer('dispatch', { action: 'reject' }))
    expect(variables(run)).toEqual({})
  })
})

describe('what must not be seen', () => {
  const secret = 'hunter2-hunter2'
  const flow = subFlow({}, { variables: [{ name: 'key', type: 'string', sensitive: true }] })

  it('R-DWS-7 R-VERIFY-5: is masked in what probes and verifiers see and in the record, not in what is hashed and merged', () => {
    const run = given(flow).start({ key: secret }, undefined, [gate({ behaviour: { allow_hidden: true } })])
    works(run, 'child-1', { x: `the key is ${secret}` })
    const { result, output } = wantedOf(run)!
    expect(JSON.stringify(result)).toContain(secret)
    expect(JSON.stringify(output)).not.toContain(secret)
    inspects(run)
    expect(JSON.stringify(owedTo(run, 'start-child')!)).not.toContain(secret)
    votes(convenes(run), 0)
    expect(JSON.stringify(recordsOf(run.log)[0]!.output)).toBe('{"x":"[REDACTED]"}')
    expect(JSON.stringify(recordsOf(run.log)[0])).not.toContain(secret)
    expect(variables(run)).toMatchObject({ got: `the key is ${secret}` })
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain(secret)
  })

  it('R-DWS-29: what nobody could see, nobody can have judged: a person is asked, unless the gate says otherwise', () => {
    const run = judged(works(given(flow).start({ key: secret }, undefined, [gate()]), 'child-1', { x: secret }))
    expect(payloads(run, 'interrupt.requested')).toMatchObject([{ data: { reason: 'unseen' } }])
    expect(variables(run)).toEqual({ key: secret })
    run.when(answer('a', { action: 'accept' }))
    expect(verdicts(run)).toMatchObject([{ verdict: 'pass', criteria: ['correctness', 'human-accepted'] }])
    expect(variables(run)).toEqual({ key: secret, got: secret })
  })

  it('R-MAP-10: what a worker hides is hidden from the verifiers', () => {
    const run = sub()
    begins(run, 'child-1', { nodeId: 'a' })
    ends(run, 'child-1', { x: 'plain words' }, { nodeId: 'a', hidden: ['x'] })
    expect(wantedOf(run)).toMatchObject({ result: { x: 'plain words' }, output: { x: '[REDACTED]' } })
  })
})
