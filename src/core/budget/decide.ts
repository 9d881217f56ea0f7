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
  ceilingOf,
  type Ceilings,
  isBounded,
  leastOf,
  NOTHING_SPENT,
  overspent,
  plus,
  policyOf,
  remaining,
  shareOf,
  type Spend,
} from './budget.js'

/**
 * Money, tokens, tool calls and retries of a run (contract agents §18). Whatever is about to be spent is set aside
 * first, so a ceiling is never crossed: not by calls that are made at once, not by children, not across a crash.
 */

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

/** What nobody has spent or set aside. */
export const leftOf = (state: Active): Ceilings => remaining(state.budget ?? {}, plus(spentBy(state), setAside(state)))

/** What a worker may spend: an equal share of what is left, of all that are to begin. Nothing where nothing is bounded. */
export function grantFor(state: Active, beginners: number): Ceilings | undefined {
  return state.budget && isBounded(state.budget) ? shareOf(leftOf(state), beginners) : undefined
}

/** Whether a step fits beneath the ceilings: not yet, while others hold what it needs, or not at all. */
export function roomFor(state: Active, more: Partial<Spend>): 'yes' | 'not-yet' | BudgetDimension {
  const budget = state.budget ?? {}
  const spend = plus(spentBy(state), more)
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
    const left = amountOf(dimension, asSpend(remaining(budget, spend)))
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
