import { failure } from '../problem.js'
import type { DecisionContext } from '../run/decision-context.js'
import { stop } from '../run/stop.js'
import { amountOf, type BudgetDimension, capOf, ceilingOf, type Spend, settingOf } from './budget.js'
import { spentBy } from './decide.js'

/** R-BUDGET-4: the next step would cross a ceiling, so it is not taken and the run ends. `wanted` includes the step. */
export function exhaust(
  context: DecisionContext,
  nodeId: string,
  dimension: BudgetDimension,
  wanted: Spend,
  cause: number,
): void {
  const limit = ceilingOf(dimension, context.active.budget ?? {})
  const consumed = amountOf(dimension, spentBy(context.active))
  const observed = amountOf(dimension, wanted)
  context.emit({ type: 'budget.exhausted', payload: { dimension, consumed, limit }, cause })
  const message = `the run may spend ${limit} (${dimension}), has spent ${consumed}, and its next step could bring that to ${observed}; raise configurable.budget.${settingOf(dimension)}`
  const details = { dimension, limit, consumed, observed }
  stop(context, {
    outcome: 'failed',
    error: failure('budget_exhausted', message, { retryable: false, details }),
    failedNodeId: nodeId,
    breach: { kind: capOf(dimension), limit, observed, nodeId },
  })
}
