import type { Json } from '../json.js'
import { present } from '../present.js'
import type { DecisionContext } from '../run/decision-context.js'
import { nodeAt } from '../run/state.js'
import type { ToolGate } from '../run/waiting.js'
import { blockingGatesAt, gatesAt, judgedHash } from '../verification/attempt.js'
import type { Gate } from '../verification/gate.js'
import type { PlanNode } from '../workflow/plan.js'
import type { ResultHeld } from './state.js'

/**
 * Gates between a tool and the agent that called it (contract agents §11.2): what the tool has brought is judged after
 * its `agent.toolReturned`, and the agent is given it when every gate is done with exactly that result. What does not
 * pass, the agent is told of as a tool's error; the invocation stays open, and the agent says what it does without it.
 */

/** Whether any gate stands before what this tool brings here, and which of those block. */
export function gatesBefore({ active }: DecisionContext, { node }: PlanNode, toolId: string) {
  const place = { point: 'tool' as const, toolId }
  return {
    isGated: gatesAt(active, node.id, place).length > 0,
    blocking: blockingGatesAt(active, node.id, place),
  }
}

export function stageResult(
  context: DecisionContext,
  { node: { id: nodeId } }: PlanNode,
  callId: string,
  result: Json,
  returned: number,
): void {
  context.emit({
    type: 'assay.result.staged',
    nodeId,
    payload: { nodeId, point: 'tool', targetRef: callId },
    secret: { result, subject: returned },
    cause: returned,
  })
}

/** Every gate has let it pass, or does not block. */
export function deliverResult(context: DecisionContext, { node: { id: nodeId } }: PlanNode, node: ToolGate): void {
  const { callId, toolId, position } = heldIn(node)
  const resultHash = judgedHash(context.active, nodeId, { point: 'tool', toolId, callId })
  context.emit({
    type: 'assay.tool.delivered',
    nodeId,
    payload: { callId, toolId },
    secret: { position, ...(resultHash === undefined ? {} : { resultHash }) },
    cause: context.active.next - 1,
  })
}

/** What is before the gates of a tool is always the result of a call. */
const heldIn = ({ invocation: { now } }: ToolGate): ResultHeld =>
  present(now.is === 'judging' ? now : undefined, 'call whose result is before the gates of a tool')

/** R-VERIFY-11: nothing is made of it. The agent is told which gate it was, and by which of its keys. */
export function withholdResult(
  context: DecisionContext,
  { node: { id: nodeId }, index }: PlanNode,
  { gate_id: gateId, evaluation_criteria }: Gate,
  attempt: number,
  failed: readonly string[],
  cause: number,
): void {
  const node = nodeAt(context.active, index)
  if (node.is !== 'waiting' || node.on !== 'gate' || node.point !== 'tool') return
  const { callId, toolId, position } = heldIn(node)
  context.emit({
    type: 'assay.tool.withheld',
    nodeId,
    payload: {
      callId,
      toolId,
      gateId,
      attempt,
      criteriaFailed: failed.length,
      criteria: evaluation_criteria.length,
    },
    secret: { position, gateId, failed },
    cause,
  })
}
