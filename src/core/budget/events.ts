import type { Fact } from '../run/events.js'
import type { BudgetDimension, Ceilings } from './budget.js'

/** Contract agents §18. Free of content and of prices. */
export type BudgetFact =
  | Fact<'budget.reserved', { effectiveBudget: Ceilings; scope: 'run' }>
  | Fact<'budget.consumed', { dimension: BudgetDimension; consumed: number; limit: number; remaining: number }>
  | Fact<'budget.threshold.crossed', { dimension: BudgetDimension; consumed: number; limit: number; percent: number }>
  | Fact<'budget.exhausted', { dimension: BudgetDimension; consumed: number; limit: number }>
