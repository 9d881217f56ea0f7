import { isObject, type Json, type JsonObject } from '../../core/json.js'
import type { StepContext } from './define-step.js'
import type { StepShown } from './messages.js'

export type UsableStep = { readonly shown: StepShown; readonly run: (context: StepContext) => unknown }

export type StepRead =
  | { readonly ok: true; readonly step: UsableStep }
  | { readonly ok: false; readonly problem: string }

const MINUTE_MS = 60_000
const LONGEST_MS = 60 * MINUTE_MS
const LONGEST_PROBLEM = 500

const MEMBERS: readonly string[] = ['description', 'input', 'output', 'repeat', 'secrets', 'timeoutMs', 'run']
const REPEATS = ['safe', 'keyed', 'never'] as const

/** What a file of `steps/` exports, or why it is no step. */
export async function readStep(load: () => Promise<unknown>): Promise<StepRead> {
  let module: unknown
  try {
    module = await load()
  } catch (error) {
    return no(error instanceof Error ? `${error.name}: ${error.message}` : 'it throws while it is loaded')
  }
  const step = isObject(module) ? (module as { readonly default?: unknown }).default : undefined
  if (!isObject(step)) return no('it must export a step by default: export default defineStep({ … })')
  const strange = Object.keys(step).find(name => !MEMBERS.includes(name))
  if (strange !== undefined)
    return no(`${JSON.stringify(strange)} is not a member of a step; it has ${MEMBERS.join(', ')}`)
  return readMembers(step)
}

function readMembers(step: { readonly [member: string]: unknown }): StepRead {
  const { run, input = {}, output = {}, repeat = 'never', secrets = {}, timeoutMs = MINUTE_MS } = step
  if (typeof run !== 'function') return no('run must be a function')
  if (!isData(input)) return no('input must be a JSON Schema object')
  if (!isData(output)) return no('output must be a JSON Schema object')
  const known = REPEATS.find(one => one === repeat)
  if (known === undefined) return no('repeat must be safe, keyed or never')
  if (!Number.isInteger(timeoutMs) || Number(timeoutMs) < 1 || Number(timeoutMs) > LONGEST_MS)
    return no(`timeoutMs must be a whole number from 1 to ${LONGEST_MS}`)
  if (!isData(secrets) || !Object.values(secrets).every(isSecret))
    return no('secrets must map names to { env: VARIABLE } or { file: PATH }')
  const shown = {
    input,
    output,
    repeat: known,
    secrets: secrets as { readonly [name: string]: JsonObject },
    timeoutMs: Number(timeoutMs),
  }
  return { ok: true, step: { shown, run: context => run.call(step, context) as unknown } }
}

const no = (problem: string): StepRead => ({ ok: false, problem: problem.slice(0, LONGEST_PROBLEM) })

const isSecret = (value: Json): boolean =>
  isObject(value) &&
  Object.keys(value).length === 1 &&
  (typeof value.env === 'string' || typeof value.file === 'string')

/** An object of nothing but JSON. */
function isData(value: unknown): value is JsonObject {
  if (!isObject(value)) return false
  try {
    const text = JSON.stringify(value)
    return text !== undefined && text.length < 100_000
  } catch {
    return false
  }
}
