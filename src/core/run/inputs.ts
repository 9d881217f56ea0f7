import type { Evaluated, Expression, ExpressionScope } from '../expression.js'
import { at, isObject, type Json, type JsonObject, own } from '../json.js'
import { present } from '../present.js'
import { type Failure, failure } from '../problem.js'
import { feedbackByName } from '../verification/feedback.js'
import type { PortValue, WorkflowVariable } from '../workflow/definition.js'
import type { Plan, PlanNode } from '../workflow/plan.js'
import type { RunBase } from './state.js'

/** The data expressions may read. Built on demand: most nodes have no expression. */
export function scopeOf(plan: Plan, state: RunBase, more: { readonly [name: string]: unknown } = {}): ExpressionScope {
  const told = feedbackByName(state)
  const inputs = { ...told, ...runInputs(state) }
  return {
    inputs,
    input: inputs,
    variables: told ? { ...told, ...state.variables } : state.variables,
    channels: state.channels,
    configurable: state.started.configurable ?? {},
    get nodes() {
      const completed: [string, JsonObject][] = []
      for (const { index, node } of plan.nodes) {
        const at = state.nodes[index]
        if (at?.is === 'completed') completed.push([node.id, at.outputs])
      }
      return Object.fromEntries(completed)
    },
    ...more,
  }
}

/** Inputs as given, with the real values of those the log masks. */
export const runInputs = ({ started, secretInputs }: RunBase): JsonObject => ({ ...started.inputs, ...secretInputs })

/** Evaluates at somebody's cost. */
export type Evaluate = (expression: Expression, scope: ExpressionScope) => Evaluated

/** Resolves every input port of a node, or says which one cannot be. */
export function resolveInputs(
  planNode: PlanNode,
  plan: Plan,
  state: RunBase,
  evaluate: Evaluate,
): { ok: true; inputs: JsonObject } | { ok: false; error: Failure } {
  const ports = Object.entries(planNode.node.inputs)
  if (ports.length === 0) return { ok: true, inputs: {} }
  const resolved: [string, Json][] = []
  for (const [port, source] of ports) {
    const value = resolvePort(port, source, planNode, plan, state, evaluate)
    if (value === undefined) continue
    if (!value.ok) return value
    resolved.push([port, value.value])
  }
  return { ok: true, inputs: Object.fromEntries(resolved) }
}

type Resolved = { ok: true; value: Json } | { ok: false; error: Failure } | undefined

function resolvePort(
  port: string,
  source: PortValue,
  planNode: PlanNode,
  plan: Plan,
  state: RunBase,
  evaluate: Evaluate,
): Resolved {
  if (source.type === 'static') return { ok: true, value: source.value }
  if (source.type === 'expression') {
    const expression = present(planNode.expressions.get(`inputs.${port}`), `expression inputs.${port}`)
    const result = evaluate(expression, scopeOf(plan, state))
    return result.ok
      ? result
      : { ok: false, error: { ...result.error, message: `inputs.${port}: ${result.error.message}` } }
  }
  if (source.type === 'variable') {
    const value =
      own(state.variables, source.variableName) ??
      own(state.channels, source.variableName) ??
      own(feedbackByName(state) ?? {}, source.variableName)
    if (value !== undefined) return { ok: true, value }
    // A declared variable without a value is simply not there yet; an unknown name is a mistake.
    if (source.optional || plan.variables.has(source.variableName)) return undefined
    return missing(
      `inputs.${port}: variable "${source.variableName}" is not set; declare it, set it or mark the port optional`,
    )
  }
  const from = state.nodes[plan.indexOf.get(source.nodeId) ?? -1]
  const value = from?.is === 'completed' ? at(from.outputs, source.outputKey) : undefined
  if (value !== undefined) return { ok: true, value }
  if (source.optional) return undefined
  return missing(
    `inputs.${port}: node "${source.nodeId}" gave no output "${source.outputKey}"; mark the port optional if that is fine`,
  )
}

const missing = (message: string): Resolved => ({
  ok: false,
  error: failure('input_missing', message, { retryable: false }),
})

const TYPE_TESTS: { readonly [type in WorkflowVariable['type']]: (value: Json) => boolean } = {
  string: value => typeof value === 'string',
  number: value => typeof value === 'number',
  boolean: value => typeof value === 'boolean',
  object: isObject,
  array: Array.isArray,
}

export const isOfType = (type: WorkflowVariable['type'], value: Json): boolean => TYPE_TESTS[type](value)

/** Everything wrong with a run's inputs. Undeclared keys are welcome; a default satisfies `required`. */
export function inputProblems(plan: Plan, inputs: JsonObject): string[] {
  const problems: string[] = []
  for (const { name, type, required, defaultValue } of plan.variables.values()) {
    const value = own(inputs, name)
    if (value === undefined || value === null) {
      if (required && defaultValue === undefined && value === undefined)
        problems.push(`inputs.${name} is required (${type}); add it`)
    } else if (!isOfType(type, value)) {
      problems.push(`inputs.${name} must be of type ${type}, not ${Array.isArray(value) ? 'array' : typeof value}`)
    }
  }
  for (const name of Object.keys(inputs))
    if (plan.channels.has(name))
      problems.push(`inputs.${name} is a channel and can only be written by core.channelWrite`)
  return problems
}
