import { isObject, type Json, type JsonObject, own, sameJson } from '../json.js'
import type { Failure } from '../problem.js'
import { type HoldsAny, holdsAny } from '../secret-texts.js'
import type { WorkflowNode } from '../workflow/definition.js'
import type { Plan } from '../workflow/plan.js'
import type { RunBase } from './state.js'

export const MASK = '[REDACTED]'

/**
 * What must not be seen: the values of hidden variables and channels. They are hidden when they are declared sensitive,
 * and when what was written to them carried such a value, so a secret stays one wherever the run takes it.
 */
type Secrets = {
  /** Hidden wherever they stand within a text. */
  readonly texts: readonly string[]
  readonly isIn: HoldsAny
  /** Hidden where they stand alone: too short or too plain to look for inside other values. */
  readonly exact: readonly Json[]
}

/** Shorter texts are found in too many places to mean anything there. */
const SHORTEST_TEXT = 4

export function secretsOf({
  hidden,
  variables,
  channels,
}: Pick<RunBase, 'hidden' | 'variables' | 'channels'>): Secrets | undefined {
  if (hidden.variables.length === 0 && hidden.channels.length === 0) return undefined
  const values: Json[] = []
  for (const name of hidden.variables) values.push(own(variables, name) ?? null)
  for (const name of hidden.channels) values.push(own(channels, name) ?? null)
  const known = gathered.get(hidden)
  if (known?.values.every((value, i) => value === values[i])) return known.secrets
  const secrets = secretsIn(values)
  gathered.set(hidden, { values, secrets })
  return secrets
}

/** Values are never changed: as long as those hidden are the same ones, so are the secrets. */
const gathered = new WeakMap<RunBase['hidden'], { readonly values: readonly Json[]; readonly secrets: Secrets }>()

/** The secrets that are in hidden values. */
export function secretsIn(values: readonly Json[]): Secrets {
  const exact = values.filter(value => value !== null && typeof value !== 'boolean' && value !== '')
  const found = new Set<string>()
  const queue = [...values]
  for (let value = queue.pop(); value !== undefined; value = queue.pop()) {
    if (typeof value === 'string' && value.length >= SHORTEST_TEXT) found.add(value)
    if (typeof value !== 'object' || value === null) continue
    for (const item of Array.isArray(value) ? value : Object.values(value)) queue.push(item)
  }
  const texts = [...found]
  return { texts, exact, isIn: holdsAny(texts) }
}

export function carriesSecret(value: Json, secrets: Secrets | undefined): boolean {
  if (secrets === undefined) return false
  if (secrets.exact.some(secret => sameJson(value, secret))) return true
  if (typeof value === 'string') return secrets.isIn(value)
  if (Array.isArray(value)) return value.some(item => carriesSecret(item, secrets))
  return (
    isObject(value) &&
    Object.entries(value).some(([key, item]) => carriesSecret(key, secrets) || carriesSecret(item, secrets))
  )
}

/** The value with everything masked that carries a secret, its shape kept. */
export function maskWithin(value: Json, secrets: Secrets | undefined): Json {
  if (!carriesSecret(value, secrets)) return value
  if (Array.isArray(value)) return value.map(item => maskWithin(item, secrets))
  if (!isObject(value) || Object.keys(value).some(name => carriesSecret(name, secrets))) return MASK
  return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, maskWithin(item, secrets)]))
}

/** Outputs as the log may show them: a port is hidden when the workflow says so, or when its value carries a secret. */
export function maskOutputs(
  state: RunBase,
  node: WorkflowNode,
  outputs: JsonObject,
  alwaysHidden: readonly string[] = [],
): { shown: JsonObject; hidden: boolean } {
  const secrets = secretsOf(state)
  if (secrets === undefined && node.outputSensitivity === undefined && alwaysHidden.length === 0)
    return { shown: outputs, hidden: false }
  const hidden = Object.entries(outputs).flatMap(([port, value]) => {
    const declared = node.outputSensitivity && own(node.outputSensitivity, port)
    return declared === true || alwaysHidden.includes(port) || carriesSecret(value, secrets) ? [port] : []
  })
  if (hidden.length === 0) return { shown: outputs, hidden: false }
  return { shown: { ...outputs, ...Object.fromEntries(hidden.map(port => [port, MASK])) }, hidden: true }
}

/** A failure as the log may tell it. */
export function maskFailure(state: RunBase, error: Failure): Failure {
  const secrets = secretsOf(state)
  if (secrets === undefined) return error
  const message = secrets.isIn(error.message)
    ? secrets.texts.reduce((text, secret) => text.replaceAll(secret, MASK), error.message)
    : error.message
  if (error.details === undefined || !carriesSecret(error.details, secrets)) return { ...error, message }
  const { details: _details, ...rest } = error
  return { ...rest, message }
}

/** Inputs as the log may show them, and the real values of those that are masked. */
export function maskInputs(
  plan: Plan,
  inputs: JsonObject,
  alsoHidden: readonly string[],
): { shown: JsonObject; secret: JsonObject | undefined } {
  const hidden = Object.entries(inputs).filter(
    ([name]) => plan.variables.get(name)?.sensitive || alsoHidden.includes(name),
  )
  if (hidden.length === 0) return { shown: inputs, secret: undefined }
  return {
    shown: { ...inputs, ...Object.fromEntries(hidden.map(([name]) => [name, MASK])) },
    secret: Object.fromEntries(hidden),
  }
}
