import type { WorkerState } from '../handoff/state.js'
import { closeInvocation } from '../invocation/lifecycle.js'
import { isReplay } from '../replay/events.js'
import { planNodeAt } from '../workflow/plan.js'
import type { DecisionContext } from './decision-context.js'
import type { StopRequested } from './events.js'
import { nodeAt } from './state.js'
import { verifiersIn, workersOf } from './waiting.js'

/**
 * Ends the run, or begins to: whatever is open is cancelled; children that must not outlive the run are waited for
 * first. Nothing is scheduled any more.
 */
export function stop(context: DecisionContext, request: StopRequested): void {
  const reason = request.outcome === 'cancelled' ? (request.reason ?? 'run-cancelled') : 'run-failed'
  const held = context.active.open.some(index => holdsChild(context, index))
  if (held && context.active.mode.kind !== 'stopping') context.emit({ type: 'assay.stop.requested', payload: request })
  for (const index of context.active.open) {
    if (holdsChild(context, index)) continue
    const planNode = planNodeAt(context.plan, index)
    const nodeId = planNode.node.id
    closeInvocation(context, planNode, 'failed')
    context.emit({ type: 'node.cancelled', nodeId, payload: { nodeId, reason } })
  }
  if (context.active.open.length === 0) end(context, request)
}

/** A child of a stopping run has ended; its node goes with the last of them. */
export function childStopped(context: DecisionContext, index: number, request: StopRequested): void {
  if (holdsChild(context, index)) return
  cancelStopped(context, index, request)
}

export function cancelStopped(context: DecisionContext, index: number, request: StopRequested): void {
  const planNode = planNodeAt(context.plan, index)
  const nodeId = planNode.node.id
  // R-LIVE-16: an agent whose result was before a gate is still at work.
  closeInvocation(context, planNode, 'failed')
  context.emit({ type: 'node.cancelled', nodeId, payload: { nodeId, reason: 'child-ended' } })
  if (context.active.open.length === 0) end(context, request)
}

function end(context: DecisionContext, request: StopRequested): void {
  if (request.outcome === 'cancelled') {
    const { outcome: _outcome, ...payload } = request
    context.emit({ type: 'run.cancelled', payload })
    return
  }
  const { error, failedNodeId, breach } = request
  // The breach directly precedes the failure it explains (core §10).
  const cause =
    breach &&
    context.emit({ type: 'cap.breached', payload: breach, ...(breach.nodeId ? { nodeId: breach.nodeId } : {}) })
  context.emit({
    type: 'run.failed',
    payload: { error, ...(failedNodeId === undefined ? {} : { failedNodeId }) },
    ...(cause === undefined ? {} : { cause }),
  })
}

/** A replay has no children of its own; while it retells, it waits for them as its source did. */
function holdsChild(context: DecisionContext, index: number): boolean {
  const node = nodeAt(context.active, index)
  if (isReplay(context.active) && !context.isRetelling) return false
  const isRunning = (child: { readonly is: string }) => child.is === 'running'
  // A peer that is being asked may have begun already.
  const mayRun = (child: WorkerState) => isRunning(child) || (child.is === 'dispatching' && child.beganAt !== undefined)
  // Whether workers may go on is the node's to say; verifiers have nothing left to judge.
  const { propagateCancellation } = planNodeAt(context.plan, index).node.config
  return verifiersIn(node).some(isRunning) || (propagateCancellation !== false && workersOf(node).some(mayRun))
}
