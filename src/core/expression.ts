import { Environment } from '@marcbachmann/cel-js'
import { RE2JS } from 're2js'
import type { Json, JsonObject } from './json.js'
import { type Failure, failure } from './problem.js'

/**
 * CEL expressions over a run's data: no loops, no host objects, no code generation.
 *
 *  X1  size: at most MAX_LENGTH characters and MAX_NODES syntax nodes, refused when the workflow is registered.
 *  X2  steps: nodes × (largest collection in scope) ^ (nesting of macros) is an upper bound of the work; an evaluation
 *      that could pass MAX_STEPS fails before it begins.
 *  X3  patterns run on a linear-time engine, so no pattern can be slow.
 */
export type Expression = {
  readonly source: string
  evaluate(scope: Scope): { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly error: Failure }
}

export type Scope = { readonly [name: string]: unknown }

const MAX_LENGTH = 4_096
const MAX_NODES = 1_000
const MAX_STEPS = 1_000_000
const MACROS = new Set(['all', 'exists', 'exists_one', 'map', 'filter'])

const environment = new Environment({
  unlistedVariablesAreDyn: true,
  homogeneousAggregateLiterals: false,
  limits: { maxAstNodes: MAX_NODES, maxDepth: 100, maxListElements: 1_000, maxMapEntries: 1_000, maxCallArguments: 16 },
})
  .registerFunction('string.matchesLinear(string): bool', matchesPattern)
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

/** True when `pattern` is found in `text`, in time linear in both. An unreadable pattern matches nothing. */
export function matchesPattern(text: string, pattern: string): boolean {
  if (pattern.length > 1_000) return false
  return RE2JS.compile(pattern).matcher(text).find()
}

/** Parses an expression, or says why it cannot be one. */
export function parseExpression(source: string): Expression | { readonly problem: string } {
  if (source.length > MAX_LENGTH) return { problem: `is ${source.length} characters long; the limit is ${MAX_LENGTH}` }
  try {
    const shape = measure(environment.parse(source).ast as unknown as SyntaxNode)
    const program = environment.parse(withLinearPatterns(source, shape.patterns))
    return { source, evaluate: scope => run(program as unknown as Program, shape, scope) }
  } catch (error) {
    return { problem: `cannot be read as CEL: ${firstLine(error)}` }
  }
}

type Program = (scope: object) => unknown

function run(program: Program, shape: Shape, scope: Scope): ReturnType<Expression['evaluate']> {
  if (shape.macroDepth > 0) {
    const steps = shape.nodes * Math.max(largest(scope), 1) ** shape.macroDepth
    if (steps > MAX_STEPS)
      return failed('expression_budget_exceeded', `may take ${steps} steps over this data; the limit is ${MAX_STEPS}`)
  }
  try {
    const value = toJson(program(scope))
    return value === undefined ? failed('expression_error', 'gave a value that JSON cannot hold') : { ok: true, value }
  } catch (error) {
    return failed('expression_error', firstLine(error))
  }
}

const failed = (code: 'expression_error' | 'expression_budget_exceeded', message: string) =>
  ({ ok: false, error: failure(code, message, { retryable: false }) }) as const

const firstLine = (error: unknown): string =>
  String(error instanceof Error ? error.message : error).split('\n', 1)[0] ?? ''

type SyntaxNode = { readonly op: string; readonly args: unknown; readonly start: number; readonly end: number }
type Shape = { nodes: number; macroDepth: number; patterns: number[] }

const isSyntaxNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'op' in value && 'args' in value

/** Counts nodes and macro nesting, and finds the end of every `matches` method name. */
function measure(root: SyntaxNode): Shape {
  const shape: Shape = { nodes: 0, macroDepth: 0, patterns: [] }
  const visit = (value: unknown, depth: number): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, depth)
    if (!isSyntaxNode(value)) return
    shape.nodes += 1
    let inner = depth
    if (value.op === 'rcall' && Array.isArray(value.args)) {
      const [name, , parameters] = value.args as [string, SyntaxNode, SyntaxNode[]]
      if (MACROS.has(name)) inner += 1
      if (name === 'matches' && parameters[0]) shape.patterns.push(parameters[0].start)
    }
    shape.macroDepth = Math.max(shape.macroDepth, inner)
    visit(value.args, inner)
  }
  visit(root, 0)
  return shape
}

/** X3: the library's own `matches` uses a backtracking engine; every call is pointed at ours instead. */
function withLinearPatterns(source: string, argumentStarts: readonly number[]): string {
  let text = source
  for (const start of [...argumentStarts].sort((a, b) => b - a)) {
    const name = text.lastIndexOf('matches', start)
    text = `${text.slice(0, name)}matchesLinear${text.slice(name + 'matches'.length)}`
  }
  return text
}

/** The size of the largest list, map or string in the data. */
function largest(value: unknown): number {
  if (typeof value === 'string') return value.length
  if (typeof value !== 'object' || value === null) return 0
  const parts = Array.isArray(value) ? value : Object.values(value)
  return parts.reduce((most: number, part) => Math.max(most, largest(part)), parts.length)
}

function toJson(value: unknown): Json | undefined {
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : undefined
  if (Array.isArray(value)) return allOrNothing(value.map(toJson))
  if (value instanceof Map) return objectOf([...value.entries()])
  if (typeof value === 'object' && isPlain(value)) return objectOf(Object.entries(value))
  if (typeof value === 'object' && 'toISOString' in value) return (value as { toISOString(): string }).toISOString()
  return undefined
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const allOrNothing = (values: (Json | undefined)[]): Json | undefined =>
  values.includes(undefined) ? undefined : (values as Json[])

function objectOf(entries: [unknown, unknown][]): JsonObject | undefined {
  const pairs: [string, Json][] = []
  for (const [key, value] of entries) {
    const json = toJson(value)
    if (typeof key !== 'string' || json === undefined) return undefined
    pairs.push([key, json])
  }
  return Object.fromEntries(pairs)
}
