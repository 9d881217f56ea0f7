import { isWaiting } from '../run/state.js'
import type { KnownEvent, KnownOf, PublicEvent } from './public-event.js'
import { type NodeStatus, type NodeView, nodeOf, type ViewDraft } from './run-view.js'

/** Nodes from their start to their end, what they ask, and which event says how they stand. */

export function foldNode(draft: ViewDraft, event: KnownEvent, told: PublicEvent): void {
  const { nodeId } = event
  if (nodeId === undefined) return
  const before = nodeOf(draft, nodeId)
  const after = changed(draft, before, event)
  if (after === undefined) return
  const latest = saysHowItStands(event) && !isAlreadySaid(before, event) ? told : before.latest
  const startedAt = after.startedAt ?? event.timestamp
  draft.nodes.set(nodeId, { ...after, startedAt, ...(latest && { latest }) })
}

/** That a node is suspended says no more than the question before it, unless it gives a reason. */
const isAlreadySaid = (before: NodeView, event: KnownEvent): boolean =>
  event.type === 'node.suspended' && event.payload.reason === undefined && before.latest !== undefined

const SAYS: ReadonlySet<string> = new Set<KnownEvent['type']>([
  'node.started',
  'node.dispatched',
  'node.resumed',
  'node.retried',
  'interrupt.requested',
  'node.suspended',
  'assay.interrupt.voted',
  'assay.interrupt.asked',
  'assay.child.status',
  'node.completed',
  'node.failed',
  'node.skipped',
  'node.cancelled',
])

const saysHowItStands = ({ type }: KnownEvent): boolean => SAYS.has(type)

/** Undefined for events that leave the node as it is. */
function changed(draft: ViewDraft, before: NodeView, event: KnownEvent): NodeView | undefined {
  switch (event.type) {
    case 'node.started':
      return started(before, event)
    case 'node.completed':
      return completed(draft, before, event)
    case 'node.failed': {
      const { code = '', message = '' } = event.payload.error ?? {}
      return settled(before, 'failed', event, { error: { code, message } })
    }
    case 'node.skipped':
      return settled(before, 'skipped', event)
    case 'node.cancelled':
      return settled(before, 'cancelled', event)
    case 'node.retried':
      return { ...bare(before), status: 'retrying', attempt: event.payload.attempt ?? 0 }
    case 'interrupt.requested':
      return asking(before, event)
    case 'assay.interrupt.voted': {
      const { voter = '', action = '' } = event.payload
      const { asked } = before
      return asked ? { ...before, asked: { ...asked, votes: [...asked.votes, { voter, action }] } } : before
    }
    case 'node.suspended':
      // It waits with what another node asks.
      return before.asked ? before : { ...before, isHalted: true }
    case 'interrupt.resolved':
    case 'node.resumed': {
      const { asked: _, isHalted: _isHalted, ...others } = before
      return others
    }
    case 'assay.child.status':
      return mirroring(before, event)
    default:
      return saysHowItStands(event) ? before : undefined
  }
}

/** What outlasts the attempt: how often and since when. */
const bare = ({ typeId, starts, startedAt, latest }: NodeView): Omit<NodeView, 'status' | 'attempt'> => ({
  ...(typeId !== undefined && { typeId }),
  starts,
  ...(startedAt !== undefined && { startedAt }),
  ...(latest && { latest }),
})

function started(before: NodeView, { payload, timestamp }: KnownOf<'node.started'>): NodeView {
  const { typeId, attempt = 0 } = payload
  return {
    ...bare(before),
    ...(typeId !== undefined && { typeId }),
    status: 'running',
    attempt,
    starts: before.starts + 1,
    startedAt: timestamp,
  }
}

const settled = (
  before: NodeView,
  status: NodeStatus,
  { sequence, timestamp }: KnownEvent,
  more: Partial<NodeView> = {},
): NodeView => ({
  ...bare(before),
  status,
  attempt: 0,
  settled: { sequence, at: timestamp },
  ...more,
})

function completed(draft: ViewDraft, before: NodeView, event: KnownOf<'node.completed'>): NodeView {
  const { outputs = {} } = event.payload
  if (beginsPass(before, outputs.continue, outputs.route)) draft.setBack = event.sequence
  const route = before.typeId === SUPERVISOR && outputs.route !== undefined ? { route: outputs.route } : {}
  return settled(before, 'completed', event, route)
}

const SUPERVISOR = 'core.orchestrator.supervisor'

/** A loop that goes round sets back the nodes of its body, and the events do not say which those are. */
function beginsPass({ typeId }: NodeView, goesOn: unknown, route: unknown): boolean {
  if (typeId === 'core.loop') return goesOn !== false
  return typeId === SUPERVISOR && route !== 'done' && route !== 'again'
}

function asking(before: NodeView, { payload, timestamp }: KnownOf<'interrupt.requested'>): NodeView {
  const { kind = 'custom', interruptId = '', key = '', data = {}, resumeSchema, timeoutMs } = payload
  const asked = {
    interruptId,
    kind,
    key,
    data,
    ...(resumeSchema && { resumeSchema }),
    ...(timeoutMs !== undefined && { timeoutMs }),
    requestedAt: timestamp,
    votes: [],
  }
  return { ...before, asked }
}

function mirroring(before: NodeView, { payload }: KnownOf<'assay.child.status'>): NodeView {
  const { childRunId = '', status = 'running' } = payload
  const { waiting = [], ...others } = before
  const rest = waiting.filter(child => child.childRunId !== childRunId)
  const after = isWaiting(status) ? [...rest, { childRunId, status }] : rest
  return after.length > 0 ? { ...others, waiting: after } : others
}
