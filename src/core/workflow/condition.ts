import { matchesPattern, parseExpression } from '../expression.js'
import { at, type Json, sameJson } from '../json.js'
import type { EdgeCondition } from './definition.js'
import type { Condition } from './plan.js'

/** Compiles an edge condition; `left` is a path into the edge's scope (`output.approved`, or `approved` for short). */
export function compileCondition(condition: EdgeCondition): Condition | { readonly problem: string } {
  const { left, right } = condition
  if (condition.expression !== undefined && (condition.type ?? 'expression') === 'expression') {
    const expression = parseExpression(condition.expression)
    if ('problem' in expression) return { problem: `condition.expression ${expression.problem}` }
    return scope => {
      const result = expression.evaluate(scope)
      return result.ok && result.value === true
    }
  }
  if (left === undefined || condition.type === undefined || condition.type === 'expression')
    return { problem: 'condition needs an expression, or a type with left and right' }
  const test = COMPARISONS[condition.type]
  if (condition.type === 'regex' && !isPattern(right))
    return { problem: 'condition.right must be a regular expression' }
  return scope => test(valueAt(scope, left), right)
}

const COMPARISONS: Record<
  'equals' | 'notEquals' | 'contains' | 'regex',
  (a: Json | undefined, b: Json | undefined) => boolean
> = {
  equals: sameJson,
  notEquals: (a, b) => !sameJson(a, b),
  contains: (a, b) => {
    if (typeof a === 'string') return typeof b === 'string' && a.includes(b)
    return Array.isArray(a) && a.some(item => sameJson(item, b))
  },
  regex: (a, b) => typeof a === 'string' && typeof b === 'string' && matchesPattern(a, b),
}

function valueAt(scope: { readonly [name: string]: unknown }, path: string): Json | undefined {
  const [head = '', ...rest] = path.split('.')
  const known = ['output', 'inputs', 'variables', 'channels', 'nodes', 'configurable'].includes(head)
  const root = (known ? scope[head] : scope.output) as Json | undefined
  const remainder = known ? rest.join('.') : path
  return remainder === '' ? root : at(root, remainder)
}

function isPattern(value: Json | undefined): boolean {
  if (typeof value !== 'string') return false
  try {
    matchesPattern('', value)
    return true
  } catch {
    return false
  }
}
