import { ask } from '../interrupt/ask.js'
import { failure } from '../problem.js'
import type { DecisionContext } from '../run/decision-context.js'
import type { Active, RunBase } from '../run/state.js'
import { stop } from '../run/stop.js'
import type { PlanNode } from '../workflow/plan.js'
import {
  amountOf,
  type BudgetDimension,
  type Ceilings,
  capOf,
  ceilingOf,
  isWithin,
  leastOf,
  lessBy,
  policyOf,
  type Spend,
  settingOf,
} from './budget.js'
import { heldBy, spentBy } from './decide.js'
import type { Halted, StoppedStep } from './state.js'

/** What a step would have come to, in the units in which it is told. */
export type Shortage = {
  readonly dimension: BudgetDimension
  readonly limit: number
  readonly consumed: number
  readonly held: number
  readonly observed: number
}

/**
 * R-BUDGET-4: the next step would cross a ceiling, so it is not taken. The run ends, or, where it says so and a person
 * may let it spend more, asks. `wanted` includes the step.
 */
export function exhaust(
  context: DecisionContext,
  planNode: PlanNode,
  step: StoppedStep,
  dimension: BudgetDimension,
  wanted: Spend,
  cause: number,
): void {
  const { active } = context
  const asks = mayAsk(active, dimension, wanted)
  const open = openRequest(active)
  // One question for all that wait: what this one needs is looked at when that is answered.
  if (asks && open) return suspend(context, planNode, open, step, cause)
  const limit = ceilingOf(dimension, active.budget ?? {})
  const consumed = amountOf(dimension, spentBy(active))
  const exhausted = context.emit({ type: 'budget.exhausted', payload: { dimension, consumed, limit }, cause })
  const held = amountOf(dimension, heldBy(active))
  const shortage = { dimension, limit, consumed, held, observed: amountOf(dimension, wanted) }
  if (asks) askForMore(context, planNode, step, shortage, exhausted)
  else endExhausted(context, planNode.node.id, shortage)
}

/** The run ends for its budget. */
export function endExhausted(context: DecisionContext, nodeId: string, shortage: Shortage): void {
  const { dimension, limit, consumed, held, observed } = shortage
  const unknown = held > 0 ? `, holds ${held} for what nobody knows the cost of` : ''
  const message = `the run may spend ${limit} (${dimension}), has spent ${consumed}${unknown}, and its next step could bring that to ${observed}; raise configurable.budget.${settingOf(dimension)}`
  const details = { dimension, limit, consumed, ...(held > 0 ? { held } : {}), observed }
  stop(context, {
    outcome: 'failed',
    error: failure('budget_exhausted', message, { retryable: false, details }),
    failedNodeId: nodeId,
    breach: { kind: capOf(dimension), limit, observed, nodeId },
  })
}

/** What no person can raise: what the run was granted, and what the host and its ancestors allow. */
export const fixedCeilings = ({ started }: Pick<RunBase, 'started'>): Ceilings =>
  leastOf([started.grant ?? {}, ...(started.policies ?? [])])

/** Whether a person is asked: the run wants it, and a yes could let it go on. */
export const mayAsk = (state: Active, dimension: BudgetDimension, wanted: Spend): boolean =>
  policyOf(state.started.configurable?.budget).onExhaustion === 'interrupt' &&
  isWithin(dimension, amountOf(dimension, wanted), ceilingOf(dimension, fixedCeilings(state)))

/** The question about the budget that nobody has answered yet; a run has one at most. */
export function openRequest({ open, nodes }: Active): NonNullable<Halted['asked']> | undefined {
  for (const index of open) {
    const node = nodes[index]
    if (node?.is === 'waiting' && node.halted?.asked) return node.halted.asked
  }
  return undefined
}

function suspend(
  context: DecisionContext,
  { node: { id: nodeId } }: PlanNode,
  { interruptId, kind, key }: NonNullable<Halted['asked']>,
  step: StoppedStep,
  cause: number,
): void {
  context.emit({
    type: 'node.suspended',
    nodeId,
    payload: { nodeId, interruptId, kind, key },
    secret: { step },
    cause,
  })
}

/** Says how much is the least that helps, and the most that may be added. */
function askForMore(
  context: DecisionContext,
  planNode: PlanNode,
  step: StoppedStep,
  shortage: Shortage,
  cause: number,
): void {
  const { dimension, limit, observed } = shortage
  const most = lessBy(dimension, ceilingOf(dimension, fixedCeilings(context.active)), limit)
  const data = {
    artifactId: 'budget',
    artifactType: 'budget',
    title: `This run has used up its budget (${dimension}). Let it spend more?`,
    ...shortage,
    setting: settingOf(dimension),
    leastDelta: lessBy(dimension, observed, limit),
    ...(Number.isFinite(most) ? { mostDelta: most } : {}),
    actions: ['accept', 'reject'],
  }
  ask(context, planNode, { kind: 'approval', data }, cause, step)
}
