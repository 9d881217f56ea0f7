import { describe, expect, it } from 'vitest'
import { given } from '../../testing/given-when-then.js'
import type { JsonObject } from '../json.js'
import { statusOf } from '../run/state.js'
import { openInterrupts } from './decide.js'

const gate = (config: JsonObject = {}) => ({
  nodes: { gate: { type: 'core.approvalGate', config }, after: 'core.noop' },
  edges: ['gate > after'],
})

const answer = (value: JsonObject, by = 'ann', more: JsonObject = {}) => ({
  type: 'ResolveInterrupt' as const,
  nodeId: 'gate',
  value,
  by,
  via: 'key' as const,
  shownHash: 'h',
  ...more,
})

describe('asking', () => {
  it('R-ASK-1 R-ASK-2: suspends the node and says what is asked, once', () => {
    const run = given(gate({ title: 'Ship it?' })).start()
    expect(run.told()).toEqual([
      'run.started',
      'node.started gate',
      'interrupt.requested gate',
      'approval.requested gate',
      'node.suspended gate',
    ])
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(run.owed).toEqual([])
    expect(run.log[2]).toMatchObject({
      payload: { interruptId: 'int-2', key: 'gate:0', data: { title: 'Ship it?', actions: ['accept', 'reject'] } },
    })
  })

  it('R-ASK-2: goes on when it is accepted, with who decided taken from the credential', () => {
    const run = given(gate())
      .start()
      .when(answer({ action: 'accept', decidedBy: 'somebody else' }))
    expect(run.told(5)).toEqual([
      'interrupt.resolved gate',
      'approval.received gate',
      'node.resumed gate',
      'node.completed gate',
      'node.started after',
      'node.completed after',
      'run.completed',
    ])
    expect(run.log[6]).toMatchObject({ payload: { action: 'accept', decidedBy: 'ann' } })
    expect(run.log[5]).toMatchObject({ payload: { resolvedBy: 'ann', shownHash: 'h' } })
  })

  it('fails the run when it is rejected, unless the port is wired', () => {
    const failed = given(gate())
      .start()
      .when(answer({ action: 'reject' }))
    expect(failed.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'interrupt_rejected' } } })
    const wired = given({
      nodes: { gate: 'core.approvalGate', yes: 'core.noop', no: 'core.noop' },
      edges: ['gate > yes', 'gate.reject > no'],
    })
    wired.start().when(answer({ action: 'reject' }))
    expect(wired.told()).toContain('node.completed no')
    expect(wired.told()).toContain('node.skipped yes')
    expect(statusOf(wired.state)).toBe('completed')
  })

  it('R-ASK-4: is answered once', () => {
    const run = given(gate())
      .start()
      .when(answer({ action: 'accept' }))
    const length = run.log.length
    run.when(answer({ action: 'accept' }))
    expect(run.refusal?.code).toBe('interrupt_already_resolved')
    expect(run.log).toHaveLength(length)
  })

  it.each<[string, JsonObject, string]>([
    ['an action that is not offered', { action: 'refine' }, 'validation_error'],
    ['no action', {}, 'validation_error'],
  ])('R-ASK-3: refuses %s and stays open', (_what, value, code) => {
    const run = given(gate()).start().when(answer(value))
    expect(run.refusal?.code).toBe(code)
    expect(run.log).toHaveLength(5)
  })

  it('refuses an answer that was given on sight of something else', () => {
    const run = given(gate())
      .start()
      .when(answer({ action: 'accept' }, 'ann', { claimedHash: 'other' }))
    expect(run.refusal?.code).toBe('interrupt_changed')
    expect(run.log).toHaveLength(5)
  })

  it('R-ASK-3: needs what the action needs', () => {
    const actions = { actions: ['refine', 'edit-accept', 'ask'] }
    expect(
      given(gate(actions))
        .start()
        .when(answer({ action: 'refine' })).refusal?.code,
    ).toBe('validation_error')
    expect(
      given(gate(actions))
        .start()
        .when(answer({ action: 'edit-accept' })).refusal?.code,
    ).toBe('validation_error')
    const asked = given(gate(actions))
      .start()
      .when(answer({ action: 'ask', question: 'why?' }))
    expect(asked.told(5)).toEqual(['assay.interrupt.asked gate'])
    expect(statusOf(asked.state)).toBe('waiting-approval')
    const edited = given(gate(actions))
      .start()
      .when(answer({ action: 'edit-accept', editedArtifactData: { a: 1 } }))
    expect(edited.log.find(({ type }) => type === 'node.completed')).toMatchObject({
      payload: { outputs: { artifact: { a: 1 } } },
    })
  })

  it('R-ASK-7: counts votes, one per voter', () => {
    const run = given(gate({ requiredApprovals: 2 })).start()
    run.when(answer({ action: 'accept' }, 'ann')).when(answer({ action: 'accept' }, 'ann'))
    expect(run.told(5)).toEqual(['assay.interrupt.voted gate'])
    run.when(answer({ action: 'accept' }, 'bob'))
    expect(run.log.find(({ type }) => type === 'approval.received')).toMatchObject({
      payload: { decidedBy: 'quorum:2-of-2' },
    })
    expect(statusOf(run.state)).toBe('completed')
  })

  it('R-ASK-7: is rejected by one veto, or by a majority', () => {
    const veto = given(gate({ requiredApprovals: 3 }))
      .start()
      .when(answer({ action: 'reject' }, 'ann'))
    expect(statusOf(veto.state)).toBe('failed')
    const majority = given(gate({ requiredApprovals: 3, rejectionPolicy: 'majority' })).start()
    majority.when(answer({ action: 'reject' }, 'ann'))
    expect(statusOf(majority.state)).toBe('waiting-approval')
    majority.when(answer({ action: 'reject' }, 'bob'))
    expect(statusOf(majority.state)).toBe('failed')
  })

  it('R-ASK-15: an empty list that an author has written is no list, and nobody is told of one', () => {
    const run = given(gate({ approversList: [], requiredApprovals: 2 })).start()
    const request = run.log.find(({ type }) => type === 'approval.requested')
    expect(request?.payload).not.toHaveProperty('approversList')
    run.when(answer({ action: 'accept' }, 'ann')).when(answer({ action: 'accept' }, 'eve'))
    expect(statusOf(run.state)).toBe('completed')
  })

  it('hears only those it asks', () => {
    const run = given(gate({ approversList: ['ann'] }))
      .start()
      .when(answer({ action: 'accept' }, 'eve'))
    expect(run.refusal?.code).toBe('forbidden')
    expect(statusOf(run.when(answer({ action: 'accept' }, 'ann')).state)).toBe('completed')
  })

  it('R-ASK-6: fails closed when nobody answers in time', () => {
    const run = given(gate({ timeoutMs: 500 })).start()
    expect(run.wakeAt).toBe(1_500)
    run.after(500)
    expect(run.told(5)).toEqual([
      'interrupt.resolved gate',
      'approval.received gate',
      'node.resumed gate',
      'node.failed gate',
      'run.failed',
    ])
    expect(run.log[5]).toMatchObject({ payload: { outcome: 'rejected', reason: 'timeout' } })
    expect(run.log[6]).toMatchObject({ payload: { action: 'timeout' } })
    expect(run.state).toMatchObject({ outcome: { error: { code: 'interrupt_timeout' } } })
  })

  it('takes no answer that comes too late, even before the clock was looked at', () => {
    const run = given(gate({ timeoutMs: 500 })).start()
    run.now += 500
    expect(run.when(answer({ action: 'accept' })).refusal?.code).toBe('interrupt_expired')
  })

  it('does not count waiting for a person against the workflow’s own time', () => {
    const run = given({ ...gate(), settings: { timeout: 1_000 } }).start()
    run.now += 50_000
    expect(statusOf(run.when(answer({ action: 'accept' })).state)).toBe('completed')
  })

  it('R-REST-12: stays open through a pause, and is not answered during it', () => {
    const run = given(gate()).start().when({ type: 'PauseRun', drainPolicy: 'immediate' })
    expect(statusOf(run.state)).toBe('paused')
    expect(run.when(answer({ action: 'accept' })).refusal?.code).toBe('run_paused')
    run.when({ type: 'ResumeRun' })
    expect(statusOf(run.state)).toBe('waiting-approval')
    expect(openInterrupts(run.rules.plan, run.state)).toHaveLength(1)
  })

  it('can no longer be answered once the run is cancelled', () => {
    const own = given(gate()).start().when({ type: 'CancelRun', by: 'x' })
    expect(own.when(answer({ action: 'accept' })).refusal?.code).toBe('interrupt_cancelled')
    expect(own.when(answer({ action: 'accept' }, 'x', { via: 'token' })).refusal?.code).toBe(
      'interrupt_already_resolved',
    )
    const cascade = given(gate()).start().when({ type: 'CancelRun', by: 'parent', parentRunId: 'p' })
    expect(cascade.when(answer({ action: 'accept' })).refusal?.code).toBe('interrupt_gone')
  })

  it('R-ASK-10: takes links only where the workflow allows them', () => {
    const run = given(gate({ profile: 'openwop-interrupt-auth-required' })).start()
    expect(run.when(answer({ action: 'accept' }, 'ann', { via: 'token' })).refusal?.code).toBe(
      'auth_elevation_required',
    )
    expect(statusOf(run.when(answer({ action: 'accept' })).state)).toBe('completed')
  })

  it('knows nodes that never asked', () => {
    const run = given(gate())
      .start()
      .when({ ...answer({ action: 'accept' }), nodeId: 'after' })
    expect(run.refusal?.code).toBe('interrupt_not_found')
  })

  it('reads what old clients say', () => {
    const actions = { actions: ['accept', 'reject', 'refine'] }
    const told = (value: JsonObject) =>
      given(gate(actions))
        .start()
        .when(answer(value))
        .log.find(({ type }) => type === 'approval.received')?.payload
    expect(told({ decision: 'approved' })).toMatchObject({ action: 'accept' })
    expect(told({ decision: 'rejected' })).toMatchObject({ action: 'reject' })
    expect(told({ decision: 'rejected', feedback: 'shorter' })).toMatchObject({
      action: 'refine',
      refineFeedback: { scope: 'whole', text: 'shorter' },
    })
  })

  it('masks what must not be seen, in question and answer', () => {
    const run = given({
      nodes: {
        gate: {
          type: 'core.interrupt',
          config: { kind: 'custom', data: { customKind: 'x' } },
          inputs: { payload: { type: 'variable', variableName: 'key' } },
        },
      },
      variables: [{ name: 'key', type: 'string', sensitive: true }],
    }).start({ key: 'hunter2-secret' })
    run.when(answer({ seen: 'hunter2-secret' }))
    expect(JSON.stringify(run.log.map(({ payload }) => payload))).not.toContain('hunter2')
    expect(statusOf(run.state)).toBe('completed')
  })
})

