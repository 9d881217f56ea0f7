import { Type } from 'typebox'
import type { ModelName, Price, Usage } from '../invocation/brief.js'
import { isObject, type Json, type JsonObject } from '../json.js'
import { Closed, ListOf, May, NumberFrom, OneOf, Whole } from '../schema/kinds.js'

/** What a run may spend (contract agents §18). Time and turns are bounded elsewhere (R-BUDGET-6). */

export const BUDGET_DIMENSIONS = ['tokens', 'cost', 'toolCalls', 'retries'] as const
export type BudgetDimension = (typeof BUDGET_DIMENSIONS)[number]

export type BudgetCap = 'budget-tokens' | 'budget-cost' | 'budget-tool-calls' | 'budget-retries'

/** At most so much of each; what is absent is not bounded. */
export type Ceilings = {
  readonly maxTokens?: number
  readonly maxCostUsd?: number
  readonly maxToolCalls?: number
  readonly maxRetries?: number
}

/** Money is counted in whole billionths of a dollar, so that sums are exact. */
export type Spend = {
  readonly tokens: number
  readonly costNano: number
  readonly toolCalls: number
  readonly retries: number
}

export const ON_EXHAUSTION = ['fail', 'interrupt'] as const

export type BudgetPolicy = Ceilings & {
  readonly modelAllow?: readonly string[]
  readonly modelDeny?: readonly string[]
  readonly thresholdPercent?: number
  /** Whether the run ends, or asks a person, when its own ceiling does not let it go on; `fail` where absent. */
  readonly onExhaustion?: (typeof ON_EXHAUSTION)[number]
}

export const NOTHING_SPENT: Spend = { tokens: 0, costNano: 0, toolCalls: 0, retries: 0 }

const NANO = 1_000_000_000

export const usdOf = (nano: number): number => nano / NANO

export const plus = (a: Spend, b: Partial<Spend>): Spend => ({
  tokens: a.tokens + (b.tokens ?? 0),
  costNano: a.costNano + (b.costNano ?? 0),
  toolCalls: a.toolCalls + (b.toolCalls ?? 0),
  retries: a.retries + (b.retries ?? 0),
})

export const minus = (a: Spend, b: Partial<Spend>): Spend => ({
  tokens: a.tokens - (b.tokens ?? 0),
  costNano: a.costNano - (b.costNano ?? 0),
  toolCalls: a.toolCalls - (b.toolCalls ?? 0),
  retries: a.retries - (b.retries ?? 0),
})

type Row = { readonly field: keyof Ceilings; readonly cap: BudgetCap; readonly of: (spend: Spend) => number }

/** Each dimension in the units in which it is told. */
const ROWS: { readonly [Dimension in BudgetDimension]: Row } = {
  tokens: { field: 'maxTokens', cap: 'budget-tokens', of: spend => spend.tokens },
  cost: { field: 'maxCostUsd', cap: 'budget-cost', of: spend => usdOf(spend.costNano) },
  toolCalls: { field: 'maxToolCalls', cap: 'budget-tool-calls', of: spend => spend.toolCalls },
  retries: { field: 'maxRetries', cap: 'budget-retries', of: spend => spend.retries },
}

export const capOf = (dimension: BudgetDimension): BudgetCap => ROWS[dimension].cap
export const settingOf = (dimension: BudgetDimension): keyof Ceilings => ROWS[dimension].field
export const amountOf = (dimension: BudgetDimension, spend: Spend): number => ROWS[dimension].of(spend)
export const ceilingOf = (dimension: BudgetDimension, ceilings: Ceilings): number =>
  ceilings[ROWS[dimension].field] ?? Number.POSITIVE_INFINITY

/** Money is compared as whole billionths too: a ceiling of a tenth of a cent is not a binary fraction. */
const exact = (dimension: BudgetDimension, amount: number): number =>
  dimension === 'cost' ? Math.round(amount * NANO) : amount

