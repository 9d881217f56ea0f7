import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { answer, begins, ends, next, payloads, scripted, terminate, trace } from '../../testing/orchestration.js'
import type { Sketch } from '../../testing/workflow.js'
import { openInterrupts } from '../interrupt/decide.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'

const MAPPED = { outputMapping: { got: 'x', other: 'y' } }
const CHECKSUM = 'c0ffee'
const ATTESTATION = { checksum: CHECKSUM, algorithm: 'sha256' }

type Variables = NonNullable<Sketch['variables']>

const dispatching = (outputAttestation: JsonObject, more: JsonObject = {}, variables: Variables = []) =>
  given(scripted([next('a'), terminate], { dispatch: { ...MAPPED, outputAttestation, ...more }, variables })).start()

const sub = (outputAttestation: JsonObject, more: JsonObject = {}, variables: Variables = []) =>
  given({
    nodes: { sub: { type: 'core.subWorkflow', config: { workflowId: 'a', ...MAPPED, outputAttestation, ...more } } },
    variables,
  }).start()

type Side = readonly [name: string, nodeId: string, begin: typeof sub]
const SIDES: readonly Side[] = [
  ['a dispatch', 'dispatch', dispatching],
  ['a sub-workflow', 'sub', sub],
]

/** The child of that node completes. */
const completes = (run: Scenario, nodeId: string, more: object = {}, variables: JsonObject = { x: 1, y: 2 }) => {
  begins(run, 'child-1', { nodeId })
  return ends(run, 'child-1', variables, { nodeId, ...more })
}

const outputs = (run: Scenario, nodeId: string) =>
  payloads(run, 'node.completed').find(told => told.nodeId === nodeId)?.outputs

describe.each(SIDES)('%s that attests', (_name, nodeId, begin) => {
  it('R-ATTEST-1: asks for the checksum and tells it with the harvest and in its outputs', () => {
    const run = begin({ checksum: true })
    begins(run, 'child-1', { nodeId })
    expect(run.owed).toMatchObject([{ kind: 'watch-child', attest: true }])
    ends(run, 'child-1', { x: 1 }, { nodeId, checksum: CHECKSUM })
    expect(payloads(run, 'output.harvested')).toMatchObject([{ attestation: ATTESTATION }])
    expect(outputs(run, nodeId)).toMatchObject(
      nodeId === 'sub' ? { attestation: ATTESTATION } : { workers: [{ attestation: ATTESTATION }] },
    )
  })

  it('R-ATTEST-1 R-ATTEST-7: does so only where it is asked for', () => {
    const run = begin({ checksum: false, requireApproval: false })
    expect(begins(run, 'child-1', { nodeId }).owed).toMatchObject([{ attest: false }])
    ends(run, 'child-1', { x: 1 }, { nodeId })
    expect(payloads(run, 'output.harvested')[0]).not.toHaveProperty('attestation')
    expect(JSON.stringify(outputs(run, nodeId))).not.toContain('attestation')
  })

  it('R-ATTEST-2: takes any checksum; to compare is the parent’s', () => {
    const run = completes(begin({ checksum: true }), nodeId, { checksum: 'another' })
    expect(statusOf(run.state)).toBe('completed')
    expect(run.state).toMatchObject({ variables: { got: 1 } })
  })

  it('R-ATTEST-6: names the scope that its worker is narrowed to', () => {
    expect(begin({ principalScope: ['runs:read'] }).owed).toMatchObject([{ principalScope: ['runs:read'] }])
    expect(begin({}).owed).toMatchObject([{ principalScope: undefined }])
  })
})

