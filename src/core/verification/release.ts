import { concludeWith } from '../invocation/conclude.js'
import { deliverResult } from '../invocation/tool-gate.js'
import type { JsonObject } from '../json.js'
import { completeRun } from '../run/complete.js'
import type { DecisionContext } from '../run/decision-context.js'
import { settleNode } from '../run/node-lifecycle.js'
import { nodeAt } from '../run/state.js'
import type { OnGate } from '../run/waiting.js'
import type { PlanNode } from '../workflow/plan.js'

/** Every gate has let the result pass: it becomes what it was meant for. Workers' results are merged by their hand-off. */
export function releaseStagedResult(context: DecisionContext, planNode: PlanNode, node: OnGate): void {
  const { result, subject } = node.staged
  switch (node.point) {
    case 'node':
      return concludeWith(context, planNode, node, {
        result,
        confidence: node.confidence,
        cause: subject,
        edited: node.edited === true,
      })
    case 'tool':
      return deliverResult(context, planNode, node)
    case 'run':
      return completeRun(context, (result as { outputs: JsonObject }).outputs)
    case 'none':
      return settleTrial(context, planNode)
  }
}

/** A trial ends with its verdict, or with none. */
export function settleTrial(context: DecisionContext, planNode: PlanNode): void {
  const node = nodeAt(context.active, planNode.index)
  if (node.is !== 'waiting' || node.on !== 'gate' || node.point !== 'none') return
  const judged = node.judged ?? { verdict: 'none' as const }
  settleNode(context, planNode, node.wait, { kind: 'judged', ...judged }, context.active.next - 1)
}
