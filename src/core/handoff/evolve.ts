import { failure } from '../problem.js'
import type { Recorded } from '../run/events.js'
import { isWaiting } from '../run/state.js'
import type { OnWorkers } from '../run/waiting.js'
import type { PlanNode } from '../workflow/plan.js'
import type { HandoffRecorded } from './events.js'
import { isToldFirst } from './mapping.js'
import { handedTo, type WorkerResult, type WorkerState } from './state.js'

export const PENDING: WorkerState = { is: 'pending' }

type Told = Extract<Recorded, { type: 'core.workflowChain.event' | 'assay.child.status' | 'interrupt.resolved' }>

/** Folds one event into what is known of a node's workers. */
export function evolveWorkers(
  planNode: PlanNode,
  workers: readonly WorkerState[],
  event: Told,
): readonly WorkerState[] {
  const at = workers.findIndex(worker => isMeant(worker, event))
  const before = workers[at]
  if (before === undefined) return workers
  const after =
    event.type === 'core.workflowChain.event'
      ? told(planNode, before, event)
      : event.type === 'assay.child.status'
        ? mirrored(before, event)
        : answered(planNode, before, event)
  return workers.map((worker, k) => (k === at ? after : worker))
}

/** Workers begin in their order; a transition names the one before it as its cause, and the child once there is one. */
function isMeant(worker: WorkerState, event: Told): boolean {
  if (event.type === 'interrupt.resolved') return worker.is === 'completed'
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

function told(
  planNode: PlanNode,
  before: WorkerState,
  { payload, secret, sequence }: Extract<Told, { type: 'core.workflowChain.event' }>,
): WorkerState {
  const { phase, childRunId = '' } = payload
  switch (phase) {
    case 'dispatch.began':
      return secret && 'inputs' in secret ? { is: 'dispatching', began: sequence, ...secret } : before
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
export const orphaned = (workers: readonly WorkerState[]): readonly WorkerState[] =>
  workers.map(worker => {
    if (worker.is !== 'running') return worker
    const { began, inputs, unset, grant, withheld } = worker
    const given = { ...(grant ? { grant } : {}), ...(withheld ? { withheld } : {}) }
    return { is: 'dispatching', began, inputs, unset, ...given }
  })

/** What has become of the workers that are done. */
export const resultsOf = (node: OnWorkers): WorkerResult[] =>
  node.workers.flatMap((worker, k) => {
    if (worker.is !== 'done') return []
    const { is: _, ...result } = worker
    return [{ workerId: handedTo(node, k), ...result }]
  })
