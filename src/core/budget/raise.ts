import type { Resolution } from '../interrupt/interrupt.js'
import type { Asked } from '../interrupt/state.js'
import { askAgain, judge } from '../invocation/model-call.js'
import { isObject, type Json, type JsonObject } from '../json.js'
import type { DecisionContext } from '../run/decision-context.js'
import { retryOrFail } from '../run/node-lifecycle.js'
import { type Active, nodeAt } from '../run/state.js'
import { type PlanNode, planNodeAt } from '../workflow/plan.js'
import {
  amountOf,
  BUDGET_DIMENSIONS,
  type BudgetDimension,
  type Ceilings,
  ceilingOf,
  isWithin,
  settingOf,
  summed,
} from './budget.js'
import { committedBy } from './decide.js'
import { endExhausted, fixedCeilings, type Shortage } from './exhaust.js'
import type { Halted, StoppedStep } from './state.js'

const FIELD = 'resumeValue.budgetDelta'

/** Everything wrong with how much a person adds: it must let the run go on, and stay within what nobody can raise. */
export function raiseProblems(state: Active, { data }: Asked, value: Json): string[] {
  if (!isObject(value) || value.action !== 'accept') return []
  const { dimension, observed } = data as unknown as Shortage
  const { budgetDelta: delta } = value
  const wanted = `${FIELD}.${settingOf(dimension)}, ${String(data.leastDelta)} or more, which is added to the ceiling`
  if (!isObject(delta)) return [`accept needs ${wanted}`]
  const known = BUDGET_DIMENSIONS.map(settingOf)
  const unknown = Object.keys(delta).filter(name => !known.some(setting => setting === name))
  return [
    ...unknown.map(name => `${FIELD}.${name} is not known; known: ${known.join(', ')}`),
    ...(delta[settingOf(dimension)] === undefined ? [`accept needs ${wanted}`] : []),
    ...BUDGET_DIMENSIONS.flatMap(one =>
      amountProblems(state, one, delta[settingOf(one)], one === dimension ? observed : 0),
    ),
  ]
}

function amountProblems(state: Active, dimension: BudgetDimension, more: Json | undefined, needed: number): string[] {
  if (more === undefined) return []
  const setting = settingOf(dimension)
  const field = `${FIELD}.${setting}`
  const isAmount = typeof more === 'number' && more > 0 && (dimension === 'cost' || Number.isSafeInteger(more))
  if (!isAmount)
    return [
      `${field} must be ${dimension === 'cost' ? 'a number above 0' : 'a whole number, 1 or more'}, not ${JSON.stringify(more)}`,
    ]
  const ceiling = ceilingOf(dimension, state.budget ?? {})
  if (!Number.isFinite(ceiling)) return [`${field}: the run has no ceiling for it, so there is nothing to add to`]
  const raised = summed(dimension, ceiling, more)
  const fixed = ceilingOf(dimension, fixedCeilings(state))
  if (!isWithin(dimension, raised, fixed))
    return [`${field} would make it ${raised}; the host, or whoever handed this work over, allows ${fixed} at most`]
  const least = Math.max(needed, amountOf(dimension, committedBy(state)))
  return isWithin(dimension, least, raised)
    ? []
    : [`${field} would make it ${raised}; the step that was stopped needs ${least}`]
}

/** What the run may spend once that is added. */
function raisedBy(budget: Ceilings, delta: JsonObject): Ceilings {
  const raised = BUDGET_DIMENSIONS.flatMap((dimension): [string, number][] => {
    const more = delta[settingOf(dimension)]
    return typeof more === 'number'
      ? [[settingOf(dimension), summed(dimension, ceilingOf(dimension, budget), more)]]
      : []
  })
  return { ...budget, ...Object.fromEntries(raised) }
}

/**
 * R-BUDGET-4: a person has let the run spend more, and every step that waited for it is taken, first that of the node
 * that asked; or they have not, and the run ends.
 */
export function budgetAnswered(
  context: DecisionContext,
  planNode: PlanNode,
  { interruptId, step }: Halted,
  { value, data }: Resolution,
  cause: number,
): void {
  const delta = isObject(value) && value.action === 'accept' ? value.budgetDelta : undefined
  if (!isObject(delta)) return endExhausted(context, planNode.node.id, data as unknown as Shortage)
  const effectiveBudget = raisedBy(context.active.budget ?? {}, delta)
  context.emit({ type: 'budget.reserved', payload: { effectiveBudget, scope: 'run' }, cause })
  const { open } = context.active
  takeStep(context, planNode, step)
  for (const index of open) {
    const others = context.state.phase === 'active' ? nodeAt(context.state, index) : undefined
    if (others?.is !== 'waiting' || others.halted?.interruptId !== interruptId) continue
    const other = planNodeAt(context.plan, index)
    const nodeId = other.node.id
    context.emit({ type: 'node.resumed', nodeId, payload: { nodeId, interruptId }, cause })
    takeStep(context, other, others.halted.step)
  }
}

/** Takes a step that was stopped; those that are chosen from the state are taken by whoever goes on. */
function takeStep(context: DecisionContext, planNode: PlanNode, step: StoppedStep): void {
  switch (step.is) {
    case 'answer':
      return judge(context, planNode, step, step.requested)
    case 'ask-again':
      return askAgain(context, planNode, step.reason, step.error, step.cause, step.correction)
    case 'retry':
      return retryOrFail(context, planNode, step.error, step.cause)
  }
}
