import type { RunStatus } from '../run/events.js'
import { isWaiting, WAITING_STATUS } from '../run/state.js'
import { asKnown, type PublicEvent } from './public-event.js'
import { isAtWork, isSettled, type NodeView, type RunView } from './run-view.js'

/** How the run stands, in the words of the wire. */
export function statusOfView(view: RunView): RunStatus {
  switch (view.mode) {
    case 'absent':
      return 'pending'
    case 'stopping':
      return 'running'
    case 'running':
      return waitingStatus(view)
    default:
      return view.mode
  }
}

function waitingStatus(view: RunView): RunStatus {
  const { node } = waitingNode(view) ?? {}
  if (node === undefined) return 'running'
  return node.asked ? WAITING_STATUS[node.asked.kind] : (childStatus(node) ?? 'running')
}

type Placed = { readonly nodeId: string; readonly node: NodeView }

/** The node that waits for someone: its own question comes before one that a child asks. */
export function waitingNode({ nodes }: Pick<RunView, 'nodes'>): Placed | undefined {
  let mirrored: Placed | undefined
  for (const [nodeId, node] of nodes) {
    if (!isAtWork(node)) continue
    if (node.asked) return { nodeId, node }
    if (mirrored === undefined && childStatus(node) !== undefined) mirrored = { nodeId, node }
  }
  return mirrored
}

/** What a child of the node waits for, if one waits for someone; workers come in their order. */
function childStatus({ workers = [], waiting = [] }: NodeView): RunStatus | undefined {
  if (waiting.length < 2) return waiting[0]?.status
  const statusOf = (childRunId: string | undefined) => waiting.find(child => child.childRunId === childRunId)?.status
  for (const { childRunId } of workers) if (statusOf(childRunId) !== undefined) return statusOf(childRunId)
  return waiting[0]?.status
}

/** Whether the node, or a child of it, waits for someone. */
export const waitsForSomeone = ({ asked, isHalted, waiting }: NodeView): boolean =>
  asked !== undefined || isHalted === true || waiting !== undefined

/** A loop or rework may have set the node back since it settled, and it has not been started again. */
export const mayBeSetBack = ({ setBack }: Pick<RunView, 'setBack'>, node: NodeView): boolean =>
  isSettled(node) && node.settled !== undefined && node.settled.sequence < setBack

/** After this event the run may need someone; whether it does, the server knows. */
export function mayWait(event: PublicEvent): boolean {
  const known = asKnown(event)
  if (known.type === 'assay.child.status') return isWaiting(known.payload.status ?? 'running')
  return known.type === 'run.paused' || known.type === 'node.suspended'
}
