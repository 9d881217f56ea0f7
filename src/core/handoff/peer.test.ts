import { describe, expect, it } from 'vitest'
import { given, type Scenario } from '../../testing/given-when-then.js'
import { begins, ends, next, payloads, refuses, scripted, terminate, trace } from '../../testing/orchestration.js'
import type { JsonObject } from '../json.js'
import { peerRunId, peerWorkOf } from './peer-work.js'
import type { WorkerState } from './state.js'

const WORK = 'peer:beta/draft'
const RUN = 'peer:beta/r1'
const MAPPED = { inputMapping: { y: 'got' }, outputMapping: { got: 'x' } }
const LOST_AFTER = 1_000

const atPeer = (dispatch: JsonObject = MAPPED, configurable?: JsonObject) =>
  given(scripted([next(WORK), terminate], { dispatch })).start({ got: 7 }, configurable)

const beganOf = (run: Scenario) =>
  run.log.findLast(event => event.type === 'core.workflowChain.event' && event.payload.phase === 'dispatch.began')!
    .sequence

const silent = (run: Scenario, began = beganOf(run)) =>
  run.when({ type: 'PeerSilent', nodeId: 'dispatch', began, reason: 'unreachable', lostAfterMs: LOST_AFTER })

const heard = (run: Scenario) => run.when({ type: 'PeerHeard', nodeId: 'dispatch', began: beganOf(run) })

/** Silent for so long that it is given up. */
function lose(run: Scenario): Scenario {
  silent(run)
  run.now += LOST_AFTER
  return silent(run)
}

const kinds = (run: Scenario) => run.owed.map(({ kind }) => kind)
const foreign = { hostId: 'b.example', eventId: 'r1:9' }

describe('work for a peer', () => {
  it('P8: a worker of another host has a name that nothing here has', () => {
    expect(peerWorkOf(WORK)).toEqual({ peer: 'beta', workflowId: 'draft' })
    for (const other of [
      'draft',
      'acme.writer',
      'peer:beta',
      'peer:beta/',
      'peer:/draft',
      'peer:B/draft',
      'x/peer:b/c',
    ])
      expect(peerWorkOf(other)).toBeUndefined()
    expect(peerRunId('beta', 'r1')).toBe(RUN)
  })

  it('R-HANDOFF-1 R-HANDOFF-3 R-HANDOFF-13: goes through the phases of every hand-off, and its causes are of this host', () => {
    const run = atPeer()
    expect(run.owed).toMatchObject([{ kind: 'start-peer', peer: 'beta', workflowId: 'draft', inputs: { y: 7 } }])
    begins(run, RUN)
    expect(run.owed).toMatchObject([{ kind: 'watch-peer', childRunId: RUN, wanted: ['x'], status: 'running' }])
    run.when({
      type: 'ChildEnded',
      nodeId: 'dispatch',
      childRunId: RUN,
      status: 'completed',
      variables: { x: 1 },
      hidden: [],
      foreign,
    })
    expect(trace(run, 4).slice(0, 7)).toEqual([
      'node.started dispatch [3]',
      'dispatch.began peer:beta/draft [2]',
      'node.dispatched dispatch [2]',
      'dispatch.succeeded peer:beta/draft [5]',
      'child.completed peer:beta/draft [7]',
      'variable.changed dispatch [2]',
      'output.harvested peer:beta/draft [8]',
    ])
    expect(run.state).toMatchObject({ variables: { got: 1 } })
  })

  it('R-XHOST-2: a run that a peer has started tells of it once, with the first event that can', () => {
    const run = given(scripted([next('w'), terminate], {}))
    const parent = {
      hostId: 'a.example',
      runId: 'r0',
      eventId: 'r0:5',
      cause: 'core.dispatch',
      wellKnownUrl: 'https://a',
    }
    run.when({
      type: 'StartRun',
      runId: 'run-1',
      started: {
        workflowId: run.rules.plan.definition.id,
        workflowDigest: 'digest',
        inputs: {},
        transport: 'rest',
        engineVersion: '3',
        owner: { tenant: 't' },
        foreignParent: parent as never,
        depth: 1,
      },
    })
    begins(run, 'child-0')
    const told = run.log.filter(event => event.foreignCause !== undefined)
    expect(told.map(({ type, cause, foreignCause }) => [type, cause, foreignCause])).toEqual([
      ['runOrchestrator.decided', undefined, 'r0:5'],
    ])
    expect(run.log.filter(({ payload }) => 'causationHostId' in payload)).toEqual(told)
    expect(told[0]?.payload).toMatchObject({ causationHostId: 'a.example' })
  })

  it('R-BUDGET-7: what it says to have cost counts up to its grant, and what it does not say is held', () => {
    const budget = { maxTokens: 100, maxToolCalls: 5 }
    const run = atPeer(MAPPED, { budget })
    expect(run.owed).toMatchObject([{ kind: 'start-peer', grant: budget }])
    begins(run, RUN)
    const claimed = { tokens: 5_000 }
    run.when({
      type: 'ChildEnded',
      nodeId: 'dispatch',
      childRunId: RUN,
      status: 'completed',
      variables: {},
      hidden: [],
      claimed,
    })
    expect(run.state).toMatchObject({ spend: { tokens: 100, toolCalls: 0 }, held: { toolCalls: 5, tokens: 0 } })
  })

  it('R-MAP-10: names inputs that hold a secret, for whoever must not send them', () => {
    const variables = [{ name: 'got', type: 'string', sensitive: true }]
    const run = given(scripted([next(WORK), terminate], { dispatch: MAPPED, variables } as never)).start({
      got: 'hush-hush',
    })
    expect(run.owed).toMatchObject([{ kind: 'start-peer', hiddenInputs: ['y'] }])
  })
})

