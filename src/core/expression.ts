import { Environment } from '@marcbachmann/cel-js'
import { type SyntaxNode, withCharges } from './expression-charges.js'
import { type Reference, referencesIn } from './expression-references.js'
import type { Json, JsonObject } from './json.js'
import { Meter, searchSteps, weightOf } from './meter.js'
import { matchesPattern } from './pattern.js'
import { type Failure, failure } from './problem.js'

/**
 * CEL expressions over a run's data: no loops, no host objects, no code generation.
 *
 *  X1  size: at most MAX_LENGTH characters and MAX_NODES syntax nodes, refused when the workflow is registered.
 *  X2  steps: what takes longer the larger the data is, is charged before it is begun, by the size of what it is given: the
 *      passes of a macro, what is compared, joined, searched or handed to a function. An evaluation that would pass its
 *      limit ends there, and what it came to so far is nobody's to see.
 *  X3  patterns run on a linear-time engine, charged by their size times the text's.
 *  X4  results are plain JSON, at most MAX_DEPTH deep.
 */
export type Expression = {
  readonly source: string
  /** `steps` is what it took; never more than `limit`. */
  evaluate(scope: ExpressionScope, limit?: number): Evaluated
}

export type Evaluated = { readonly steps: number } & (
  | { readonly ok: true; readonly value: Json }
  | { readonly ok: false; readonly error: Failure }
)

export type ExpressionScope = { readonly [name: string]: unknown }

const MAX_LENGTH = 4_096
const MAX_NODES = 1_000
/** The most that one evaluation may take, if nobody says less. */
const MAX_EXPRESSION_STEPS = 500_000
const MAX_DEPTH = 64
/** To copy a member of an object, besides its value. */
const STEPS_PER_ENTRY = 10

/** Of the evaluation that is under way; there is only ever one. */
let meter = new Meter()
/** The longest text or list that has been searched or joined in it, and the longest that was sought or put between. */
let widest = 0
let longest = 0

const LIMITS = {
  maxListElements: 1_000,
  maxMapEntries: 1_000,
  maxCallArguments: 16,
  maxAstNodes: MAX_NODES,
  maxDepth: 100,
}

const environment = new Environment({
  unlistedVariablesAreDyn: true,
  homogeneousAggregateLiterals: false,
  limits: LIMITS,
})
  .registerFunction('string.matchesLinear(string): bool', (text: string, pattern: string) =>
    matchesPattern(text, pattern, meter),
  )
  // JSON has one number type, so arithmetic between a variable and a literal must not depend on how it was spelled.
  .registerOperator('double + int', (a: number, b: bigint) => a + Number(b))
  .registerOperator('int + double', (a: bigint, b: number) => Number(a) + b)
  .registerOperator('double - int', (a: number, b: bigint) => a - Number(b))
  .registerOperator('int - double', (a: bigint, b: number) => Number(a) - b)
  .registerOperator('double * int', (a: number, b: bigint) => a * Number(b))
  .registerOperator('int * double', (a: bigint, b: number) => Number(a) * b)
  .registerOperator('double / int', (a: number, b: bigint) => a / Number(b))
  .registerOperator('int / double', (a: bigint, b: number) => Number(a) / b)
  .registerOperator('double % double', (a: number, b: number) => a % b)
  .registerOperator('double % int', (a: number, b: bigint) => a % Number(b))

/** The same, where what stands inside of these is charged for. Each gives back what it is given. */
const metered = environment
  .clone({ limits: { ...LIMITS, maxAstNodes: 5 * MAX_NODES, maxDepth: 500 } })
  .registerFunction('assayWeighed(A): A', (value: unknown) => {
    meter.charge(weightOf(value, meter.left))
    return value
  })
  .registerFunction('assayRepeated(A, int): A', (items: unknown, steps: bigint) => {
    meter.charge(1 + lengthOf(items) * Number(steps))
    return items
  })
  .registerFunction('assaySearched(A): A', (value: unknown) => {
    meter.charge(weightOf(value, meter.left))
    widest = Math.max(widest, lengthOf(value))
    meter.charge(searchSteps(lengthOf(value), longest))
    return value
  })
  .registerFunction('assaySought(A): A', (value: unknown) => {
    longest = Math.max(longest, lengthOf(value))
    meter.charge(searchSteps(widest, lengthOf(value)))
    return value
  })

