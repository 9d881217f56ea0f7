import { parseExpression } from '../expression.js'
import { at, type Json, sameJson } from '../json.js'
import { Meter, searchSteps, weightOf } from '../meter.js'
import { matchesPattern } from '../pattern.js'
import type { EdgeCondition } from './definition.js'
import type { Condition } from './plan.js'

/** Compiles an edge condition; `left` is a path into the edge's scope (`output.approved`, or `approved` for short). */
export function compileCondition(condition: EdgeCondition): Condition | { readonly problem: string } {
  const { left, right } = condition
  if (condition.expression !== undefined && (condition.type ?? 'expression') === 'expression') {
    const expression = parseExpression(condition.expression)
    if ('problem' in expression) return { problem: `condition.expression ${expression.problem}` }
    return (scope, meter) => {
      const result = expression.evaluate(scope, meter.left)
      // What would have taken more is no edge that is not taken: whoever asked has to know.
      meter.charge(result.ok || result.error.code !== 'expression_budget_exceeded' ? result.steps : meter.left + 1)
      return result.ok && result.value === true
    }
  }
  if (left === undefined || condition.type === undefined || condition.type === 'expression')
    return { problem: 'condition needs an expression, or a type with left and right' }
  const test = COMPARISONS[condition.type]
  if (condition.type === 'regex' && !isPattern(right))
    return { problem: 'condition.right must be a regular expression' }
  return (scope, meter) => test(valueAt(scope, left), right, meter)
}

type Test = (a: Json | undefined, b: Json | undefined, meter: Meter) => boolean

const isSame: Test = (a, b, meter) => {
  meter.charge(Math.min(weightOf(a, meter.left), weightOf(b, meter.left)))
  return sameJson(a, b)
}

const COMPARISONS: Record<'equals' | 'notEquals' | 'contains' | 'regex', Test> = {
  equals: isSame,
  notEquals: (a, b, meter) => !isSame(a, b, meter),
  contains: (a, b, meter) => {
    if (typeof a === 'string') {
      if (typeof b !== 'string') return false
      meter.charge(searchSteps(a.length, b.length))
      return a.includes(b)
    }
    if (!Array.isArray(a)) return false
    meter.charge(weightOf(a, meter.left))
    return a.some(item => sameJson(item, b))
  },
  regex: (a, b, meter) => typeof a === 'string' && typeof b === 'string' && matchesPattern(a, b, meter),
}

function valueAt(scope: { readonly [name: string]: unknown }, path: string): Json | undefined {
  const [head = '', ...rest] = path.split('.')
  const known = ['output', 'inputs', 'variables', 'channels', 'nodes', 'configurable'].includes(head)
  const root = (known ? scope[head] : scope.output) as Json | undefined
  const remainder = known ? rest.join('.') : path
  return remainder === '' ? root : at(root, remainder)
}

/** A pattern that no text is short enough for is none. */
const MAX_PATTERN_STEPS = 250_000

function isPattern(value: Json | undefined): boolean {
  if (typeof value !== 'string') return false
  try {
    matchesPattern('', value, new Meter(MAX_PATTERN_STEPS))
    return true
  } catch {
    return false
  }
}
