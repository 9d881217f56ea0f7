import { isObject } from '../json.js'
import type { KnownEvent, KnownOf } from './public-event.js'
import { type NodeView, nodeOf, type ViewDraft, type WorkerView } from './run-view.js'

/** Work that a node hands over: what has become of each worker. */

export function foldWorkers(draft: ViewDraft, event: KnownEvent): void {
  const { nodeId } = event
  if (nodeId === undefined) return
  const before = nodeOf(draft, nodeId)
  const after = changed(draft, before, event)
  if (after !== undefined && after !== before) draft.nodes.set(nodeId, after)
}

function changed(draft: ViewDraft, before: NodeView, event: KnownEvent): NodeView | undefined {
  switch (event.type) {
    case 'core.workflowChain.event':
      return event.payload.phase === 'dispatch.began' ? begun(draft, before, event) : stepped(before, event)
    case 'assay.peer.lost': {
      const { childRunId } = event.payload
      if (childRunId !== undefined) return ended(before, childRunId, 'failed')
      return withWorker(before, isBegun(event.causationId), worker => ({ ...worker, status: 'failed' }))
    }
    case 'interrupt.resolved':
      return event.payload.outcome === 'rejected' ? rejected(before) : undefined
    case 'assay.result.withheld':
      return withWorker(before, isRun(event.payload.targetRef), worker => ({ ...worker, status: 'failed' }))
    case 'assay.rework.began': {
      const { gating } = before
      if (gating?.point !== 'harvest') return undefined
      return withWorker(before, isRun(gating.target), ({ workerId }) => ({ workerId, status: 'pending' }))
    }
    default:
      return undefined
  }
}

const isRun =
  (childRunId: string | undefined) =>
  (worker: WorkerView): boolean =>
    childRunId !== undefined && worker.childRunId === childRunId

function begun(
  { loop }: ViewDraft,
  before: NodeView,
  { payload, eventId }: KnownOf<'core.workflowChain.event'>,
): NodeView {
  const { workerId = '' } = payload
  const workers = before.workers ?? announced(before, loop?.decision?.nextWorkerIds, workerId)
  const at = workers.findIndex(worker => worker.status === 'pending' && worker.workerId === workerId)
  const worker: WorkerView = { workerId, status: 'dispatching', began: eventId }
  return { ...before, workers: at < 0 ? [...workers, worker] : workers.with(at, worker) }
}

/** A dispatch hands over what was decided, in that order; any other node has one worker. */
function announced({ typeId }: NodeView, decided: unknown, first: string): readonly WorkerView[] {
  const named = typeId === 'core.dispatch' && Array.isArray(decided) && decided.includes(first) ? decided : []
  return named.map(workerId => ({ workerId: String(workerId), status: 'pending' }))
}

function stepped(before: NodeView, event: KnownOf<'core.workflowChain.event'>): NodeView | undefined {
  const { causationId } = event
  const { phase, childRunId } = event.payload
  switch (phase) {
    case 'dispatch.succeeded':
      return withWorker(before, isBegun(causationId), worker => ({
        ...worker,
        status: 'running',
        ...(childRunId !== undefined && { childRunId }),
      }))
    case 'dispatch.failed':
      return withWorker(before, isBegun(causationId), worker => ({ ...worker, status: 'failed' }))
    case 'child.completed':
      return ended(before, childRunId, 'completed')
    case 'child.failed':
      return ended(before, childRunId, 'failed')
    case 'child.cancelled':
      return ended(before, childRunId, 'cancelled')
    default:
      return undefined
  }
}

const isBegun =
  (began: string | undefined) =>
  (worker: WorkerView): boolean =>
    worker.status === 'dispatching' && worker.began === began

function ended(before: NodeView, childRunId: string | undefined, status: WorkerView['status']): NodeView {
  const { waiting, ...others } = before
  const still = waiting?.filter(child => child.childRunId !== childRunId) ?? []
  const node: NodeView = still.length > 0 ? { ...others, waiting: still } : others
  return withWorker(
    node,
    worker => worker.status === 'running' && isRun(childRunId)(worker),
    worker => ({ ...worker, status }),
  )
}

/** A person did not accept what a worker brought back: it is that worker which has failed. */
function rejected(before: NodeView): NodeView | undefined {
  const { asked, gating } = before
  if (gating !== undefined || !isObject(asked?.data)) return undefined
  const { artifactType, artifactId } = asked.data
  if (artifactType !== 'sub-run-output') return undefined
  return withWorker(before, isRun(String(artifactId)), worker => ({ ...worker, status: 'failed' }))
}

function withWorker(
  node: NodeView,
  isMeant: (worker: WorkerView) => boolean,
  change: (worker: WorkerView) => WorkerView,
): NodeView {
  const { workers = [] } = node
  const at = workers.findIndex(isMeant)
  const worker = workers[at]
  return worker === undefined ? node : { ...node, workers: workers.with(at, change(worker)) }
}
