/**
 * What a run may spend: tokens, money, tool calls and retries (contract agents §18). Whatever is about to be spent is
 * set aside first, so that no ceiling is crossed: not by calls that are made at once, not by children, not across a
 * crash.
 *
 * | budget    | entered by                          | left by, to                                                     |
 * |-----------|-------------------------------------|-----------------------------------------------------------------|
 * | unbounded | run.started, where nothing is       | assay.run.forked with a budget: to bounded                      |
 * |           | bounded                             |                                                                 |
 * | bounded   | budget.reserved                     | a threshold is reached: budget.threshold.crossed, stays; once   |
 * |           |                                     | per dimension                                                   |
 * |           |                                     | a step would cross a ceiling: budget.exhausted, to exhausted    |
 * | exhausted | budget.exhausted                    | the run asks, and may be let spend more: interrupt.requested,   |
 * |           |                                     | node.suspended, to asking                                       |
 * |           |                                     | else: cap.breached, run.failed with `budget_exhausted`          |
 * |           |                                     | (`exhaust.ts`)                                                  |
 * | asking    | interrupt.requested                 | accepted: budget.reserved, node.resumed, to bounded             |
 * |           |                                     | (`raise.ts`)                                                    |
 * |           |                                     | refused: as exhausted; the rest of the run goes on meanwhile    |
 *
 * | amount             | set aside by          | becomes spent by                           | becomes held by             |
 * |--------------------|-----------------------|--------------------------------------------|-----------------------------|
 * | a model call       | assay.model.requested | provider.usage: what it took               | assay.model.lost: all of it |
 * | a worker's grant   | dispatch.began        | child.completed, .failed, .cancelled: what | the same: what it holds;    |
 * |                    |                       | it spent                                   | node.cancelled while it     |
 * |                    |                       |                                            | runs: all of it             |
 * | a verifier's grant | assay.verifier.began  | assay.verifier.ended: what it spent        | as a worker's               |
 * | a tool call        | -                     | agent.toolCalled                           | -                           |
 * | a retry            | -                     | node.retried, envelope.retry.attempted     | -                           |
 *
 *  I1  The ceiling of a dimension is the least of what the run was granted, what it asked for, and what the host and
 *      its ancestors allow. It is written down when the run starts; later settings change nothing, a branch may bring
 *      its own, and a person who is asked may add to what the run asked for, never to what others allow.
 *  I2  Spent, held and set aside together stay beneath each ceiling that holds at that time. A provider that bills more
 *      than was set aside is the one way over it, and nothing is made of its answer unless a person covers it.
 *  I3  Spending is read off events that are there for other reasons (`evolve.ts`): nothing is counted twice, and what
 *      an earlier attempt of a node has paid for is not counted again.
 *  I4  What is set aside is derived from the state, never stored: what is no longer under way is free by itself.
 *  I5  A step that only others' set-asides stand in the way of waits (`not-yet`); a retry is given up instead.
 *  I6  Money is counted in whole billionths of a dollar, so sums are exact; exactly at a ceiling is not over it.
 *  I7  What nobody knows the cost of is held: it counts against the ceilings, and is told as a cost nowhere. It is not
 *      let go again, for nobody will ever know.
 *  I8  A run asks one question about its budget at a time; every other step that a ceiling stops meanwhile waits with it
 *      (`halted`). An answer takes exactly the steps that were stopped; one that still does not fit asks anew.
 */

import type { DecisionContext, RunLimits } from '../run/decision-context.js'
import type { RunStarted } from '../run/events.js'
import type { Active, RunBase } from '../run/state.js'
import { invocationOf, verifiersIn, workersOf } from '../run/waiting.js'
import type { Plan } from '../workflow/plan.js'
import {
  amountOf,
  asSpend,
  BUDGET_DIMENSIONS,
  type BudgetDimension,
  type BudgetPolicy,
  type Ceilings,
  ceilingOf,
  isBounded,
  leastOf,
  NOTHING_SPENT,
  overspent,
  plus,
  policyOf,
  remaining,
  type Spend,
  shareOf,
} from './budget.js'

/** R-BUDGET-2: what the run was given, what it asked for, and what host and ancestors allow: the least of each. */
export const policies = ({ started }: Pick<RunBase, 'started'>): readonly BudgetPolicy[] => [
  started.grant ?? {},
  policyOf(started.configurable?.budget),
  ...(started.policies ?? []),
]

/** R-REPLAY-11: what the host allows is written down with the run, and later settings do not change it. */
export const withPolicies = (started: RunStarted, plan: Plan, limits: RunLimits): RunStarted =>
  canSpend(plan) && Object.keys(limits.budget).length > 0
    ? { ...started, policies: [...(started.policies ?? []), limits.budget] }
    : started

