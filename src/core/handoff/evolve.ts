import { failure } from '../problem.js'
import type { Recorded } from '../run/events.js'
import { isWaiting } from '../run/state.js'
import type { OnWorkers } from '../run/waiting.js'
import type { PlanNode } from '../workflow/plan.js'
import type { HandoffRecorded } from './events.js'
import { isToldFirst } from './mapping.js'
import { type LostPeer, peerLost, peerWorkOf } from './peer-work.js'
import { handedTo, type WorkerResult, type WorkerState } from './state.js'

export const PENDING: WorkerState = { is: 'pending' }

type PeerEvent = Extract<Recorded, { type: 'assay.peer.silent' | 'assay.peer.heard' | 'assay.peer.lost' }>

type Told =
  | Extract<Recorded, { type: 'core.workflowChain.event' | 'assay.child.status' | 'interrupt.resolved' }>
  | PeerEvent

/** Folds one event into what is known of a node's workers. */
export function evolveWorkers(
  planNode: PlanNode,
  workers: readonly WorkerState[],
  event: Told,
): readonly WorkerState[] {
  const at = workers.findIndex(worker => isMeant(worker, event))
  const before = workers[at]
  if (before === undefined) return workers
  const after = changedBy(planNode, before, event)
  return workers.map((worker, k) => (k === at ? after : worker))
}

function changedBy(planNode: PlanNode, before: WorkerState, event: Told): WorkerState {
  switch (event.type) {
    case 'core.workflowChain.event':
      return told(planNode, before, event)
    case 'assay.child.status':
      return mirrored(before, event)
    case 'interrupt.resolved':
      return answered(planNode, before, event)
    default:
      return ofPeer(before, event)
  }
}

/** Workers begin in their order; a transition names the one before it as its cause, and the child once there is one. */
function isMeant(worker: WorkerState, event: Told): boolean {
  if (event.type === 'interrupt.resolved') return worker.is === 'completed'
  if (isPeerEvent(event)) {
    if (worker.is === 'running') return worker.succeeded === event.cause
    return worker.is === 'dispatching' && worker.began === event.cause
  }
  const { childRunId } = event.payload
  if (event.type === 'assay.child.status') return worker.is === 'running' && worker.childRunId === childRunId
  switch (event.payload.phase) {
    case 'dispatch.began':
      return worker.is === 'pending'
    case 'dispatch.succeeded':
    case 'dispatch.failed':
      return worker.is === 'dispatching' && worker.began === event.cause
    case 'output.harvested':
      return worker.is === 'completed' && worker.childRunId === childRunId
    default:
      return worker.is === 'running' && worker.childRunId === childRunId
  }
}

const isPeerEvent = (event: Told): event is PeerEvent => event.type.startsWith('assay.peer.')

function told(
  planNode: PlanNode,
  before: WorkerState,
  { payload, secret, sequence, at }: Extract<Told, { type: 'core.workflowChain.event' }>,
): WorkerState {
  const { phase, childRunId = '' } = payload
  switch (phase) {
    case 'dispatch.began':
      if (!secret || !('inputs' in secret)) return before
      return { is: 'dispatching', began: sequence, ...secret, ...(peerWorkOf(payload.workerId) ? { beganAt: at } : {}) }
    case 'dispatch.succeeded':
      return before.is === 'dispatching' ? { ...before, is: 'running', succeeded: sequence, childRunId } : before
    case 'child.completed':
      // Without a mapping there is nothing to merge.
      if (!secret || !('outputs' in secret))
        return {
          is: 'done',
          status: 'completed',
          childRunId,
          ...(secret && 'goalSatisfied' in secret ? gaveUp(secret) : {}),
        }
      return {
        is: 'completed',
        ended: sequence,
        childRunId,
        ...gaveUp(secret),
        outputs: secret.outputs,
        hidden: secret.hidden,
        ...(secret.attestation ? { attestation: secret.attestation } : {}),
        ...(secret.agents ? { agents: secret.agents } : {}),
        ...(secret.foreign ? { foreign: secret.foreign } : {}),
      }
    case 'output.harvested':
      return before.is === 'completed' && !isToldFirst(planNode) ? merged(before) : before
    case 'dispatch.failed':
      return { is: 'done', status: 'failed', ...errorOf(payload) }
    case 'child.failed':
      return { is: 'done', status: 'failed', childRunId, ...errorOf(payload) }
    case 'child.cancelled':
      return { is: 'done', status: 'cancelled', childRunId, ...errorOf(payload) }
  }
}

