import { failure } from '../problem.js'
import type { DecisionContext } from '../run/decision-context.js'
import { failAttempt } from '../run/node-lifecycle.js'
import { stop } from '../run/stop.js'
import type { PlanNode } from '../workflow/plan.js'
import type { ReplayDivergedAtRefusal } from './events.js'

/** R-REPLAY-4, R-REPLAY-9: the replay ends here, whatever the workflow would do about a node that fails. */
export function divergeAtRefusal(context: DecisionContext, planNode: PlanNode, told: ReplayDivergedAtRefusal): void {
  const { nodeId, atSequence, originalEnvelopeKind, replayEnvelopeKind } = told
  const diverged = context.emit({ type: 'replay.divergedAtRefusal', nodeId, payload: told })
  const message =
    replayEnvelopeKind === 'refusal'
      ? 'the model answered then and would refuse now; nothing after it is told'
      : 'the model refused then and would answer now; nothing after it is told'
  const details = { atSequence, nodeId, originalEnvelopeKind, replayEnvelopeKind }
  const error = failure('replay_diverged_at_refusal', message, { retryable: false, details })
  failAttempt(context, planNode, error, diverged)
  if (context.isRunning) stop(context, { outcome: 'failed', error, failedNodeId: nodeId })
}
