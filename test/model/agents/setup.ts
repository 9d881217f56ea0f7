import fc from 'fast-check'
import type { BudgetPolicy } from '../../../src/core/budget/budget.js'
import type { Price, ToolTerms } from '../../../src/core/invocation/brief.js'
import { tool } from '../../../src/testing/invocations.js'

/** What goes wrong around one call of a model or a tool. */
export type Disturbance =
  | 'none'
  /** The host dies and the call is never answered. */
  | 'crash during'
  /** The host dies with the answer in hand. */
  | 'crash before kept'
  | 'crash before told'
  | 'crash after told'
  | 'pause at once'
  | 'pause draining'
  | 'cancel'

export type Call = {
  /** By place among the tools of the setup; -1 for a tool that is foreign, -2 for one that is almost there. */
  readonly tool: number
  readonly misfit: boolean
}

export type Words =
  | { readonly kind: 'answered'; readonly confidence: number | undefined }
  | { readonly kind: 'tools'; readonly calls: readonly Call[] }
  | { readonly kind: 'unusable'; readonly reason: 'schema-violation' | 'parse-error' }
  | { readonly kind: 'truncated' }
  | { readonly kind: 'refused' }
  | { readonly kind: 'broken'; readonly billed: boolean; readonly retryable: boolean }

/** How the model behaves the n-th time it is really asked. */
export type Thought = {
  readonly words: Words
  readonly disturbance: Disturbance
  /** Of what the call may take. */
  readonly inputPart: number
  readonly outputPart: number
  readonly replyTokens: number
  readonly turnedAway: number
}

/** How a tool behaves the n-th time one is really called. */
export type Use = {
  readonly status: 'ok' | 'error' | 'rate_limited' | 'fails' | 'fails for now'
  readonly disturbance: Disturbance
  readonly resultTokens: number
}

/** How often the least that helps is added, 0 for a refusal; and whether the host dies while it is asked. */
export type Raise = { readonly times: number; readonly crash: boolean }

export const raise: fc.Arbitrary<Raise> = fc.record({
  times: fc.constantFrom(0, 1, 1, 2, 7),
  crash: fc.constantFrom(false, false, true),
})

export type Setup = {
  readonly tools: readonly ToolTerms[]
  readonly scopes: readonly string[]
  readonly inputTokens: number
  readonly maxOutputTokens: number
  readonly maxRounds: number
  readonly maxRetries: number
  readonly checksResult: boolean
  readonly threshold: number | undefined
  readonly runThreshold: number | undefined
  readonly price: Price | undefined
  readonly taskProblem: boolean
  readonly budget: BudgetPolicy
  readonly verbosity: 'off' | 'summary' | 'full'
  readonly nodeRetries: number
  readonly thoughts: readonly Thought[]
  readonly uses: readonly Use[]
  /** What a person says each time the run asks for more; who is asked once more refuses. */
  readonly raises: readonly Raise[]
  readonly verdicts: readonly ('accept' | 'edit-accept' | 'reject' | 'nobody')[]
}

export const CORRECTION = 'say it as JSON'
export const FOREIGN = ['x:foreign', 'mcp:safe.'] as const

const TOOLS = [
  tool('mcp:safe'),
  tool('mcp:keyed', { repeat: 'keyed' }),
  tool('http:never', { repeat: 'never', transport: 'http' }),
  tool('native:scoped', { scopes: ['mail'], transport: 'native' }),
]

const often = <T>(usual: T, weight: number, ...others: readonly fc.WeightedArbitrary<T>[]): fc.Arbitrary<T> =>
  fc.oneof({ arbitrary: fc.constant(usual), weight }, ...others)

const disturbance: fc.Arbitrary<Disturbance> = often<Disturbance>('none', 20, {
  arbitrary: fc.constantFrom<Disturbance>(
    'crash during',
    'crash before kept',
    'crash before told',
    'crash after told',
    'pause at once',
    'pause draining',
    'cancel',
  ),
  weight: 8,
})

const words: fc.Arbitrary<Words> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('answered' as const),
      confidence: fc.constantFrom(undefined, 0.2, 0.5, 0.7, 0.95),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      kind: fc.constant('tools' as const),
      calls: fc.oneof(
        { weight: 12, arbitrary: fc.array(callOf(), { minLength: 1, maxLength: 3 }) },
        { weight: 1, arbitrary: fc.array(callOf(), { minLength: 17, maxLength: 18 }) },
      ),
    }),
  },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('unusable' as const),
      reason: fc.constantFrom('schema-violation' as const, 'parse-error' as const),
    }),
  },
  { weight: 2, arbitrary: fc.constant({ kind: 'truncated' as const }) },
  { weight: 1, arbitrary: fc.constant({ kind: 'refused' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant('broken' as const),
      billed: fc.boolean(),
      retryable: often(true, 4, { arbitrary: fc.constant(false), weight: 1 }),
    }),
  },
)

