import { describe, expect, test } from 'vitest'
import type { JsonObject } from '../json.js'
import { foldEvent } from './fold.js'
import type { PublicEvent } from './public-event.js'
import { emptyView, nodeOf, type RunView } from './run-view.js'
import { viewSnapshot } from './snapshot.js'
import { statusOfView } from './status.js'

const EPOCH = Date.parse('2026-01-01T00:00:00.000Z')

const event = (sequence: number, type: string, nodeId?: string, payload?: JsonObject): PublicEvent => ({
  eventId: `r:${sequence}`,
  runId: 'r',
  type,
  ...(payload && { payload }),
  timestamp: new Date(EPOCH + sequence * 1_000).toISOString(),
  sequence,
  ...(nodeId !== undefined && { nodeId }),
})

const folded = (...events: PublicEvent[]): RunView => events.reduce(foldEvent, emptyView())

const started = event(0, 'run.started', undefined, { workflowId: 'w', inputs: { x: 1 }, owner: { tenant: 't' } })

describe('a run folded from its public events', () => {
  test('R-LOG-7: passes over types that it does not know, but counts them', () => {
    const view = folded(started, event(1, 'vendor.new.thing', 'a', { nodeId: 'a' }), event(2, 'node.started', 'a'))
    expect(view.length).toBe(3)
    expect(viewSnapshot(view)).toMatchObject({ status: 'running', nodeStates: { a: { status: 'running' } } })
    expect(folded(started, event(1, 'vendor.new.thing', 'a')).nodes.size).toBe(0)
  })

  test('takes nothing for granted in a payload', () => {
    const types = ['node.started', 'interrupt.requested', 'assay.interrupt.voted', 'core.workflowChain.event']
    const more = ['dws.verification.started', 'agent.verified', 'assay.rework.began', 'agent.invocation.started']
    const events = [...types, ...more, 'node.failed', 'channel.written', 'provider.usage'].map((type, i) =>
      event(i + 1, type, 'a'),
    )
    expect(statusOfView(folded(started, ...events, event(20, 'run.failed')))).toBe('failed')
  })

  test('knows no status before the first event', () => {
    expect(statusOfView(emptyView())).toBe('pending')
    expect(viewSnapshot(emptyView())).toEqual({})
  })

  test('V2: leaves every node as it is that an event says nothing of', () => {
    const before = folded(started, event(1, 'node.started', 'a'), event(2, 'node.started', 'b'))
    const b = nodeOf(before, 'b')
    const after = foldEvent(before, event(3, 'node.completed', 'a', { outputs: {} }))
    expect(nodeOf(after, 'a').status).toBe('completed')
    expect(nodeOf(after, 'b')).toBe(b)
    expect(after).not.toBe(before)
  })

  test('V3: what is worth a line is kept only while it is recent', () => {
    const decided = (sequence: number) =>
      event(sequence, 'runOrchestrator.decided', 'sup', { iteration: sequence, decision: { kind: 'clarify' } })
    const { activity, loop } = folded(...Array.from({ length: 1_000 }, (_, i) => decided(i)))
    expect(activity.count).toBe(1_000)
    expect(activity.entries).toHaveLength(200)
    expect(activity.entries.at(-1)?.events[0].sequence).toBe(999)
    expect(loop?.iteration).toBe(999)
  })

  test('a pause stops what the host itself does, and leaves agents, workers and people at it', () => {
    const start = (sequence: number, typeId: string, nodeId: string) =>
      event(sequence, 'node.started', nodeId, { typeId, attempt: 0 })
    const view = folded(
      started,
      start(1, 'core.delay', 'timer'),
      start(2, 'core.agent', 'agent'),
      start(3, 'core.approvalGate', 'person'),
      event(4, 'interrupt.requested', 'person', { kind: 'approval', data: {} }),
      start(5, 'vendor.unknown', 'vendor'),
      event(6, 'run.paused', undefined, { drainPolicy: 'immediate' }),
    )
    expect(viewSnapshot(view).nodeStates).toEqual({
      timer: { status: 'interrupted', attempt: 0 },
      agent: { status: 'running', attempt: 0 },
      person: { status: 'suspended', attempt: 0 },
    })
  })

  test('a node at which the result of the run waits for its gates is at work, whatever was set back before', () => {
    const view = folded(
      started,
      event(1, 'node.started', 'a', { typeId: 'core.noop', attempt: 0 }),
      event(2, 'node.completed', 'a', { outputs: {} }),
      event(3, 'node.started', 'loop', { typeId: 'core.loop', attempt: 0 }),
      event(4, 'node.completed', 'loop', { outputs: { continue: true } }),
    )
    expect(viewSnapshot(view).nodeStates).toEqual({ loop: { status: 'completed' } })
    const staged = foldEvent(view, event(5, 'assay.result.staged', 'a', { point: 'run', targetRef: 'r:2' }))
    expect(viewSnapshot(staged).nodeStates).toMatchObject({ a: { status: 'running', attempt: 0 } })
  })

  test('lists nodes in the order of the definition where that is known', () => {
    const view = [started, event(1, 'node.started', 'b')].reduce(foldEvent, emptyView({ nodeIds: ['a', 'b'] }))
    expect(viewSnapshot(view).nodeStates).toEqual({ a: { status: 'pending' }, b: { status: 'running', attempt: 0 } })
  })
})
