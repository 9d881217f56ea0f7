import { type Refusal, refuse } from '../../../core/problem.js'
import type { WantedView } from '../../../engine/journal/desk.js'
import type { Moment } from '../../../engine/journal/moment.js'
import { AT_PATTERN } from '../../../wire/journal/memory.js'
import { type HttpAnswer, problem } from '../../http-answer.js'

/** `RUN:SEQ` or `RUN:end`, which the schema of the query has looked at. */
export function momentOf(at: string): Moment {
  const [, runId = '', seq] = new RegExp(AT_PATTERN).exec(at) ?? []
  return { runId, seq: seq === 'end' ? 'end' : Number(seq) }
}

/** A scope as it is now, or what a run saw of its own. */
export function wantedBy({ scope, at }: { readonly scope?: string; readonly at?: string }): WantedView | Refusal {
  if (scope !== undefined && at === undefined) return { scope }
  if (scope === undefined && at !== undefined) return { at: momentOf(at) }
  const message =
    scope === undefined
      ? 'query.scope is required, unless query.at names a moment of a run; GET /v1/host/assay/memory/scopes lists what there is.'
      : 'query.scope and query.at cannot both be given: at a moment of a run its own scope is looked into. Leave one out.'
  return refuse('validation_error', message, { field: 'query.scope' })
}

/** Events of the tenant itself have no run. */
export const isOfRun = ({ runId }: { readonly runId: string }): boolean => !runId.startsWith('tenant:')

/** Tenants' own words are nobody else's to keep a copy of. */
export const PRIVATE = { 'cache-control': 'private, no-store', 'x-content-type-options': 'nosniff' }

/** 501 on all routes of a part of the protocol that is switched off (R-WS-1). */
export const switchedOff = (setting: string, what: string): HttpAnswer =>
  problem(refuse('capability_not_provided', `This host has no ${what}: it is switched off (${setting}).`, { setting }))
