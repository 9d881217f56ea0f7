import { usdOf } from '../budget/budget.js'
import { present } from '../present.js'
import type { DecisionContext } from '../run/decision-context.js'
import type { EffectOutcome } from '../run/input.js'
import { nodeAt } from '../run/state.js'
import { invocationOf, type OnAgent } from '../run/waiting.js'
import { type PlanNode, planNodeAt } from '../workflow/plan.js'
import type { InvocationOutcome } from './events.js'
import type { InvocationState, Thinking, Using } from './state.js'
import { toolError } from './tool-codes.js'

export type Closing = { readonly schemaValidated?: boolean; readonly confidence?: number }

/** R-LIVE-16: the last word about an invocation, however it ends. Returns its sequence; undefined when none is open. */
export function closeInvocation(
  context: DecisionContext,
  { node, index }: PlanNode,
  outcome: InvocationOutcome,
  cause?: number,
  closing: Closing = {},
): number | undefined {
  const invocation = invocationOf(nodeAt(context.active, index))
  if (invocation === undefined) return undefined
  if (invocation.now.is === 'thinking') loseCall(context, node.id, invocation, invocation.now)
  if (invocation.now.is === 'using') leaveTool(context, node.id, invocation, invocation.now)
  const { invocationId, brief, started } = invocation
  const payload = { invocationId, agentId: brief.agentId, outcome, ...closing }
  return context.emit({ type: 'agent.invocation.completed', nodeId: node.id, payload, cause: cause ?? started })
}

/** A call whose answer nobody will hear: it may have been billed, so what was set aside for it stays held, as no cost. */
export function loseCall(
  context: DecisionContext,
  nodeId: string,
  { invocationId, brief }: InvocationState,
  now: Thinking,
): number {
  const { call, attempt, tokens, costNano, requested } = now
  const held = { heldTokens: tokens, ...(brief.price ? { heldCostUsd: usdOf(costNano) } : {}) }
  const payload = { nodeId, invocationId, call, attempt, ...held }
  return context.emit({ type: 'assay.model.lost', nodeId, payload, cause: requested })
}

/** R-LIVE-7: a call that nobody waits for any more has its return too; what came of it is not known. */
function leaveTool(context: DecisionContext, nodeId: string, { brief, rounds }: InvocationState, now: Using): void {
  const { position, called, callId } = now
  const toolId = rounds.at(-1)?.wanted[position]?.toolId ?? ''
  const tool = { agentId: brief.agentId, toolName: toolId, toolId, callId }
  context.emit({
    type: 'agent.toolReturned',
    nodeId,
    payload: { ...tool, status: 'error', error: toolError('tool_outcome_unknown') },
    secret: { position, code: 'tool_outcome_unknown' },
    cause: called,
  })
}

/** Before an immediate pause: calls under way are cut, and made again when the run goes on. */
export function loseCalls(context: DecisionContext): void {
  for (const index of context.active.open) {
    const invocation = invocationOf(nodeAt(context.active, index))
    if (invocation?.now.is === 'thinking')
      loseCall(context, planNodeAt(context.plan, index).node.id, invocation, invocation.now)
  }
}

export type OutcomeOf<Type extends EffectOutcome['type']> = Extract<EffectOutcome, { type: Type }>

/** The node, while its agent is at work and has not come to a result. */
export function working(context: DecisionContext, { index }: PlanNode): OnAgent | undefined {
  const node = context.state.phase === 'active' ? nodeAt(context.state, index) : undefined
  return node?.is === 'waiting' && node.on === 'agent' ? node : undefined
}

/** The same, where nothing has happened since that could have ended the work. */
export const stillWorking = (context: DecisionContext, planNode: PlanNode): OnAgent =>
  present(working(context, planNode), `agent at work in node "${planNode.node.id}"`)

/** What led to where the agent is: the cause of what it does next. */
export const ledTo = ({ now, started }: InvocationState): number => (now.is === 'between' ? now.cause : started)