describe.each(SIDES)('%s that asks before it merges', (_name, nodeId, begin) => {
  const asking = (more: JsonObject = {}) =>
    completes(begin({ requireApproval: true, checksum: true }, more), nodeId, { checksum: CHECKSUM })

  it('R-ATTEST-3: shows the results and merges nothing yet', () => {
    const run = asking()
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(payloads(run, 'variable.changed')).toEqual([])
    expect(payloads(run, 'interrupt.requested')).toMatchObject([
      {
        kind: 'approval',
        data: {
          artifactId: 'child-1',
          artifactType: 'sub-run-output',
          artifactData: { x: 1, y: 2 },
          actions: ['accept', 'reject', 'edit-accept'],
        },
      },
    ])
    const asked = run.log.find(({ type }) => type === 'interrupt.requested')!
    expect(run.log[asked.cause!]).toMatchObject({ payload: { phase: 'child.completed' } })
  })

  it('R-ATTEST-3: accepted, they are merged as they are', () => {
    const run = asking().when(answer(nodeId, { action: 'accept' }))
    expect(run.state).toMatchObject({ phase: 'ended', variables: { got: 1, other: 2 } })
    expect(payloads(run, 'output.harvested')).toMatchObject([
      { harvestedKeys: ['got', 'other'], attestation: ATTESTATION },
    ])
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-ATTEST-3: edited, they are merged as they were made', () => {
    const run = asking().when(answer(nodeId, { action: 'edit-accept', editedArtifactData: { x: 'better' } }))
    expect(payloads(run, 'variable.changed')).toMatchObject([{ name: 'got', next: 'better' }])
    expect(run.state).toMatchObject({ phase: 'ended', variables: { got: 'better' } })
    expect(run.state).not.toHaveProperty('variables.other')
  })

  it.each<[string, JsonObject, string]>([
    [
      'a name that is none of the results',
      { action: 'edit-accept', editedArtifactData: { z: 1 } },
      'editedArtifactData.z is not among',
    ],
    ['what is not an object', { action: 'edit-accept', editedArtifactData: [1] }, 'must be an object with the results'],
    ['no edit at all', { action: 'edit-accept' }, 'needs resumeValue.editedArtifactData'],
    [
      'an action that is not offered',
      { action: 'refine', refineFeedback: { scope: 'whole' } },
      'must be one of accept, reject, edit-accept',
    ],
  ])('R-ATTEST-3: %s is refused and leaves the question open', (_what, value, message) => {
    const run = asking().when(answer(nodeId, value))
    expect(run.refusal).toMatchObject({ code: 'validation_error', message: expect.stringContaining(message) })
    expect(openInterrupts(run.rules.plan, run.state)).toHaveLength(1)
    expect(payloads(run, 'variable.changed')).toEqual([])
  })

  it('R-ATTEST-4: rejected, nothing is merged', () => {
    const run = asking().when(answer(nodeId, { action: 'reject' }))
    expect(payloads(run, 'variable.changed')).toEqual([])
    expect(run.state).toMatchObject({ phase: 'ended', variables: {} })
  })

  it('R-ATTEST-4: a run whose time is over, or that is cancelled, merges nothing', () => {
    const late = completes(begin({ requireApproval: true }), nodeId)
    late.after(32 * 24 * 3_600_000)
    late.when(answer(nodeId, { action: 'accept' }))
    expect(late.refusal?.code).toBe('interrupt_already_resolved')
    expect(late.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'run_timeout' } }, variables: {} })
    const cancelled = asking()
      .when({ type: 'CancelRun', by: 'ann' })
      .when(answer(nodeId, { action: 'accept' }))
    expect(cancelled.refusal?.code).toBe('interrupt_cancelled')
    expect(cancelled.state).toMatchObject({ outcome: { status: 'cancelled' }, variables: {} })
  })

  it('R-ATTEST-5: asks once per child', () => {
    const run = asking()
    ends(run, 'child-1', { x: 9 }, { nodeId })
    run
      .when({ type: 'Continue' })
      .when(answer(nodeId, { action: 'accept' }))
      .when(answer(nodeId, { action: 'accept' }))
    expect(run.refusal?.code).toBe('interrupt_already_resolved')
    expect(payloads(run, 'interrupt.requested')).toHaveLength(1)
    expect(run.state).toMatchObject({ variables: { got: 1 } })
  })

  it.each(['failed', 'cancelled'] as const)('R-ATTEST-4: asks nothing about a child that %s', status => {
    const run = completes(begin({ requireApproval: true }), nodeId, { status })
    expect(payloads(run, 'interrupt.requested')).toEqual([])
    expect(payloads(run, 'output.harvested')).toEqual([])
  })

  it('R-ATTEST-3 R-MAP-10: hidden results are masked, and stay what they are through an edit', () => {
    const run = completes(
      begin({ requireApproval: true }),
      nodeId,
      { hidden: ['x'] },
      { x: 'hunter2-secret', y: 'open' },
    )
    expect(payloads(run, 'interrupt.requested')[0]).toMatchObject({
      data: { artifactData: { x: '[REDACTED]', y: 'open' } },
    })
    run.when(answer(nodeId, { action: 'edit-accept', editedArtifactData: { x: '[REDACTED]', y: 'edited' } }))
    expect(run.state).toMatchObject({ variables: { got: 'hunter2-secret', other: 'edited' } })
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('hunter2')
  })

  it('R-MAP-10: a hidden result that is edited stays hidden', () => {
    const run = completes(begin({ requireApproval: true }), nodeId, { hidden: ['x'] }, { x: 'hunter2-secret' })
    run.when(answer(nodeId, { action: 'edit-accept', editedArtifactData: { x: 'swordfish' } }))
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('swordfish')
  })

  it('R-MAP-10: what is to become a sensitive variable is not shown either', () => {
    const run = begin({ requireApproval: true }, {}, [{ name: 'got', type: 'string', sensitive: true }])
    completes(run, nodeId, {}, { x: 'hunter2-secret' })
    expect(payloads(run, 'interrupt.requested')).toHaveLength(1)
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('hunter2')
  })

  it('R-ATTEST-3: stays open through a pause', () => {
    const run = asking().when({ type: 'PauseRun', drainPolicy: 'immediate' })
    expect(run.when(answer(nodeId, { action: 'accept' })).refusal?.code).toBe('run_paused')
    run.when({ type: 'ResumeRun' }).when(answer(nodeId, { action: 'accept' }))
    expect(run.state).toMatchObject({ variables: { got: 1 } })
  })
})

