import type { JsonObject } from '../json.js'
import { complete } from './complete.js'
import { concludeWith } from './conclude.js'
import { settleNode } from './execute.js'
import type { Waiting } from './gating.js'
import type { PlanNode } from './plan.js'
import type { Turn } from './turn.js'

/** Every gate has let the result pass: it becomes what it was meant for. Workers' results are merged by their hand-off. */
export function commit(turn: Turn, planNode: PlanNode, { staged }: Waiting): void {
  if (!staged) return
  const { point, result, confidence, subject, edited } = staged
  if (point === 'node') return concludeWith(turn, planNode, result, confidence, subject, edited === true)
  if (point === 'run') return complete(turn, (result as { outputs: JsonObject }).outputs)
  settleTrial(turn, planNode)
}

/** A trial ends with its verdict, or with none. */
export function settleTrial(turn: Turn, planNode: PlanNode): void {
  const node = turn.active.nodes[planNode.index]!
  if (node.is !== 'waiting') return
  const judged = node.staged?.judged ?? { verdict: 'none' as const }
  settleNode(turn, planNode, node.wait, { kind: 'judged', ...judged }, turn.active.next - 1)
}
