import { noteRead, writeEntry } from '../journal/decide.js'
import type { DecisionContext } from '../run/decision-context.js'
import { failAttempt, settleNode } from '../run/node-lifecycle.js'
import { carriesSecret, MASK, secretsOf } from '../run/redaction.js'
import { nodeAt } from '../run/state.js'
import type { PlanNode } from '../workflow/plan.js'
import type { OutcomeOf } from './lifecycle.js'
import { tellSystemCall } from './system-call.js'

/** What came of an effect, or of a check, that a node without an agent waits for. */
export function effectAnswered(
  context: DecisionContext,
  planNode: PlanNode,
  { answer, since }: OutcomeOf<'EffectAnswered'>,
): void {
  const node = nodeAt(context.active, planNode.index)
  if (node.is !== 'waiting' || node.on !== 'host') return
  if (answer.call) tellSystemCall(context, planNode, answer.call, since)
  for (const message of answer.said ?? []) tellLine(context, planNode, message, since)
  if (!answer.ok) return failAttempt(context, planNode, answer.error, since)
  for (const read of answer.read ?? []) noteRead(context, planNode, read, since)
  for (const entry of answer.entries ?? []) {
    const problem = writeEntry(context, planNode, entry, since)
    if (problem) return failAttempt(context, planNode, problem, since)
  }
  settleNode(context, planNode, node.wait, { kind: 'answer', output: answer.output }, since)
}

/** What a step says of how far it is. */
function tellLine(context: DecisionContext, { node: { id: nodeId } }: PlanNode, message: string, cause: number): void {
  const secrets = secretsOf(context.active)
  const shown = carriesSecret(message, secrets) ? MASK : message
  context.emit({ type: 'log.appended', nodeId, payload: { level: 'info', message: shown, nodeId }, cause })
}