function errorOf({ error }: Readonly<HandoffRecorded>): Pick<WorkerResult, 'error'> {
  if (error === undefined) return {}
  const { error: _, ...told } = error
  return { error: told }
}

const gaveUp = ({ goalSatisfied }: { readonly goalSatisfied?: false }): Pick<WorkerResult, 'goalSatisfied'> =>
  goalSatisfied === false ? { goalSatisfied } : {}

const merged = ({ childRunId, attestation, ...ended }: Extract<WorkerState, { is: 'completed' }>): WorkerState => ({
  is: 'done',
  status: 'completed',
  childRunId,
  ...gaveUp(ended),
  ...(attestation ? { attestation } : {}),
})

function mirrored(before: WorkerState, { payload }: Extract<Told, { type: 'assay.child.status' }>): WorkerState {
  if (before.is !== 'running') return before
  const { childStatus: _, ...others } = before
  return isWaiting(payload.status) ? { ...others, childStatus: payload.status } : others
}

function ofPeer(before: WorkerState, event: PeerEvent): WorkerState {
  if (before.is !== 'dispatching' && before.is !== 'running') return before
  switch (event.type) {
    case 'assay.peer.silent':
      return { ...before, silentAt: event.at }
    case 'assay.peer.heard': {
      const { silentAt: _, ...others } = before
      return others
    }
    case 'assay.peer.lost': {
      const { peer, reason, childRunId } = event.payload
      return { is: 'done', status: 'failed', ...(childRunId ? { childRunId } : {}), error: peerLost(peer, reason) }
    }
  }
}

/** A hand-off to a peer was given up: its run there is not at rest yet. */
export function lostPeer(
  workers: readonly WorkerState[],
  { payload, nodeId, sequence, at }: Extract<PeerEvent, { type: 'assay.peer.lost' }>,
  cause: number | undefined,
): LostPeer | undefined {
  const worker = workers.find(
    one => (one.is === 'running' && one.succeeded === cause) || (one.is === 'dispatching' && one.began === cause),
  )
  const work = peerWorkOf(payload.workerId)
  if (!work || (worker?.is !== 'running' && worker?.is !== 'dispatching')) return undefined
  const known = worker.is === 'running' ? { childRunId: worker.childRunId } : {}
  return { nodeId, ...work, began: worker.began, lost: sequence, lostAt: at, ...known }
}

/** A person has said whether the results may be merged. */
function answered(
  planNode: PlanNode,
  before: WorkerState,
  { payload, nodeId }: Extract<Told, { type: 'interrupt.resolved' }>,
): WorkerState {
  if (before.is !== 'completed') return before
  if (payload.outcome !== 'rejected') return isToldFirst(planNode) ? merged(before) : before
  const message = `the results of ${before.childRunId} for node "${nodeId}" were not accepted by ${payload.resolvedBy}`
  const error = failure('merge_rejected', message, { retryable: false })
  return { is: 'done', status: 'failed', childRunId: before.childRunId, error }
}

/** Children belong to the run that started them: whoever branches off it starts its own. */
export const orphaned = (workers: readonly WorkerState[], at: number): readonly WorkerState[] =>
  workers.map(worker => {
    const isAtPeer = worker.is === 'dispatching' && worker.beganAt !== undefined
    if (worker.is !== 'running' && !isAtPeer) return worker
    const { began, inputs, unset, grant, withheld, beganAt } = worker
    const given = { ...(grant ? { grant } : {}), ...(withheld ? { withheld } : {}) }
    // A peer has not been asked in the name of this run.
    return { is: 'dispatching', began, inputs, unset, ...given, ...(beganAt === undefined ? {} : { beganAt: at }) }
  })

/** What has become of the workers that are done. */
export const resultsOf = (node: OnWorkers): WorkerResult[] =>
  node.workers.flatMap((worker, k) => {
    if (worker.is !== 'done') return []
    const { is: _, ...result } = worker
    return [{ workerId: handedTo(node, k), ...result }]
  })
