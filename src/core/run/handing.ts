import type { HandoffSecret, HandoffTold } from './event.js'
import type { PlanNode } from './plan.js'
import type { NodeState, WorkerState } from './state.js'
import type { Turn } from './turn.js'

/** A node that hands work over, and what is known of its workers. */
export type Handing = Extract<NodeState, { is: 'waiting' }> & {
  readonly wait: { readonly kind: 'handoff' }
  readonly workers: readonly WorkerState[]
}

/** The node, while it hands work over. */
export function handing(node: NodeState): Handing | undefined {
  return node.is === 'waiting' && node.wait.kind === 'handoff' && node.workers ? (node as Handing) : undefined
}

/** R-ORCH-16: everything that is not a transition of its own is due to the decision. */
export const dueTo = ({ wait, since }: Handing): number => wait.decided ?? since

/** R-HANDOFF-2, R-HANDOFF-3 */
export function tell(
  turn: Turn,
  { node: { id } }: PlanNode,
  told: Omit<HandoffTold, 'parentRunId'>,
  cause: number,
  secret?: HandoffSecret,
): number {
  const { phase, workerId, ...more } = told
  return turn.emit({
    type: 'core.workflowChain.event',
    nodeId: id,
    payload: { phase, workerId, parentRunId: turn.runId, ...more },
    cause,
    ...(secret ? { secret } : {}),
  })
}
