import { closeInvocation } from '../invocation/lifecycle.js'
import type { StopRequested } from './events.js'
import { planNodeAt } from '../workflow/plan.js'
import { nodeAt } from './state.js'
import type { DecisionContext } from './decision-context.js'
import { judgesIn, workersOf } from './waiting.js'

/**
 * Ends the run, or begins to: whatever is open is cancelled; children that must not outlive the run are waited for
 * first. Nothing is scheduled any more.
 */
export function stop(turn: DecisionContext, request: StopRequested): void {
  const reason = request.outcome === 'cancelled' ? (request.reason ?? 'run-cancelled') : 'run-failed'
  const held = turn.active.open.some(index => holdsChild(turn, index))
  if (held && turn.active.mode.kind !== 'stopping') turn.emit({ type: 'assay.stop.requested', payload: request })
  for (const index of turn.active.open) {
    if (holdsChild(turn, index)) continue
    const planNode = planNodeAt(turn.plan, index)
    const nodeId = planNode.node.id
    closeInvocation(turn, planNode, 'failed')
    turn.emit({ type: 'node.cancelled', nodeId, payload: { nodeId, reason } })
  }
  if (turn.active.open.length === 0) end(turn, request)
}

/** A child of a stopping run has ended; its node goes with the last of them. */
export function childStopped(turn: DecisionContext, index: number, request: StopRequested): void {
  if (holdsChild(turn, index)) return
  cancelStopped(turn, index, request)
}

export function cancelStopped(turn: DecisionContext, index: number, request: StopRequested): void {
  const planNode = planNodeAt(turn.plan, index)
  const nodeId = planNode.node.id
  // R-LIVE-16: an agent whose result was before a gate is still at work.
  closeInvocation(turn, planNode, 'failed')
  turn.emit({ type: 'node.cancelled', nodeId, payload: { nodeId, reason: 'child-ended' } })
  if (turn.active.open.length === 0) end(turn, request)
}

function end(turn: DecisionContext, request: StopRequested): void {
  if (request.outcome === 'cancelled') {
    const { outcome: _outcome, ...payload } = request
    turn.emit({ type: 'run.cancelled', payload })
    return
  }
  const { error, failedNodeId, breach } = request
  // The breach directly precedes the failure it explains (core §10).
  const cause =
    breach && turn.emit({ type: 'cap.breached', payload: breach, ...(breach.nodeId ? { nodeId: breach.nodeId } : {}) })
  turn.emit({
    type: 'run.failed',
    payload: { error, ...(failedNodeId === undefined ? {} : { failedNodeId }) },
    ...(cause === undefined ? {} : { cause }),
  })
}

/** A replay has no children of its own; while it retells, it waits for them as its source did. */
function holdsChild(turn: DecisionContext, index: number): boolean {
  const node = nodeAt(turn.active, index)
  if (turn.active.fork?.mode === 'replay' && !turn.isRetelling) return false
  const isRunning = (child: { readonly is: string }) => child.is === 'running'
  // Whether workers may go on is the node's to say; verifiers have nothing left to judge.
  const { propagateCancellation } = planNodeAt(turn.plan, index).node.config
  return judgesIn(node).some(isRunning) || (propagateCancellation !== false && workersOf(node).some(isRunning))
}
