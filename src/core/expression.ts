import { Environment } from '@marcbachmann/cel-js'
import { RE2JS } from 're2js'
import type { Json, JsonObject } from './json.js'
import { type Failure, failure } from './problem.js'

/**
 * CEL expressions over a run's data: no loops, no host objects, no code generation.
 *
 *  X1  size: at most MAX_LENGTH characters and MAX_NODES syntax nodes, refused when the workflow is registered.
 *  X2  steps: an upper bound of the work is computed from the shape of the expression and the largest collection it can
 *      meet; an evaluation that could pass MAX_STEPS fails before it begins.
 *  X3  patterns run on a linear-time engine, so no pattern can be slow.
 *  X4  results are plain JSON, at most MAX_DEPTH deep.
 */
export type Expression = {
  readonly source: string
  evaluate(
    scope: ExpressionScope,
  ): { readonly ok: true; readonly value: Json } | { readonly ok: false; readonly error: Failure }
}

export type ExpressionScope = { readonly [name: string]: unknown }

const MAX_LENGTH = 4_096
const MAX_NODES = 1_000
const MAX_STEPS = 1_000_000
const MAX_DEPTH = 64
/** Elements that a comparison or concatenation gets through in the time of one step. */
const ELEMENTS_PER_STEP = 40
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
  let compiled = patterns.get(pattern)
  if (!compiled) {
    compiled = RE2JS.compile(pattern)
    if (patterns.size >= MAX_PATTERNS) patterns.clear()
    patterns.set(pattern, compiled)
  }
  return compiled.matcher(text).find()
}

/** Compiled patterns: a cache, so that a pattern inside a macro is compiled once. */
const patterns = new Map<string, RE2JS>()
const MAX_PATTERNS = 200

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

function run(program: Program, shape: Shape, scope: ExpressionScope): ReturnType<Expression['evaluate']> {
  try {
    const steps = worstCase(shape, scope)
    if (steps > MAX_STEPS)
      return failed('expression_budget_exceeded', `may take ${steps} steps over this data; the limit is ${MAX_STEPS}`)
    const value = toJson(program(scope), 0)
    return value === undefined ? failed('expression_error', 'gave a value that JSON cannot hold') : { ok: true, value }
  } catch (error) {
    return failed('expression_error', firstLine(error))
  }
}

/**
 * X2. `size` is the largest collection the expression can meet: in the data, written out, or joined from others. A
 * pattern takes about a step per character it looks at.
 */
function worstCase({ nodes, macroDepth, joins, collective, literal, patterns }: Shape, scope: ExpressionScope): number {
  if (macroDepth === 0 && !collective && patterns.length === 0) return nodes
  const { items, characters } = largest(scope)
  const size = Math.max(items, literal, 1) * (1 + joins)
  const times = size ** macroDepth
  const compared = collective ? Math.max(size, characters / 8) / ELEMENTS_PER_STEP : 0
  return Math.ceil(times * (nodes * (1 + compared) + patterns.length * characters * (1 + joins)))
}

const failed = (code: 'expression_error' | 'expression_budget_exceeded', message: string) =>
  ({ ok: false, error: failure(code, message, { retryable: false }) }) as const

const firstLine = (error: unknown): string =>
  String(error instanceof Error ? error.message : error).split('\n', 1)[0] ?? ''

type SyntaxNode = { readonly op: string; readonly args: unknown; readonly start: number; readonly end: number }

type Shape = {
  nodes: number
  /** How deep macros nest. */
  macroDepth: number
  /** Concatenations of two values that are not written out. */
  joins: number
  /** Whether two values that are not written out are compared or joined: that takes as long as they are large. */
  collective: boolean
  /** The longest list or map that is written out. */
  literal: number
  /** Where the arguments of `matches` begin. */
  patterns: number[]
}

const isSyntaxNode = (value: unknown): value is SyntaxNode =>
  typeof value === 'object' && value !== null && 'op' in value && 'args' in value

const isLiteral = (value: unknown): boolean => isSyntaxNode(value) && value.op === 'value'

function measure(root: SyntaxNode): Shape {
  const shape: Shape = { nodes: 0, macroDepth: 0, joins: 0, collective: false, literal: 0, patterns: [] }
  const visit = (value: unknown, depth: number): void => {
    if (Array.isArray(value)) for (const item of value) visit(item, depth)
    if (!isSyntaxNode(value)) return
    shape.nodes += 1
    shape.macroDepth = Math.max(shape.macroDepth, depth)
    const repeated = note(shape, value)
    if (repeated) {
      // What a macro iterates over is evaluated once, only its body once per element.
      const [, receiver, body] = value.args as unknown[]
      visit(receiver, depth)
      visit(body, depth + 1)
    } else {
      visit(value.args, depth)
    }
  }
  visit(root, 0)
  return shape
}

/** Takes one syntax node into account; true when it is a macro. */
function note(shape: Shape, { op, args }: SyntaxNode): boolean {
  if (!Array.isArray(args)) return false
  if (op === 'list' || op === 'map') shape.literal = Math.max(shape.literal, args.length)
  if (['==', '!=', 'in', '+'].includes(op) && !args.some(isLiteral)) {
    shape.collective = true
    if (op === '+') shape.joins += 1
  }
  if (op !== 'rcall') return false
  const [name, , parameters] = args as [string, SyntaxNode, SyntaxNode[]]
  if (name === 'matches' && parameters[0]) shape.patterns.push(parameters[0].start)
  return MACROS.has(name)
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

/** The size of the largest list or map, and of the longest text, in the data. */
function largest(scope: ExpressionScope): { items: number; characters: number } {
  let items = 0
  let characters = 0
  const queue: unknown[] = [scope]
  for (let value = queue.pop(); value !== undefined; value = queue.pop()) {
    if (typeof value === 'string') characters = Math.max(characters, value.length)
    if (typeof value !== 'object' || value === null) continue
    const parts = Array.isArray(value) ? value : Object.values(value)
    items = Math.max(items, parts.length)
    for (const part of parts) if (part !== undefined && typeof part !== 'number') queue.push(part)
  }
  return { items, characters }
}

function toJson(value: unknown, depth: number): Json | undefined {
  if (depth > MAX_DEPTH) return undefined
  if (value === null || typeof value === 'boolean' || typeof value === 'string') return value
  if (typeof value === 'number') return Number.isFinite(value) ? value : undefined
  if (typeof value === 'bigint') return Number.isSafeInteger(Number(value)) ? Number(value) : undefined
  if (Array.isArray(value)) return allOrNothing(value.map(item => toJson(item, depth + 1)))
  if (value instanceof Map) return objectOf([...value.entries()], depth)
  if (typeof value === 'object' && isPlain(value)) return objectOf(Object.entries(value), depth)
  if (typeof value === 'object' && 'toISOString' in value) return (value as { toISOString(): string }).toISOString()
  return undefined
}

const isPlain = (value: object): boolean => {
  const prototype: unknown = Object.getPrototypeOf(value)
  return prototype === Object.prototype || prototype === null
}

const allOrNothing = (values: (Json | undefined)[]): Json | undefined =>
  values.includes(undefined) ? undefined : (values as Json[])

function objectOf(entries: [unknown, unknown][], depth: number): JsonObject | undefined {
  const pairs: [string, Json][] = []
  for (const [key, value] of entries) {
    const json = toJson(value, depth + 1)
    if (typeof key !== 'string' || json === undefined) return undefined
    pairs.push([key, json])
  }
  return Object.fromEntries(pairs)
}