/** What holds for a child's spending besides its grant: the models that its parent may not call, it may not either. */
export const policiesForChild = (state: Pick<RunBase, 'started'>): readonly BudgetPolicy[] =>
  policies(state).flatMap(({ modelAllow, modelDeny }) =>
    modelAllow || modelDeny ? [{ ...(modelAllow ? { modelAllow } : {}), ...(modelDeny ? { modelDeny } : {}) }] : [],
  )

/** What the run may spend at most. */
export const ceilingsOf = (state: Pick<RunBase, 'started'>): Ceilings => leastOf(policies(state))

/** R-BUDGET-3: said once, at the start of a run that may not spend as much as it likes. */
export function tellBudget(context: DecisionContext): void {
  const effectiveBudget = ceilingsOf(context.active)
  if (!isBounded(effectiveBudget)) return
  context.emit({ type: 'budget.reserved', payload: { effectiveBudget, scope: 'run' }, cause: context.active.next - 1 })
}

const canSpend = ({ nodes }: Plan): boolean => nodes.some(({ type }) => type.hands || type.invokes)

export const spentBy = ({ spend = NOTHING_SPENT }: Pick<RunBase, 'spend'>): Spend => spend

export const heldBy = ({ held = NOTHING_SPENT }: Pick<RunBase, 'held'>): Spend => held

/** What counts against the ceilings for good: what is spent, and what nobody knows the cost of. */
export const committedBy = ({ spend = NOTHING_SPENT, held }: Pick<RunBase, 'spend' | 'held'>): Spend =>
  held ? plus(spend, held) : spend

/** What calls under way may still cost, and what workers under way may still spend. */
export function setAside({ open, nodes }: Active): Spend {
  let sum = NOTHING_SPENT
  for (const index of open) {
    const node = nodes[index]
    const now = invocationOf(node)?.now
    if (now?.is === 'thinking') sum = plus(sum, { ...now, retries: 0, toolCalls: 0 })
    for (const worker of workersOf(node))
      if ((worker.is === 'dispatching' || worker.is === 'running') && worker.grant)
        sum = plus(sum, asSpend(worker.grant))
    for (const judge of verifiersIn(node))
      if ((judge.is === 'starting' || judge.is === 'running') && judge.grant) sum = plus(sum, asSpend(judge.grant))
  }
  return sum
}

/** What nobody has spent, holds or has set aside. */
export const leftOf = (state: Active): Ceilings =>
  remaining(state.budget ?? {}, plus(committedBy(state), setAside(state)))

/** What a worker may spend: an equal share of what is left, of all that are to begin. Nothing where nothing is bounded. */
export function grantFor(state: Active, beginners: number): Ceilings | undefined {
  return state.budget && isBounded(state.budget) ? shareOf(leftOf(state), beginners) : undefined
}

/** Whether a step fits beneath the ceilings: not yet, while others hold what it needs, or not at all. */
export function roomFor(state: Active, more: Partial<Spend>): 'yes' | 'not-yet' | BudgetDimension {
  const budget = state.budget ?? {}
  const spend = plus(committedBy(state), more)
  const over = overspent(spend, budget)
  if (over !== undefined) return over
  return overspent(plus(spend, setAside(state)), budget) === undefined ? 'yes' : 'not-yet'
}

/** Tells what has changed in each bounded dimension since `before`, and what that warns of. */
export function tellSpend(context: DecisionContext, before: Spend, cause: number): void {
  const { budget } = context.active
  if (budget === undefined) return
  const spend = spentBy(context.active)
  for (const dimension of BUDGET_DIMENSIONS) {
    const limit = ceilingOf(dimension, budget)
    const consumed = amountOf(dimension, spend)
    if (!Number.isFinite(limit) || consumed === amountOf(dimension, before)) continue
    const left = amountOf(dimension, asSpend(remaining(budget, committedBy(context.active))))
    context.emit({ type: 'budget.consumed', payload: { dimension, consumed, limit, remaining: left }, cause })
    warn(context, dimension, consumed, limit, cause)
  }
}

function warn(
  context: DecisionContext,
  dimension: BudgetDimension,
  consumed: number,
  limit: number,
  cause: number,
): void {
  const percents = policies(context.active).flatMap(({ thresholdPercent }) => thresholdPercent ?? [])
  const percent = Math.min(...percents)
  if (!Number.isFinite(percent) || context.active.warned.includes(dimension) || consumed * 100 < limit * percent) return
  context.emit({ type: 'budget.threshold.crossed', payload: { dimension, consumed, limit, percent }, cause })
}