describe('P4 P5: a peer that is not heard', () => {
  it('is silent once and heard once, however often it is tried', () => {
    const run = begins(atPeer(), RUN)
    silent(silent(run))
    heard(heard(run))
    expect(run.told(8)).toEqual(['assay.peer.silent dispatch', 'assay.peer.heard dispatch'])
    expect(payloads(run, 'assay.peer.silent')).toEqual([
      { nodeId: 'dispatch', workerId: WORK, peer: 'beta', childRunId: RUN, reason: 'unreachable' },
    ])
  })

  it('is heard before anything else is told of it', () => {
    const run = silent(atPeer())
    begins(run, RUN)
    silent(run)
    ends(run, RUN, { x: 1 })
    expect(run.told(6).slice(0, 6)).toEqual([
      'assay.peer.silent dispatch',
      'assay.peer.heard dispatch',
      'node.dispatched dispatch',
      'core.workflowChain.event dispatch',
      'assay.peer.silent dispatch',
      'assay.peer.heard dispatch',
    ])
  })

  it.each(['dispatching', 'running'])('R-LOOP-8: is given up while %s, and the supervisor has its turn', state => {
    const run = atPeer()
    if (state === 'running') begins(run, RUN)
    silent(run)
    run.now += LOST_AFTER - 1
    silent(run)
    expect(payloads(run, 'assay.peer.lost')).toEqual([])
    run.now += 1
    silent(run)
    expect(payloads(run, 'assay.peer.lost')).toHaveLength(1)
    expect(payloads(run, 'node.completed')[1]).toMatchObject({
      outputs: { workers: [{ workerId: WORK, status: 'failed', error: 'peer_lost' }] },
    })
    expect(
      run.log.filter(
        ({ type, payload }) =>
          type.startsWith('core.') && 'phase' in payload && String(payload.phase).startsWith('child.'),
      ),
    ).toEqual([])
    expect(run.state).toMatchObject({ phase: 'ended', outcome: { status: 'completed' }, variables: { got: 7 } })
  })

  it('P6: what it brings later is nobody’s, and its run is let go of while this one lasts', () => {
    const run = begins(given(scripted([next(WORK), next('w'), terminate], { dispatch: MAPPED })).start({ got: 7 }), RUN)
    lose(run)
    const lost = run.sequence('assay.peer.lost')
    expect(run.owed).toMatchObject([{ kind: 'start-child' }, { kind: 'cancel-peer', childRunId: RUN, lost }])
    ends(run, RUN, { x: 1 })
    expect(run.state).toMatchObject({ variables: { got: 7 } })
    run.when({ type: 'PeerLetGo', nodeId: 'dispatch', lost })
    expect(kinds(run)).toEqual(['start-child'])
    expect(payloads(run, 'assay.peer.released')).toEqual([
      { nodeId: 'dispatch', workerId: WORK, peer: 'beta', childRunId: RUN },
    ])
    run.when({ type: 'PeerLetGo', nodeId: 'dispatch', lost })
    expect(payloads(run, 'assay.peer.released')).toHaveLength(1)
  })

  it('R-BUDGET-7: all that it was granted is held', () => {
    const run = begins(atPeer(MAPPED, { budget: { maxTokens: 100 } }), RUN)
    lose(run)
    expect(run.state).toMatchObject({ held: { tokens: 100 } })
  })

  it('I2: is told to be lost in its turn, where all work at once', () => {
    const dispatch = { fanOutPolicy: 'parallel', outputMapping: { got: 'x' } }
    const run = given(scripted([next('w', WORK), terminate], { dispatch })).start({ got: 7 })
    begins(run, 'child-0')
    begins(run, RUN, { worker: 1 })
    lose(run)
    expect(payloads(run, 'assay.peer.lost')).toEqual([])
    ends(run, 'child-0', { x: 1 })
    silent(run)
    expect(payloads(run, 'assay.peer.lost')).toHaveLength(1)
  })
})