const told = (dimension: BudgetDimension, amount: number): number => (dimension === 'cost' ? usdOf(amount) : amount)

/** Exactly at a ceiling is within it. */
export const isWithin = (dimension: BudgetDimension, amount: number, ceiling: number): boolean =>
  exact(dimension, amount) <= exact(dimension, ceiling)

/** `a` and `b` together, or what `a` is more than `b`, as they are told. */
export const summed = (dimension: BudgetDimension, a: number, b: number): number =>
  told(dimension, exact(dimension, a) + exact(dimension, b))
export const lessBy = (dimension: BudgetDimension, a: number, b: number): number =>
  told(dimension, exact(dimension, a) - exact(dimension, b))

/** The first dimension that would be over its ceiling; exactly at it is not over. */
export const overspent = (spend: Spend, ceilings: Ceilings): BudgetDimension | undefined =>
  BUDGET_DIMENSIONS.find(
    dimension => exact(dimension, amountOf(dimension, spend)) > exact(dimension, ceilingOf(dimension, ceilings)),
  )

/** R-BUDGET-2: the least of each. */
export function leastOf(policies: readonly Ceilings[]): Ceilings {
  const least: [string, number][] = BUDGET_DIMENSIONS.flatMap(dimension => {
    const ceiling = Math.min(...policies.map(policy => ceilingOf(dimension, policy)))
    return Number.isFinite(ceiling) ? [[ROWS[dimension].field, ceiling]] : []
  })
  return Object.fromEntries(least)
}

export const isBounded = (ceilings: Ceilings): boolean => Object.keys(ceilings).length > 0

/** What is left beneath the ceilings; a dimension without one stays without. */
export function remaining(ceilings: Ceilings, spend: Spend): Ceilings {
  const left: [string, number][] = BUDGET_DIMENSIONS.flatMap(dimension => {
    const ceiling = ceilingOf(dimension, ceilings)
    if (!Number.isFinite(ceiling)) return []
    const rest = exact(dimension, ceiling) - exact(dimension, amountOf(dimension, spend))
    return [[ROWS[dimension].field, Math.max(0, dimension === 'cost' ? usdOf(rest) : rest)]]
  })
  return Object.fromEntries(left)
}

/** One of `parts` equal shares, none of which is more than what there is. */
export function shareOf(ceilings: Ceilings, parts: number): Ceilings {
  const shares = Object.entries(ceilings).map(([field, amount]): [string, number] => [
    field,
    field === 'maxCostUsd' ? usdOf(Math.floor((amount * NANO) / parts)) : Math.floor(amount / parts),
  ])
  return Object.fromEntries(shares)
}

/** The whole of a grant as if it were spent. */
export const asSpend = (ceilings: Ceilings): Spend => ({
  tokens: ceilings.maxTokens ?? 0,
  costNano: Math.round((ceilings.maxCostUsd ?? 0) * NANO),
  toolCalls: ceilings.maxToolCalls ?? 0,
  retries: ceilings.maxRetries ?? 0,
})

/** USD per million tokens is millionths of a dollar per token. */
const nanoFor = (tokens: number, price: number): number => tokens * price * 1_000

/** Rounded up: a fraction of a billionth is not given away, but the noise of binary fractions is no fraction. */
const roundedUp = (nano: number): number => Math.max(0, Math.ceil(nano - 0.001))

export function costOf(usage: Usage, price: Price | undefined): number | undefined {
  if (price === undefined) return undefined
  const { inputTokens, outputTokens, cacheReadTokens = 0, cacheWriteTokens = 0 } = usage
  const plain = Math.max(0, inputTokens - cacheReadTokens - cacheWriteTokens)
  return roundedUp(
    nanoFor(plain, price.input) +
      nanoFor(cacheReadTokens, price.cacheRead ?? price.input) +
      nanoFor(cacheWriteTokens, price.cacheWrite ?? price.input) +
      nanoFor(outputTokens, price.output),
  )
}