describe('no way around an approval', () => {
  const port = (name: string, value: JsonObject[string]) => ({
    nodes: {
      gate: { type: 'core.approvalGate', inputs: { [name]: { type: 'static' as const, value } } },
      after: 'core.noop',
    },
    edges: ['gate > after'],
  })

  it.each<[string, JsonObject[string]]>([
    ['requiredApprovals', '2'],
    ['approversList', 'alice'],
    ['approversList', []], // R-ASK-15
    ['actions', 'accept'],
    ['approverGroupRefs', ['g']],
  ])('what arrives through the port %s is looked at before anybody is asked', (name, value) => {
    const run = given(port(name, value)).start()
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'invalid_input' } } })
  })

  it('what is sent back does not go on as approved', () => {
    const run = given(gate({ actions: ['accept', 'refine'], requiredApprovals: 3 })).start()
    run.when(answer({ action: 'refine', refineFeedback: { scope: 'whole' } }))
    expect(run.told()).not.toContain('node.started after')
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'interrupt_rejected' } } })
    const data = { artifactId: 'a', artifactType: 't', title: 'x', actions: ['accept', 'refine'] }
    const other = given({ nodes: { gate: { type: 'core.interrupt', config: { kind: 'approval', data } } } }).start()
    other.when(answer({ action: 'refine', refineFeedback: { scope: 'whole' } }))
    expect(statusOf(other.state)).toBe('failed')
  })

  it('an answer brings nothing along that its action does not have', () => {
    const run = given(gate()).start()
    run.when(answer({ action: 'accept', artifact: 'forged', editedArtifactData: 1, feedback: 'fine' }))
    const outputs = { action: 'accept', feedback: 'fine', decidedBy: 'ann', decidedAt: '1970-01-01T00:00:01.000Z' }
    expect(run.log.find(({ type }) => type === 'node.completed')?.payload).toEqual({ nodeId: 'gate', outputs })
  })

  it('who says two things says nothing', () => {
    const run = given(gate())
      .start()
      .when(answer({ action: 'accept', decision: 'rejected' }))
    expect(run.refusal?.code).toBe('validation_error')
  })

  it('a vote that can no longer be won is lost', () => {
    const config = { requiredApprovals: 2, approversList: ['ann', 'bob'], rejectionPolicy: 'majority' }
    const run = given(gate({ ...config, requiredApprovals: 2 }))
      .start()
      .when(answer({ action: 'reject' }, 'ann'))
    expect(statusOf(run.state)).toBe('failed')
    expect(() => given(gate({ ...config, requiredApprovals: 3 }))).toThrow('more than approversList')
  })

  it('waiting for a person beside other work does not stop the clock of that work', () => {
    const run = given({
      nodes: { gate: 'core.approvalGate', d: { type: 'core.delay', config: { ms: 5_000 } } },
      settings: { timeout: 1_000 },
    }).start()
    expect(statusOf(run.state)).toBe('waiting-approval')
    run.after(1_001)
    expect(run.state).toMatchObject({ outcome: { status: 'failed', error: { code: 'run_timeout' } } })
  })
})