describe('the order of asking and telling', () => {
  it('D7 R-ATTEST-3: a sub-workflow tells its harvest first and merges after the answer', () => {
    const run = completes(sub({ requireApproval: true }), 'sub').when(answer('sub', { action: 'accept' }))
    expect(trace(run, 5)).toEqual([
      'child.completed a [4]',
      'output.harvested a [5]',
      'interrupt.requested sub [5]',
      'approval.requested sub [7]',
      'node.suspended sub [7]',
      'interrupt.resolved sub',
      'approval.received sub [10]',
      'node.resumed sub [10]',
      'variable.changed sub [1]',
      'variable.changed sub [1]',
      'node.completed sub [1]',
      'run.completed [15]',
    ])
  })

  it('D7 R-ATTEST-3: a dispatch asks first, then merges and tells', () => {
    const run = completes(dispatching({ requireApproval: true }), 'dispatch').when(
      answer('dispatch', { action: 'accept' }),
    )
    expect(trace(run, 8).slice(0, 11)).toEqual([
      'child.completed a [7]',
      'interrupt.requested dispatch [8]',
      'approval.requested dispatch [9]',
      'node.suspended dispatch [9]',
      'interrupt.resolved dispatch',
      'approval.received dispatch [12]',
      'node.resumed dispatch [12]',
      'variable.changed dispatch [2]',
      'variable.changed dispatch [2]',
      'output.harvested a [8]',
      'node.completed dispatch [2]',
    ])
  })
})