/** The most that a call can cost, whatever of its input is cached. */
export function mostCostOf(inputTokens: number, outputTokens: number, price: Price | undefined): number {
  if (price === undefined) return 0
  const dearest = Math.max(price.input, price.cacheRead ?? 0, price.cacheWrite ?? 0)
  return roundedUp(nanoFor(inputTokens, dearest) + nanoFor(outputTokens, price.output))
}

/** The most output tokens that fit beneath what is left, when the input takes so many. */
export function outputWithin(left: Ceilings, inputTokens: number, price: Price | undefined): number {
  const byTokens = (left.maxTokens ?? Number.POSITIVE_INFINITY) - inputTokens
  if (left.maxCostUsd === undefined || price === undefined || price.output === 0) return byTokens
  const money = Math.round(left.maxCostUsd * NANO) - mostCostOf(inputTokens, 0, price)
  return Math.min(byTokens, Math.floor(money / (price.output * 1_000) + 1e-9))
}

/** R-BUDGET-5: why this model may not be called; deny beats allow. */
export function modelProblem(
  { provider, model }: ModelName,
  { modelAllow, modelDeny }: BudgetPolicy,
): string | undefined {
  const names = [model, `${provider}:${model}`]
  const isNamed = (patterns: readonly string[]) =>
    patterns.some(pattern => names.some(name => matchesModel(pattern, name)))
  if (modelDeny !== undefined && isNamed(modelDeny)) return 'modelDeny names it'
  if (modelAllow !== undefined && !isNamed(modelAllow)) return 'modelAllow does not name it'
  return undefined
}

/** `*` stands for any text. Linear: each part is looked for once, from where the last one ended. */
export function matchesModel(pattern: string, name: string): boolean {
  const parts = pattern.split('*')
  const [first = ''] = parts
  if (parts.length === 1) return pattern === name
  const last = parts.at(-1) ?? ''
  if (!name.startsWith(first)) return false
  let at = first.length
  for (const part of parts.slice(1, -1)) {
    const found = name.indexOf(part, at)
    if (found < 0) return false
    at = found + part.length
  }
  return name.length - last.length >= at && name.endsWith(last)
}

const ModelPatterns = (description: string) =>
  ListOf(
    Type.String({ minLength: 1, maxLength: 256, 'x-must-be': 'the name of a model, in which * stands for any text' }),
    0,
    100,
    { description, 'x-must-be': 'a list of at most 100 model names, in which * stands for any text' },
  )

export const BudgetSchema = Closed(
  {
    maxTokens: May(Whole(1, Number.MAX_SAFE_INTEGER, { description: 'Tokens, of all calls together' })),
    maxCostUsd: May(NumberFrom(0, 1_000_000, { description: 'US dollars' })),
    maxToolCalls: May(Whole(1, Number.MAX_SAFE_INTEGER, { description: 'Calls of tools' })),
    maxRetries: May(Whole(0, Number.MAX_SAFE_INTEGER, { description: 'Calls of models that are made again' })),
    modelAllow: May(ModelPatterns('Models that may be called; every one, where absent')),
    modelDeny: May(ModelPatterns('Models that may not be called, whatever modelAllow says')),
    thresholdPercent: May(
      NumberFrom(0, 100, { description: 'From which share on the run says how much it has spent' }),
    ),
    onExhaustion: May(
      OneOf(ON_EXHAUSTION, {
        description: 'What happens at a ceiling',
        default: 'fail',
        'x-must-be': '"fail": the run fails, or "interrupt": it asks a person to let it spend more',
      }),
    ),
  },
  { description: 'What the run may spend at most; the ceilings of the host hold too' },
)

/** A budget that was found to be one. */
export const policyOf = (value: Json | undefined): BudgetPolicy =>
  isObject(value) ? (value as JsonObject & BudgetPolicy) : {}
