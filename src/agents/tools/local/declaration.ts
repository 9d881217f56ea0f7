import { isObject, type Json, type JsonObject } from '../../../core/json.js'
import type { RepeatPolicy } from '../../../core/run/events.js'
import { SAFETY_TIERS, type SafetyTier } from '../host-tool.js'

/** What a module in `tools/` exports by default. */
export type Declaration = {
  readonly title?: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject
  readonly safetyTier?: SafetyTier
  readonly repeat?: RepeatPolicy
  readonly scopes?: readonly string[]
  readonly run: (args: JsonObject, context: RunContext) => unknown
}

export type RunContext = {
  readonly signal: AbortSignal
  /** The same when the call is repeated. */
  readonly effectId: string
  /** W3C trace context, for what the tool sends itself. */
  readonly traceparent: string
}

export type ReadDeclaration =
  | { readonly ok: true; readonly declaration: Declaration }
  | { readonly ok: false; readonly problem: string }

const MEMBERS: {
  readonly [name: string]: { readonly required?: true; readonly fits: (value: unknown) => boolean; readonly as: string }
} = {
  title: { fits: value => isText(value, 200), as: 'a text of at most 200 characters' },
  description: { required: true, fits: value => isText(value, 4_000), as: 'a text of at most 4000 characters' },
  inputSchema: { required: true, fits: value => isObject(value) && isData(value), as: 'a JSON Schema' },
  outputSchema: { fits: value => isObject(value) && isData(value), as: 'a JSON Schema' },
  safetyTier: { fits: value => isOneOf(SAFETY_TIERS, value), as: `one of ${SAFETY_TIERS.join(', ')}` },
  repeat: { fits: value => isOneOf(['safe', 'keyed', 'never'], value), as: 'safe, keyed or never' },
  scopes: { fits: value => Array.isArray(value) && value.every(scope => isText(scope, 200)), as: 'a list of texts' },
  run: { required: true, fits: value => typeof value === 'function', as: 'a function' },
}

/**
 * R-TOOL-11: everything in a declaration is data but `run`, and `run` is code only because it stands in a module that
 * the operator put into the project. Whatever else claims to bring a handler is refused before anything is called.
 */
export function readDeclaration(exported: unknown, from: 'module' | 'data'): ReadDeclaration {
  if (!isObject(exported)) return no('it must export an object by default')
  if (from === 'data')
    return no('a tool is a module (.js or .mjs) of the project; a declaration cannot bring a handler')
  for (const name of Object.keys(exported)) {
    if (!Object.hasOwn(MEMBERS, name)) return no(`${JSON.stringify(name)} is not a member of a tool`)
  }
  for (const [name, { required, fits, as }] of Object.entries(MEMBERS)) {
    const value: unknown = exported[name]
    if (value === undefined ? required : !fits(value)) return no(`${name} must be ${as}`)
  }
  return { ok: true, declaration: exported as unknown as Declaration }
}

const no = (problem: string): ReadDeclaration => ({ ok: false, problem })

const isText = (value: unknown, length: number): boolean =>
  typeof value === 'string' && value.trim() !== '' && value.length <= length

const isOneOf = (list: readonly string[], value: unknown): boolean => list.some(item => item === value)

/** Nothing but JSON: no function, at whatever depth, that somebody might come to call. */
function isData(value: unknown): value is Json {
  try {
    return JSON.stringify(value, (_key, item: unknown) => (isJsonValue(item) ? item : fail())) !== undefined
  } catch {
    return false
  }
}

const isJsonValue = (item: unknown): boolean =>
  item === null || ['boolean', 'number', 'string', 'object'].includes(typeof item)

function fail(): never {
  throw new TypeError('not JSON')
}
