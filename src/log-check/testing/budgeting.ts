import { type Choose, pick } from './choice.js'
import type { SimulatedRun } from './simulated-run.js'

/** What a simulated run may spend and has spent; a second reading of agents §18 that owes nothing to the rules. */
export type Budget = {
  maxTokens?: number
  maxCostUsd?: number
  maxToolCalls?: number
  maxRetries?: number
}

/** Money in whole billionths of a dollar. */
export type Spent = { tokens: number; costNano: number; toolCalls: number; retries: number }

export type Purse = {
  readonly budget: Budget
  /** Warns at this share. */
  readonly percent?: number
  /** Whether the log tells of it: only of runs that can spend. */
  readonly told: boolean
  spent: Spent
  warned: string[]
}

export const nothing = (): Spent => ({ tokens: 0, costNano: 0, toolCalls: 0, retries: 0 })

const ROWS = [
  ['tokens', 'maxTokens', 'tokens', 'budget-tokens'],
  ['cost', 'maxCostUsd', 'costNano', 'budget-cost'],
  ['toolCalls', 'maxToolCalls', 'toolCalls', 'budget-tool-calls'],
  ['retries', 'maxRetries', 'retries', 'budget-retries'],
] as const

type Dimension = (typeof ROWS)[number][0]

const unit = (dimension: Dimension, amount: number): number => (dimension === 'cost' ? amount / 1e9 : amount)
const whole = (dimension: Dimension, amount: number): number =>
  dimension === 'cost' ? Math.round(amount * 1e9) : amount

export function makeBudget(choose: Choose, tight: boolean): { budget: Budget; thresholdPercent?: number } {
  const [tokens, cost, tools, retries] = tight ? [900, 0.004, 1, 1] : [9_000, 0.2, 6, 5]
  const budget = {
    ...(choose(3) > 0 ? { maxTokens: tokens + choose(400) } : {}),
    ...(choose(2) > 0 ? { maxCostUsd: cost } : {}),
    ...(choose(2) > 0 ? { maxToolCalls: tools + choose(2) } : {}),
    ...(choose(2) > 0 ? { maxRetries: retries } : {}),
  }
  const percent = pick(choose, [undefined, 20, 50])
  return { budget, ...(percent === undefined ? {} : { thresholdPercent: percent }) }
}

export const isBounded = (budget: Budget): boolean => Object.keys(budget).length > 0

const plus = (a: Spent, b: Partial<Spent>): Spent => ({
  tokens: a.tokens + (b.tokens ?? 0),
  costNano: a.costNano + (b.costNano ?? 0),
  toolCalls: a.toolCalls + (b.toolCalls ?? 0),
  retries: a.retries + (b.retries ?? 0),
})

/** Of calls under way and workers at work. */
export function aside(run: SimulatedRun): Spent {
  let sum = nothing()
  for (const { live, handoff, phase } of run.nodes.values()) {
    if (!['running', 'suspended'].includes(phase)) continue
    if (live?.now === 'thinking') sum = plus(sum, { tokens: live.reservedTokens, costNano: live.reservedNano })
    for (const { phase: is, grant } of handoff?.workers ?? [])
      if ((is === 'began' || is === 'running') && grant !== undefined) sum = plus(sum, asSpent(grant))
  }
  return sum
}

const asSpent = (grant: Budget): Spent => ({
  tokens: grant.maxTokens ?? 0,
  costNano: whole('cost', grant.maxCostUsd ?? 0),
  toolCalls: grant.maxToolCalls ?? 0,
  retries: grant.maxRetries ?? 0,
})

/** What nobody has spent or set aside. */
export function left(run: SimulatedRun): Budget {
  const { budget, spent } = run.standing.purse
  const used = plus(spent, aside(run))
  const rest: Budget = {}
  for (const [dimension, field, key] of ROWS) {
    const most = budget[field]
    if (most !== undefined) rest[field] = unit(dimension, Math.max(0, whole(dimension, most) - used[key]))
  }
  return rest
}

export function shareOf(budget: Budget, parts: number): Budget {
  const share: Budget = {}
  for (const [dimension, field] of ROWS) {
    const most = budget[field]
    if (most !== undefined) share[field] = unit(dimension, Math.floor(whole(dimension, most) / parts))
  }
  return share
}

/** The first dimension that the next step would cross, and what it would come to. */
export function crossing(
  run: SimulatedRun,
  more: Partial<Spent>,
): { dimension: Dimension; observed: number } | undefined {
  const { budget, spent } = run.standing.purse
  const wanted = plus(plus(spent, aside(run)), more)
  for (const [dimension, field, key] of ROWS) {
    const most = budget[field]
    if (most !== undefined && wanted[key] > whole(dimension, most))
      return { dimension, observed: unit(dimension, wanted[key]) }
  }
  return undefined
}

/** Adds to what was spent; `cause` is the event that spent it, absent where none tells. */
export function spend(run: SimulatedRun, more: Partial<Spent>, cause?: number): void {
  const { purse } = run.standing
  purse.spent = plus(purse.spent, more)
  if (!purse.told || cause === undefined) return
  for (const [dimension, field, key] of ROWS) {
    const limit = purse.budget[field]
    if (limit === undefined || (more[key] ?? 0) === 0) continue
    const consumed = unit(dimension, purse.spent[key])
    const remaining = unit(dimension, whole(dimension, limit) - purse.spent[key])
    run.emit('budget.consumed', undefined, { dimension, consumed, limit, remaining }, { pass: 0, cause })
    const { percent } = purse
    if (percent === undefined || purse.warned.includes(dimension) || consumed * 100 < limit * percent) continue
    purse.warned.push(dimension)
    run.emit('budget.threshold.crossed', undefined, { dimension, consumed, limit, percent }, { pass: 0, cause })
  }
}

/** The next step is not taken, and the run ends. */
export function exhaust(
  run: SimulatedRun,
  nodeId: string,
  { dimension, observed }: { dimension: Dimension; observed: number },
  cause: number,
): void {
  const [, field, key, kind] = ROWS.find(([name]) => name === dimension) as (typeof ROWS)[number]
  const { budget, spent } = run.standing.purse
  const limit = budget[field]
  run.emit(
    'budget.exhausted',
    undefined,
    { dimension, consumed: unit(dimension, spent[key]), limit },
    { pass: 0, cause },
  )
  run.breach({ code: 'budget_exhausted', message: 'no more' }, { kind, limit, observed, nodeId })
}