/** What a text that can be parsed reads. Worked out when it is asked for: only registration does. */
export const readsOf = (source: string): Reference[] =>
  referencesIn(environment.parse(source).ast as unknown as SyntaxNode)

/** Parses an expression, or says why it cannot be one. */
export function parseExpression(source: string): Expression | { readonly problem: string } {
  if (source.length > MAX_LENGTH) return { problem: `is ${source.length} characters long; the limit is ${MAX_LENGTH}` }
  try {
    const { text, steps } = withCharges(source, environment.parse(source).ast as unknown as SyntaxNode)
    const program = metered.parse(text) as unknown as Program
    return { source, evaluate: (scope, limit) => run(program, steps, scope, limit) }
  } catch (error) {
    return { problem: `cannot be read as CEL: ${firstLine(error)}` }
  }
}

type Program = (scope: object) => unknown

function run(program: Program, least: number, scope: ExpressionScope, limit = MAX_EXPRESSION_STEPS): Evaluated {
  const own = new Meter(limit)
  meter = own
  widest = 0
  longest = 0
  const outcome = attempt(program, least, scope, own)
  // Whatever came of it: a refusal that a macro has swallowed is one.
  if (!own.isOver) return { ...outcome, steps: own.spent }
  const message = `takes more than ${own.limit} steps over this data; ask less of it, or of less data`
  return { ...failed('expression_budget_exceeded', message), steps: own.spent }
}

function attempt(program: Program, least: number, scope: ExpressionScope, own: Meter) {
  try {
    own.charge(least)
    const value = toJson(program(scope), 0, own)
    if (value === undefined) return failed('expression_error', 'gave a value that JSON cannot hold')
    return { ok: true, value } as const
  } catch (error) {
    return failed('expression_error', firstLine(error))
  }
}

const failed = (code: 'expression_error' | 'expression_budget_exceeded', message: string) =>
  ({ ok: false, error: failure(code, message, { retryable: false }) }) as const

const firstLine = (error: unknown): string =>
  String(error instanceof Error ? error.message : error).split('\n', 1)[0] ?? ''

function lengthOf(value: unknown): number {
  if (typeof value === 'string' || Array.isArray(value)) return value.length
  if (typeof value !== 'object' || value === null) return 1
  if (ArrayBuffer.isView(value)) return value.byteLength
  return value instanceof Map || value instanceof Set ? value.size : Object.keys(value).length
}

/** Every part is charged: what stands in many places of a result is copied to each. */
function toJson(value: unknown, depth: number, own: Meter): Json | undefined {
  own.charge(1)
  if (depth > MAX_DEPTH) return undefined
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : undefined
  if (Array.isArray(value)) return allOrNothing(value.map(item => toJson(item, depth + 1, own)))
  if (value instanceof Map) return objectOf([...value.entries()], depth, own)
  if (typeof value === 'object' && isPlain(value)) return objectOf(Object.entries(value), depth, own)
  if (typeof value === 'object' && 'toISOString' in value) return (value as { toISOString(): string }).toISOString()
  return undefined
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const allOrNothing = (values: (Json | undefined)[]): Json | undefined =>
  values.includes(undefined) ? undefined : (values as Json[])

function objectOf(entries: [unknown, unknown][], depth: number, own: Meter): JsonObject | undefined {
  own.charge(entries.length * STEPS_PER_ENTRY)
  const pairs: [string, Json][] = []
  for (const [key, value] of entries) {
    const json = toJson(value, depth + 1, own)
    if (typeof key !== 'string' || json === undefined) return undefined
    pairs.push([key, json])
  }
  return Object.fromEntries(pairs)
}