describe('masking what is asked', () => {
  it('leaves the words of the protocol alone', () => {
    const run = given({
      nodes: { gate: { type: 'core.approvalGate', config: { title: 'Is it accept?', actions: ['accept', 'reject'] } } },
      variables: [{ name: 'word', type: 'string', sensitive: true }],
    }).start({ word: 'accept' })
    expect(run.log[2]).toMatchObject({ payload: { data: { title: '[REDACTED]', actions: ['accept', 'reject'] } } })
    expect(statusOf(run.when(answer({ action: 'accept' })).state)).toBe('completed')
  })
})

describe('other kinds', () => {
  it('R-ASK-11: a clarification wants every question answered, in either spelling', () => {
    const ask = () =>
      given({
        nodes: { gate: { type: 'core.clarificationGate', config: { questions: [{ id: 'q1', question: 'Colour?' }] } } },
      }).start()
    expect(statusOf(ask().state)).toBe('waiting-input')
    expect(ask().when(answer({ answers: {} })).refusal?.code).toBe('validation_error')
    expect(ask().when(answer({ answers: { q1: 'red', q2: 'no' } })).refusal?.code).toBe('validation_error')
    const done = ask().when(answer({ answers: [{ id: 'q1', answer: 'red' }] }))
    expect(done.log.find(({ type }) => type === 'clarification.resolved')).toMatchObject({
      payload: { answers: { q1: 'red' }, answeredBy: 'ann' },
    })
  })

  it('R-ASK-8 R-ASK-11: an external event must match its correlation', () => {
    const data = { eventType: 'paid', correlation: { order: 7 } }
    const run = given({
      nodes: { gate: { type: 'core.interrupt', config: { kind: 'external-event', data, timeoutMs: 100 } } },
    }).start()
    expect(statusOf(run.state)).toBe('waiting-external')
    expect(run.when(answer({ order: 8 })).refusal?.code).toBe('correlation_mismatch')
    expect(statusOf(run.state)).toBe('waiting-external')
    expect(statusOf(run.when(answer({ order: 7, amount: 3 })).state)).toBe('completed')
  })

  it('what is not an approval fails its node when nobody answers', () => {
    const config = { kind: 'custom', data: { customKind: 'x' }, timeoutMs: 100 }
    const run = given({ nodes: { gate: { type: 'core.interrupt', config } } })
      .start()
      .after(100)
    expect(run.state).toMatchObject({ outcome: { error: { code: 'interrupt_timeout' } } })
  })
})
