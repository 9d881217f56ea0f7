import { isObject, type Json, type JsonObject, own } from '../json.js'
import { isWorkId, WORK_ID_RULE } from '../names.js'

/** What an orchestrator may decide in one turn (contract agents §3.2). */
export type OrchestratorDecision =
  | { readonly kind: 'next-worker'; readonly nextWorkerIds: readonly string[]; readonly confidence?: number }
  | {
      readonly kind: 'terminate'
      readonly reason?: string
      readonly confidence?: number
      readonly successCriteria?: readonly { readonly key: string; readonly met: boolean }[]
    }
  | {
      readonly kind: 'clarify'
      readonly prompt?: string
      readonly questions?: readonly JsonObject[]
      readonly confidence?: number
    }
  | {
      readonly kind: 'escalate'
      readonly reason?: string
      readonly title?: string
      readonly artifact?: Json
      readonly confidence?: number
    }
  | { readonly kind: 'ask-user'; readonly prompt: string }

/** No operator can set the floor lower (R-CONF-5). */
export const LOWEST_FLOOR = 0.5

/** What the host asks of an orchestrator's confidence. */
export type ConfidencePolicy = {
  /** A decision below it is shown to a person first. */
  readonly floor: number
  /** `approval`, `clarification` or a vendor kind `x-host-…`. */
  readonly interruptKind: string
}

/** Below which an agent's own decision is held, unless the run or the agent's manifest says otherwise (R-LOWC-4). */
export const DEFAULT_THRESHOLD = 0.7

type Field = (value: Json, name: string) => string[]

const must =
  (holds: (value: Json) => boolean, what: string): Field =>
  (value, name) =>
    holds(value) ? [] : [`${name} must be ${what}`]

const isText = (value: Json): value is string => typeof value === 'string' && value !== ''
const isShare = (value: Json): boolean => typeof value === 'number' && value >= 0 && value <= 1

const text = must(isText, 'a text')
const confidence = must(isShare, 'a number from 0 to 1')
const workers = must(
  value =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.length <= MAX_WORKERS &&
    value.every(id => isText(id) && isWorkId(id)),
  `a list of 1 to 100 names, each ${WORK_ID_RULE}`,
)
const criteria = must(
  value =>
    Array.isArray(value) &&
    value.every(
      item =>
        isObject(item) && isText(item.key ?? null) && typeof item.met === 'boolean' && Object.keys(item).length === 2,
    ),
  'a list of {key, met}',
)
const questions = must(
  value =>
    Array.isArray(value) &&
    value.length > 0 &&
    value.every(
      item =>
        isObject(item) &&
        isText(item.id ?? null) &&
        isText(item.question ?? null) &&
        (item.schema === undefined || isObject(item.schema)) &&
        Object.keys(item).every(key => ['id', 'question', 'schema'].includes(key)),
    ) &&
    new Set(value.map(item => (isObject(item) ? item.id : null))).size === value.length,
  'a list of {id, question, schema?}, at least one, each with its own id',
)

/** Workers that one decision may name at most. */
const MAX_WORKERS = 100

const KINDS: { readonly [kind: string]: { readonly [field: string]: Field | readonly [Field] } } = {
  'next-worker': { nextWorkerIds: [workers], confidence },
  terminate: { reason: text, confidence, successCriteria: criteria },
  clarify: { prompt: text, questions, confidence },
  escalate: { reason: text, title: text, artifact: () => [], confidence },
  'ask-user': { prompt: [text] },
}

/** R-ORCH-1: everything wrong with a decision; each entry names the field and the fix. */
export function decisionProblems(value: Json | undefined, field: string): string[] {
  if (!isObject(value)) return [`${field} must be an object with a kind`]
  const known = typeof value.kind === 'string' ? own(KINDS, value.kind) : undefined
  if (known === undefined)
    return [`${field}.kind must be one of ${Object.keys(KINDS).join(', ')}, not ${JSON.stringify(value.kind ?? null)}`]
  const unknown = Object.keys(value).filter(name => name !== 'kind' && own(known, name) === undefined)
  const wrong = Object.entries(known).flatMap(([name, rule]) => {
    const given = own(value, name)
    const [check, required] = Array.isArray(rule) ? [rule[0] as Field, true] : [rule as Field, false]
    if (given === undefined) return required ? [`${field}.${name} is missing`] : []
    return check(given, `${field}.${name}`)
  })
  return [...wrong, ...unknown.map(name => `${field}.${name} is not part of a ${value.kind} decision; leave it out`)]
}

export const isDecision = (value: Json | undefined): value is OrchestratorDecision & JsonObject =>
  decisionProblems(value, '').length === 0

/** R-CONF-2, R-CONF-6: whether a person must look first. No confidence is no opinion. */
export const isBelow = (decision: OrchestratorDecision, floor: number): boolean =>
  (decision.kind === 'next-worker' || decision.kind === 'terminate') &&
  decision.confidence !== undefined &&
  decision.confidence < floor
