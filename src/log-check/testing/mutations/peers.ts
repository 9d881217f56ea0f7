import {
  all,
  changed,
  type DraftEvent,
  insert,
  lost,
  type Mutation,
  mutation,
  ofType,
  repeat,
  runMutation,
  type Spot,
  setsField,
  uncaused,
} from '../draft.js'
import { toldPhase } from './handoffs.js'

const isForeign = ({ event }: Spot): boolean => event.payload.causationHostId !== undefined
const ofPeer = ({ event }: Spot): boolean =>
  String(event.payload.workerId ?? event.payload.childWorkflowId).startsWith('peer:')
const isOverPeers = ({ event }: Spot): boolean =>
  event.type === 'agent.verified' && String(event.payload.target).startsWith('peer:')
const RECEIPT = 'assay.peer.receipt'
const isEvidence = ({ event }: Spot): boolean => event.payload.evidence === true
const began = (run: Spot['run']): DraftEvent | undefined =>
  run.events.find(({ payload }) => payload.phase === 'dispatch.began')
const silence = ['assay.peer.silent', 'assay.peer.heard', 'assay.peer.lost'] as const

export const PEER_MUTATIONS: readonly Mutation[] = [
  changed('L3c', 'a run that does not say what has started it', all(isForeign, toldPhase()), event => {
    delete event.payload.causationHostId
  }),
  setsField(
    'L3c',
    'a run that another host has started than it says',
    all(isForeign, toldPhase()),
    'causationHostId',
    'x',
  ),
  changed('L3c', 'a run that is due to another event than it says', all(isForeign, toldPhase()), event => {
    event.causationId = 'r0:6'
  }),
  mutation('L3c', 'a run that says twice what has started it', all(isForeign, toldPhase()), ({ run, event }) => {
    const other = run.events.find(one => one.payload.phase === 'dispatch.succeeded')
    if (other) Object.assign(other.payload, { causationHostId: event.payload.causationHostId })
  }),
  changed('L3c', 'a verdict over a peer’s result that is not due to it', all(isForeign, isOverPeers), event => {
    delete event.payload.causationHostId
  }),
  changed('L3c', 'such a verdict that is due to an event here', all(isForeign, isOverPeers), event => {
    event.causationId = String(event.eventId).replace(/:\d+$/, ':1')
  }),
  changed(
    'L3c',
    'a verdict that is the first to tell of another host, and does not',
    all(isForeign, ofType('agent.verified'), spot => !isOverPeers(spot)),
    event => {
      delete event.payload.causationHostId
    },
  ),
  changed('L24a', 'a verdict that is due to an earlier event there', all(isForeign, isOverPeers), event => {
    event.causationId = String(event.causationId).replace(/:\d+$/, ':1')
  }),
  setsField('L24a', 'a verdict that is due to another host', all(isForeign, isOverPeers), 'causationHostId', 'x'),
  setsField('L24', 'a verdict over what no peer has brought', all(isForeign, isOverPeers), 'target', 'peer:beta/other'),
  setsField(
    'L3c',
    'a cause elsewhere of which nothing here comes',
    all(toldPhase('dispatch.succeeded'), ofPeer),
    'causationHostId',
    'x',
  ),

  setsField(
    'L21w',
    'a peer’s worker with a run of this host',
    all(toldPhase('dispatch.succeeded'), ofPeer),
    'childRunId',
    'run-1',
  ),
  setsField(
    'L21w',
    'a peer’s worker with a run of another peer',
    all(ofType('node.dispatched'), ofPeer),
    'childRunId',
    'peer:gamma/r1',
  ),
  setsField(
    'L21w',
    'a worker of this host with a run of a peer',
    all(ofType('node.dispatched'), spot => !ofPeer(spot)),
    'childRunId',
    'peer:beta/r1',
  ),
  setsField(
    'L21w',
    'a peer’s run with an id that is none',
    all(ofType('node.dispatched'), ofPeer),
    'childRunId',
    'peer:beta/r 1',
  ),

  ...silence.map(type => uncaused('L21x', `${type} that nothing causes`, ofType(type))),
  ...silence.map(type => setsField('L21x', `${type} of another worker`, ofType(type), 'workerId', 'peer:beta/other')),
  ...silence.map(type => setsField('L21x', `${type} of another peer`, ofType(type), 'peer', 'gamma')),
  ...silence.map(type => setsField('L21x', `${type} of another run`, ofType(type), 'childRunId', 'peer:beta/other')),
  lost('L21x', 'a peer that is heard, or lost, and was not silent', ofType('assay.peer.silent')),
  mutation('L21x', 'a peer that is silent twice', ofType('assay.peer.silent'), ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  lost('L21x', 'work that goes on in silence', ofType('assay.peer.heard')),
  mutation('L21x', 'work that goes on after it was lost', ofType('assay.peer.lost'), ({ run, event, at }) => {
    const { workerId, childRunId } = event.payload
    const payload = {
      phase: 'child.cancelled',
      workerId,
      parentRunId: run.runId,
      childRunId,
      error: { code: 'x', message: 'x' },
    }
    insert(run, at + 1, 'core.workflowChain.event', event.nodeId, payload).causationId = event.causationId
  }),
  changed('L21x', 'a peer that is lost because of an earlier step', ofType('assay.peer.lost'), event => {
    event.causationId = String(event.causationId).replace(/:\d+$/, ':5')
  }),
  mutation('L21x', 'a run that is let go of twice', ofType('assay.peer.released'), ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  uncaused('L21x', 'a run that is let go of, and was not lost', ofType('assay.peer.released')),
  setsField(
    'L21x',
    'another worker’s run that is let go of',
    ofType('assay.peer.released'),
    'workerId',
    'peer:beta/other',
  ),
  mutation('L21y', 'a receipt that is told twice', ofType(RECEIPT), ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  uncaused('L21y', 'a receipt of no result', ofType(RECEIPT)),
  setsField('L21y', 'a receipt of another run', ofType(RECEIPT), 'childRunId', 'peer:beta/other'),
  setsField('L21y', 'a receipt of another worker', ofType(RECEIPT), 'workerId', 'peer:beta/other'),
  setsField('L21y', 'a receipt of another peer', ofType(RECEIPT), 'peer', 'gamma'),
  changed('L21y', 'evidence of nothing', ofType(RECEIPT), ({ payload }) => {
    delete payload.why
    delete payload.keyId
    payload.evidence = true
  }),
  changed('L21y', 'no evidence, and nobody says why', ofType(RECEIPT), ({ payload }) => {
    payload.evidence = false
    delete payload.why
  }),
  changed('L21y', 'more that has passed than was judged', all(ofType(RECEIPT), isEvidence), ({ payload }) => {
    payload.passes = Number(payload.attempts) + 1
  }),
  runMutation(
    'L21p',
    'a node that completes with a peer at work',
    run => run.events.some(({ type }) => type === 'assay.peer.lost'),
    run => {
      const at = run.events.findIndex(({ type }) => type === 'assay.peer.lost')
      const event = run.events[at] as DraftEvent
      event.type = 'assay.peer.heard'
      delete event.payload.reason
      event.causationId = began(run)?.eventId ?? null
    },
  ),
]
