import { Ajv2020, type ErrorObject, type ValidateFunction } from 'ajv/dist/2020.js'
import addFormats from 'ajv-formats'
import type { TSchema } from 'typebox'
import type { Json } from '../core/json.js'
import { type Refusal, refuse } from '../core/problem.js'
import { closestName } from '../core/schema/suggest.js'

/** Never coerces, never removes, never fills in defaults. The schemas are ours, so they need no check of their own. */
const ajv = new Ajv2020({ strict: false, verbose: true, allErrors: false, discriminator: false, validateSchema: false })
addFormats.default(ajv, ['date-time'])

export type ShapeCheck = (value: unknown) => Refusal | undefined

/**
 * `place` is what messages call the value: `body`, `query`, `definition`. The schema is compiled at its first use: all
 * of them together would be a good part of a cold start.
 */
export function compileCheck(schema: TSchema, place: string): ShapeCheck {
  let validate: ValidateFunction | undefined
  return value => {
    validate ??= ajv.compile(schema)
    return validate(value) ? undefined : explain(validate.errors ?? [], place)
  }
}

function explain(errors: readonly ErrorObject[], place: string): Refusal {
  // A union reports each failed branch first and itself last; the branch that got furthest says most.
  const error = errors.reduce((best, next) => (depth(next) > depth(best) ? next : best), errors[0] as ErrorObject)
  const field = place + fieldPath(error)
  const details: { [key: string]: Json } = { field, rule: error.keyword }
  const limit = limitOf(error)
  if (limit !== undefined) details.limit = limit
  // Some limits have a name of their own in the protocol.
  const name = error.keyword === 'maxItems' ? error.parentSchema?.['x-limit-name'] : undefined
  if (typeof name === 'string' && limit !== undefined) details[name] = limit
  return refuse('validation_error', `${field} ${demand(error)}${seen(error, field)}.`, details)
}

const depth = (error: ErrorObject): number => error.instancePath.split('/').length

function fieldPath(error: ErrorObject): string {
  const steps = error.instancePath
    .split('/')
    .slice(1)
    .map(step => step.replaceAll('~1', '/').replaceAll('~0', '~'))
  const missing = error.params.missingProperty ?? error.params.additionalProperty
  if (typeof missing === 'string') steps.push(missing)
  return steps.map(step => (/^\d+$/.test(step) ? `[${step}]` : `.${truncated(step)}`)).join('')
}

const limitOf = (error: ErrorObject): Json | undefined =>
  error.params.limit ?? error.params.allowedValues ?? error.params.allowedValue

function demand(error: ErrorObject): string {
  const { params, parentSchema } = error
  switch (error.keyword) {
    case 'required':
      return 'is required; add it'
    case 'additionalProperties':
      return unknownField(String(params.additionalProperty), Object.keys(parentSchema?.properties ?? {}))
    case 'type':
      return `must be of type ${params.type}`
    case 'enum':
      return `must be one of ${params.allowedValues.join(', ')}`
    case 'const':
      return `must be ${JSON.stringify(params.allowedValue)}`
    case 'minLength':
      return `must have at least ${params.limit} character(s)`
    case 'maxLength':
      return `must have at most ${params.limit} characters`
    case 'minItems':
      return `must have at least ${params.limit} item(s)`
    case 'maxItems':
      return `must have at most ${params.limit} items; split the request`
    case 'minimum':
      return `must be at least ${params.limit}`
    case 'maximum':
      return `must be at most ${params.limit}`
    case 'pattern':
      return String(parentSchema?.['x-refusal'] ?? `must match ${params.pattern}`)
    case 'format':
      return `must be a ${params.format} such as 2026-01-31T12:00:00Z`
    case 'uniqueItems':
      return 'must not repeat an item'
    case 'not':
      return String(parentSchema?.['x-refusal'] ?? 'is not allowed; remove it')
    default:
      return 'does not have the documented shape'
  }
}

function unknownField(name: string, known: readonly string[]): string {
  const close = closestName(name, known)
  const fix = close === undefined ? 'remove it' : `did you mean ${close}?`
  return `is not a known field; ${fix}${close === undefined ? '.' : ''} Known fields: ${known.join(', ')}`
}

/** Users' own data and anything named like a secret is described, never quoted. */
const UNQUOTED = /\b(inputs|configurable|metadata|config|value|defaultValue)\b|key|secret|token|password|credential/i

function seen(error: ErrorObject, field: string): string {
  if (error.keyword === 'required' || error.keyword === 'additionalProperties') return ''
  const { data } = error
  if (Array.isArray(data)) return `; got ${data.length} item(s)`
  if (typeof data === 'object' && data !== null) return '; got an object'
  if (error.keyword === 'maxLength' && typeof data === 'string') return `; got ${data.length} characters`
  if (UNQUOTED.test(field) || data === undefined) return `; got ${data === null ? 'null' : typeof data}`
  return `; got ${truncated(JSON.stringify(data))}`
}

const truncated = (text: string): string => (text.length <= 64 ? text : `${text.slice(0, 64)}…`)