function callOf(): fc.Arbitrary<Call> {
  return fc.record({
    tool: fc.constantFrom(0, 1, 2, 2, 3, -1, -2),
    misfit: often(false, 6, { arbitrary: fc.constant(true), weight: 1 }),
  })
}

const part = fc.constantFrom(0, 0.25, 0.5, 1)

const thought: fc.Arbitrary<Thought> = fc.record({
  words,
  disturbance,
  inputPart: part,
  outputPart: part,
  replyTokens: fc.nat({ max: 50 }),
  turnedAway: often(0, 4, { arbitrary: fc.nat({ max: 2 }), weight: 1 }),
})

const use: fc.Arbitrary<Use> = fc.record({
  status: often<Use['status']>('ok', 8, {
    arbitrary: fc.constantFrom<Use['status']>('error', 'rate_limited', 'fails', 'fails for now'),
    weight: 3,
  }),
  disturbance,
  resultTokens: fc.nat({ max: 50 }),
})

/** Prices whose products are whole billionths. */
export const price: fc.Arbitrary<Price | undefined> = fc.constantFrom(
  undefined,
  { input: 2.5, output: 10 },
  { input: 0.25, output: 1.5 },
  { input: 3, output: 0 },
)

const budget: fc.Arbitrary<BudgetPolicy> = fc.oneof(
  { weight: 1, arbitrary: fc.constant({}) },
  {
    weight: 3,
    arbitrary: fc.record(
      {
        maxTokens: fc.integer({ min: 200, max: 6_000 }),
        maxCostUsd: fc.integer({ min: 1, max: 40 }).map(n => n / 1_000),
        maxToolCalls: fc.integer({ min: 1, max: 5 }),
        maxRetries: fc.nat({ max: 4 }),
        thresholdPercent: fc.constantFrom(1, 50, 100),
        onExhaustion: fc.constantFrom('fail' as const, 'interrupt' as const, 'interrupt' as const),
        modelDeny: often<readonly string[]>(['claude-*'], 12, { arbitrary: fc.constant(['*test']), weight: 1 }),
      },
      { requiredKeys: [] },
    ),
  },
)

/** As many as a story can need; whoever is asked once more says the last of them again, undisturbed. */
const MANY = 12

const whole: fc.Arbitrary<Setup> = fc.record({
  tools: fc.constantFrom(TOOLS, TOOLS, TOOLS, TOOLS.slice(0, 2), TOOLS.slice(2), []),
  scopes: fc.constantFrom([], ['mail']),
  inputTokens: fc.integer({ min: 50, max: 300 }),
  maxOutputTokens: fc.integer({ min: 20, max: 800 }),
  maxRounds: fc.integer({ min: 1, max: 5 }),
  maxRetries: fc.nat({ max: 2 }),
  checksResult: fc.boolean(),
  threshold: fc.constantFrom(undefined, 0.3, 0.9),
  runThreshold: fc.constantFrom(undefined, 0.1, 0.6),
  price,
  taskProblem: often(false, 30, { arbitrary: fc.constant(true), weight: 1 }),
  budget,
  verbosity: fc.constantFrom('off', 'summary', 'full'),
  nodeRetries: fc.nat({ max: 2 }),
  thoughts: fc.array(thought, { minLength: MANY, maxLength: MANY }),
  uses: fc.array(use, { minLength: MANY, maxLength: MANY }),
  raises: fc.array(raise, { maxLength: 4 }),
  verdicts: fc.array(fc.constantFrom('accept', 'accept', 'edit-accept', 'reject', 'nobody'), {
    minLength: 1,
    maxLength: 1,
  }),
})

/** A model without a price is not called under a ceiling of cost: now and then is often enough. */
export const setup: fc.Arbitrary<Setup> = fc
  .tuple(whole, fc.nat({ max: 9 }))
  .map(([made, n]) =>
    made.budget.maxCostUsd !== undefined && made.price === undefined && n > 0
      ? { ...made, price: { input: 2.5, output: 10 } }
      : made,
  )

/** The n-th of a list, from 0; beyond its end the last, undisturbed. */
export const nthOf = <T extends { readonly disturbance: Disturbance }>(list: readonly T[], n: number): T =>
  list[n] ?? { ...list.at(-1)!, disturbance: 'none' }
