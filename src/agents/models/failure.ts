import type { ModelName, Usage } from '../../core/invocation/brief.js'
import type { EgressCode } from '../../egress/egress.js'
import type { AgentFailure } from '../../engine/ports/agents.js'
import { cleanText } from '../answer/clean.js'

/** Why a model call gave no reply. The keys are codes of core FAILURES. */
export const MODEL_FAILURES = {
  model_not_configured: 'The model, or its provider, is not one that this host is set up for',
  model_rejected: 'The provider does not take such requests; the settings must change',
  model_unavailable: 'The provider is overloaded, limits the rate or cannot be reached',
  model_timeout: 'The provider did not finish its answer in time; it may bill it',
  model_broke_off: 'The answer broke off or made no sense; it may be billed',
  model_output_too_large: 'The model said more than fits; it may be billed',
  verifier_canary: 'A verifier did what the text it judges asked it to; its vote is void',
} as const

export type ModelFailureCode = keyof typeof MODEL_FAILURES

/** The request was turned away unread: nothing is billed, and it may be put again. */
const TURNED_AWAY: ReadonlySet<number | EgressCode> = new Set<number | EgressCode>([
  408,
  425,
  429,
  503,
  529,
  'connect-failed',
  'tls-failed',
  'unresolvable',
])

export const isTurnedAway = (reason: number | EgressCode): boolean => TURNED_AWAY.has(reason)

/** What to do about a status, in so many words; never what the provider says, which may quote the request. */
function advice(status: number): string {
  if (status === 401 || status === 403) return 'check the key and what it may use'
  if (status === 402) return 'check the account'
  if (status === 404) return 'check the name of the model and the base URL'
  if (status === 413) return 'the request is too large for this model'
  if (status >= 300 && status < 400) return 'check the base URL; redirects are not followed'
  return 'check the name of the model, and whether it takes tools and answers of this length'
}

export type Failing = ModelName & { readonly tries: number; readonly worst: Usage }

/** The answer was an HTTP status other than success. */
export function failureOfStatus(status: number, call: Failing): AgentFailure {
  const said = `${shown(call)} answered with HTTP ${status}`
  if (isTurnedAway(status)) return failure('model_unavailable', `${said}: try again later`, call, { status })
  // An error of the server's own may come after the model has done its work.
  if (status >= 500 || status === 409) {
    return failure('model_unavailable', said, call, { status }, call.worst)
  }
  return failure('model_rejected', `${said}: ${advice(status)}`, call, { status })
}

/** There was no answer at all. */
export function failureOfEgress(code: EgressCode, call: Failing): AgentFailure {
  if (isTurnedAway(code)) {
    return failure('model_unavailable', `${shown(call)} cannot be reached (${code})`, call)
  }
  if (code === 'malformed-url' || code === 'refused-url' || code === 'blocked-address') {
    return failure(
      'model_rejected',
      `${shown(call)} is at a URL that is not let out (${code}): check the base URL`,
      call,
    )
  }
  return failureHalfWay(code, call)
}

/** The request was sent, so it may be billed; `code` says why the answer ended, if the network did it. */
export function failureHalfWay(code: EgressCode | undefined, call: Failing): AgentFailure {
  if (code === 'timeout') return failure('model_timeout', `${shown(call)} did not answer in time`, call, {}, call.worst)
  if (code === 'too-large') return requestTooLarge(call)
  return failure('model_broke_off', `the answer of ${shown(call)} broke off or made no sense`, call, {}, call.worst)
}

export const requestTooLarge = (call: Failing): AgentFailure =>
  failure('model_output_too_large', `${shown(call)} said more than fits`, call, {}, call.worst)

/** It was answered and is billed, but it is not a vote; asked again, it could only hide better whose orders it takes. */
export const steered = (call: Failing): AgentFailure =>
  failure(
    'verifier_canary',
    `${shown(call)} did what the output it judges told it to; use another model`,
    call,
    {},
    call.worst,
  )

/** Taken back before anything was sent. */
export const takenBack = (call: Failing): AgentFailure =>
  failure('model_broke_off', `the call of ${shown(call)} was taken back`, call)

/** Nothing was sent, and nothing will be before somebody changes something. */
export const rejected = (why: string, call: Failing): AgentFailure =>
  failure('model_rejected', `${shown(call)}: ${why}`, call)

const RETRYABLE: ReadonlySet<ModelFailureCode> = new Set(['model_unavailable', 'model_timeout', 'model_broke_off'])

const failure = (
  code: ModelFailureCode,
  message: string,
  { provider, model, tries }: Failing,
  more: { readonly status?: number } = {},
  usage?: Usage,
): AgentFailure => ({
  ok: false,
  code,
  message,
  details: { provider, model, tries, ...more },
  retryable: RETRYABLE.has(code),
  ...(usage === undefined ? undefined : { usage }),
})

/** A run may name a model, so the name is not to be trusted. */
const shown = ({ provider, model }: ModelName): string => `${plain(provider)} (${plain(model)})`

const plain = (name: string): string => cleanText(name).replace(/\s/g, ' ').slice(0, 100)
