import { absent } from '../present.js'
import type { HandoffSecret, HandoffRecorded } from '../run/events.js'
import type { PlanNode } from '../workflow/plan.js'
import type { NodeState } from '../run/state.js'
import type { DecisionContext } from '../run/decision-context.js'
import type { OnWorkers } from '../run/waiting.js'

/** The node, while it hands work over. */
export const handoffOf = (node: NodeState | undefined): OnWorkers | undefined =>
  node?.is === 'waiting' && node.on === 'workers' ? node : undefined

/** Whom the node's k-th piece of work is handed to. */
export const handedTo = ({ wait }: Pick<OnWorkers, 'wait'>, worker: number): string =>
  wait.workers[worker] ?? absent(`worker ${worker} of the hand-off`)

/** R-ORCH-16: everything that is not a transition of its own is due to the decision. */
export const dueTo = ({ wait, since }: OnWorkers): number => wait.decided ?? since

/** R-HANDOFF-2, R-HANDOFF-3 */
export function recordHandoff(
  context: DecisionContext,
  { node: { id } }: PlanNode,
  told: Omit<HandoffRecorded, 'parentRunId'>,
  cause: number,
  secret?: HandoffSecret,
): number {
  const { phase, workerId, ...more } = told
  return context.emit({
    type: 'core.workflowChain.event',
    nodeId: id,
    payload: { phase, workerId, parentRunId: context.runId, ...more },
    cause,
    ...(secret ? { secret } : {}),
  })
}