describe('a run that stops', () => {
  const CANCEL = { type: 'CancelRun', by: 'ann' } as const

  it('waits for its peer, tells it, and ends with it', () => {
    const run = begins(atPeer(), RUN).when(CANCEL)
    expect(run.owed).toMatchObject([
      { kind: 'cancel-peer', childRunId: RUN },
      { kind: 'watch-peer', childRunId: RUN },
    ])
    ends(run, RUN, {}, { status: 'cancelled' })
    expect(run.state).toMatchObject({ phase: 'ended', outcome: { status: 'cancelled' } })
    expect(payloads(run, 'child.cancelled')).toHaveLength(1)
  })

  it('P5: is not held by one that is dead', () => {
    const run = begins(atPeer(), RUN).when(CANCEL)
    lose(run)
    expect(run.state).toMatchObject({ phase: 'ended', outcome: { status: 'cancelled' } })
  })

  it('P2: finds out about one that it was asking: nobody can say that it has not begun', () => {
    const run = atPeer().when(CANCEL)
    expect(run.owed).toMatchObject([{ kind: 'start-peer', stopping: true }])
    begins(run, RUN)
    expect(kinds(run)).toEqual(['cancel-peer', 'watch-peer'])
    const other = refuses(atPeer().when(CANCEL), 'peer_not_asked')
    expect(other.state).toMatchObject({ phase: 'ended', outcome: { status: 'cancelled' } })
    expect(payloads(other, 'dispatch.failed')).toHaveLength(1)
  })

  it('leaves it alone where the node says so', () => {
    const run = begins(atPeer({ ...MAPPED, propagateCancellation: false }), RUN).when(CANCEL)
    expect(run.state.phase).toBe('ended')
  })
})

it('R-HANDOFF-11: workers of this host have nothing of it in their state', () => {
  const run = given(scripted([next('w'), terminate], { dispatch: MAPPED })).start({ got: 7 })
  const state = run.state as unknown as { nodes: { workers?: WorkerState[] }[] }
  expect(state.nodes.flatMap(({ workers = [] }) => workers)).toEqual([
    { is: 'dispatching', began: 5, inputs: { y: 7 }, unset: [] },
  ])
})
