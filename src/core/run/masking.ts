import { isObject, type Json, type JsonObject, own, sameJson } from '../json.js'
import type { WorkflowNode } from './definition.js'
import type { Plan } from './plan.js'
import type { Active } from './state.js'

export const MASK = '[REDACTED]'

/**
 * Outputs as the log may show them. A port is hidden when the workflow says so, or when its value carries the value
 * of a variable that is declared sensitive.
 */
export function maskOutputs(
  { plan, active }: { readonly plan: Plan; readonly active: Active },
  node: WorkflowNode,
  outputs: JsonObject,
): { shown: JsonObject; hidden: boolean } {
  const secrets: Json[] = []
  for (const { name, sensitive } of plan.variables.values()) {
    const value = sensitive ? own(active.variables, name) : undefined
    if (value !== undefined && value !== null && typeof value !== 'boolean' && value !== '') secrets.push(value)
  }
  if (secrets.length === 0 && node.outputSensitivity === undefined) return { shown: outputs, hidden: false }
  const hidden = Object.keys(outputs).filter(port => {
    const declared = node.outputSensitivity && own(node.outputSensitivity, port)
    return declared ?? secrets.some(secret => carries(outputs[port]!, secret))
  })
  if (hidden.length === 0) return { shown: outputs, hidden: false }
  return { shown: { ...outputs, ...Object.fromEntries(hidden.map(port => [port, MASK])) }, hidden: true }
}

function carries(value: Json, secret: Json): boolean {
  if (sameJson(value, secret)) return true
  if (typeof value === 'string') return typeof secret === 'string' && value.includes(secret)
  if (Array.isArray(value)) return value.some(item => carries(item, secret))
  return isObject(value) && Object.values(value).some(item => carries(item, secret))
}

/** Inputs as the log may show them, and the real values of those that are masked. */
export function maskInputs(plan: Plan, inputs: JsonObject): { shown: JsonObject; secret: JsonObject | undefined } {
  const names = Object.keys(inputs).filter(name => plan.variables.get(name)?.sensitive)
  if (names.length === 0) return { shown: inputs, secret: undefined }
  return {
    shown: { ...inputs, ...Object.fromEntries(names.map(name => [name, MASK])) },
    secret: Object.fromEntries(names.map(name => [name, inputs[name]!])),
  }
}
