import type { Refusal } from '../core/problem.js'
import { PROBLEMS, type ProblemCode } from '../core/problem.js'

/** A response as a value: rendered once, remembered or sent as it is. */
export type HttpAnswer = {
  readonly status: number
  readonly body: string
  /** In place of `body`: what is sent piece by piece, as it is taken (`streaming/long-answer.ts`). Never remembered. */
  readonly pieces?: AsyncIterable<string>
  readonly headers?: { readonly [name: string]: string }
  /** Set on refusals, for the access log and for deciding what may be remembered. */
  readonly code?: ProblemCode
  /** What to remember under an Idempotency-Key instead of `body`: for answers that show a secret once. */
  readonly remembered?: string
}

export const json = (status: number, value: unknown, headers?: HttpAnswer['headers']): HttpAnswer =>
  headers === undefined ? { status, body: JSON.stringify(value) } : { status, body: JSON.stringify(value), headers }

/**
 * The only renderer of refusals: a closed envelope `{error, message, details?}` (contract core §3.2). A `retryAfter`
 * in the details is also sent as Retry-After, so the two cannot disagree.
 */
export function problem(refusal: Refusal, headers?: HttpAnswer['headers']): HttpAnswer {
  const { code, message, details } = refusal
  const body =
    details === undefined ? JSON.stringify({ error: code, message }) : JSON.stringify({ error: code, message, details })
  const { status } = PROBLEMS[code]
  const wait = secondsToWait(details)
  const all = wait === undefined ? headers : { ...headers, 'retry-after': String(wait) }
  return all === undefined ? { status, body, code } : { status, body, code, headers: all }
}

function secondsToWait(details: Refusal['details']): number | undefined {
  if (details === undefined) return undefined
  if (typeof details.retryAfter === 'number') return details.retryAfter
  if (typeof details.retryAfterMs === 'number') return Math.max(1, Math.ceil(details.retryAfterMs / 1000))
  return undefined
}

/** Thrown where a refusal must leave through several callers; the error handler renders it. */
export class Refused extends Error {
  override readonly name = 'Refused'
  constructor(readonly refusal: Refusal) {
    super(refusal.message)
  }
}