describe('a merge that is rejected', () => {
  const rejected = (run: Scenario, nodeId: string) => completes(run, nodeId).when(answer(nodeId, { action: 'reject' }))

  it('R-ATTEST-4: fails a sub-workflow', () => {
    const run = rejected(sub({ requireApproval: true }), 'sub')
    expect(run.state).toMatchObject({
      outcome: { status: 'failed', error: { code: 'merge_rejected' }, failedNodeId: 'sub' },
    })
  })

  it('R-ATTEST-4: is absorbed where the sub-workflow absorbs failures', () => {
    const run = rejected(sub({ requireApproval: true }, { onChildFailure: 'absorb' }), 'sub')
    expect(outputs(run, 'sub')).toEqual({ childRunId: 'child-1', childStatus: 'failed' })
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-ATTEST-4 R-ORCH-19: makes a dispatched worker a failed one, without a harvest, and the supervisor goes on', () => {
    const run = rejected(dispatching({ requireApproval: true }), 'dispatch')
    expect(outputs(run, 'dispatch')).toEqual({
      childRunId: 'child-1',
      childStatus: 'failed',
      workers: [{ workerId: 'a', status: 'failed', childRunId: 'child-1', error: 'merge_rejected' }],
    })
    expect(payloads(run, 'output.harvested')).toEqual([])
    expect(payloads(run, 'runOrchestrator.decided')).toHaveLength(2)
  })
})

describe('several workers that are asked about', () => {
  const GATED = { ...MAPPED, outputAttestation: { requireApproval: true } }

  it('R-ATTEST-5: one after the other', () => {
    const run = given(scripted([next('a', 'b'), terminate], { dispatch: GATED })).start()
    completes(run, 'dispatch')
    expect(payloads(run, 'dispatch.began')).toHaveLength(1)
    run.when(answer('dispatch', { action: 'reject' }))
    begins(run, 'child-2', { worker: 1 })
    ends(run, 'child-2', { x: 2 })
    expect(payloads(run, 'interrupt.requested')).toMatchObject([
      { key: 'dispatch:0' },
      { key: 'dispatch:1', data: { artifactId: 'child-2' } },
    ])
    run.when(answer('dispatch', { action: 'accept' }))
    expect(run.state).toMatchObject({ phase: 'ended', variables: { got: 2 } })
  })

  it('R-ATTEST-5: at once, about one at a time, in the order of the decision; the others go on working', () => {
    const run = given(
      scripted([next('a', 'b', 'c'), terminate], { dispatch: { ...GATED, fanOutPolicy: 'parallel' } }),
    ).start()
    for (let worker = 0; worker < 3; worker += 1) begins(run, `child-${worker}`, { worker })
    ends(run, 'child-1', { x: 1 })
    expect(payloads(run, 'interrupt.requested')).toEqual([])
    ends(run, 'child-0', { x: 0 })
    expect(statusOf(run.state)).toBe('waiting-approval')
    for (const [worker, action] of ['accept', 'reject', 'accept'].entries()) {
      run.when(answer('dispatch', { action }))
      if (worker < 2) ends(run, `child-${worker + 1}`, { x: worker + 1 })
    }
    expect(payloads(run, 'interrupt.requested').map(({ data }) => (data as JsonObject).artifactId)).toEqual([
      'child-0',
      'child-1',
      'child-2',
    ])
    expect(payloads(run, 'variable.changed').map(({ next: value }) => value)).toEqual([0, 2])
    expect(outputs(run, 'dispatch')).toMatchObject({
      workers: [{ status: 'completed' }, { status: 'failed', error: 'merge_rejected' }, { status: 'completed' }],
    })
  })

  it('R-ATTEST-4: a stop while one is asked about and another works merges nothing and waits for the other', () => {
    const run = given(scripted([next('a', 'b')], { dispatch: { ...GATED, fanOutPolicy: 'parallel' } })).start()
    begins(run, 'child-0')
    begins(run, 'child-1', { worker: 1 })
    ends(run, 'child-0', { x: 1 })
    run.when({ type: 'CancelRun', by: 'ann' }).when(answer('dispatch', { action: 'accept' }))
    expect(run.refusal?.code).toBe('interrupt_cancelled')
    ends(run, 'child-1', { x: 2 })
    expect(run.told().slice(-4)).toEqual([
      'assay.stop.requested',
      'core.workflowChain.event dispatch',
      'node.cancelled dispatch',
      'run.cancelled',
    ])
    expect(payloads(run, 'variable.changed')).toEqual([])
  })
})
