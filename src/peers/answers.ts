import type { Spend } from '../core/budget/budget.js'
import { isObject, type Json, type JsonObject, own } from '../core/json.js'
import { isNamed } from '../core/names.js'
import { type Failure, failure } from '../core/problem.js'
import type { RunStatus } from '../core/run/events.js'
import type { PeerLook } from '../engine/ports/peers.js'

/**
 * What a peer's documents say, as far as it can be used. All of it is what somebody else wrote: fields are taken one by
 * one, checked, and bounded, and what is missing or of another shape is no answer (P3).
 */

const GOING: ReadonlySet<string> = new Set<RunStatus>([
  'pending',
  'running',
  'paused',
  'cancelling',
  'waiting-approval',
  'waiting-input',
  'waiting-external',
])
const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'cancelled'])

type Ended = Omit<Extract<PeerLook, { is: 'ended' }>, 'foreign'>

/** How a run stands by its snapshot, which must be that of this very run. */
export function lookIn(
  document: Json | undefined,
  runId: string,
  wanted: readonly string[],
): Extract<PeerLook, { is: 'going' }> | Ended | undefined {
  if (!isObject(document) || document.runId !== runId || typeof document.status !== 'string') return undefined
  const { status } = document
  if (GOING.has(status)) return { is: 'going', status: status as RunStatus }
  if (!ENDED.has(status)) return undefined
  const claimed = claimIn(document)
  return {
    is: 'ended',
    status: status as Ended['status'],
    variables: status === 'completed' ? taken(document, wanted) : {},
    ...(status === 'failed' ? { error: errorIn(document.error) } : {}),
    ...(gaveUp(document) ? { goalSatisfied: false as const } : {}),
    ...(claimed ? { claimed } : {}),
  }
}

/** P9: names that it has, but for those of which only a mask is shown. Channels are shown with the variables. */
function taken({ variables = {} }: JsonObject, wanted: readonly string[]): JsonObject {
  if (!isObject(variables)) return {}
  const known = [...new Set(wanted)].flatMap((name): [string, Json][] => {
    const value = own(variables, name)
    return value === undefined || isMasked(value) ? [] : [[name, value]]
  })
  return Object.fromEntries(known)
}

const MASKED = /\[REDACTED(?::[^\]]{0,256})?\]/

/** Without recursion: how deep it nests, somebody else has chosen. */
export function isMasked(value: Json): boolean {
  const left: Json[] = [value]
  for (let next = left.pop(); next !== undefined; next = left.pop()) {
    if (typeof next === 'string' && MASKED.test(next)) return true
    if (typeof next !== 'object' || next === null) continue
    for (const part of Array.isArray(next) ? next : Object.entries(next).flat()) left.push(part)
  }
  return false
}

const LONGEST_MESSAGE = 500

/** What a failure said of itself is for people to read. */
function errorIn(error: Json | undefined): Failure {
  const { code = '', message = '' } = isObject(error) ? error : {}
  const said = typeof message === 'string' ? message.replace(/\p{Cc}/gu, ' ').slice(0, LONGEST_MESSAGE) : ''
  const details = { childError: typeof code === 'string' && /^[a-z0-9_]{1,64}$/.test(code) ? code : 'unknown' }
  return failure('child_failed', `the run at the peer failed: ${said || 'it did not say why'}`, {
    retryable: false,
    details,
  })
}

/** R-VERIFY-19 */
function gaveUp({ convergence }: JsonObject): boolean {
  return isObject(convergence) && convergence.goalSatisfied === false
}

const NANO = 1_000_000_000

/** P11: what it says to have cost; nothing where it says nothing that could be a cost. */
function claimIn({ assay, metrics }: JsonObject): Partial<Spend> | undefined {
  const total = isObject(assay) && isObject(assay.spend) ? totalIn(assay.spend) : undefined
  if (total) return total
  const cost = isObject(metrics) && isObject(metrics.openwopCost) ? metrics.openwopCost.usd : undefined
  const costNano = nanoOf(cost)
  return costNano === undefined ? undefined : { costNano }
}

function totalIn(spend: JsonObject): Partial<Spend> | undefined {
  const [tokens, costNano, toolCalls, retries] = [
    countOf(spend.tokens),
    nanoOf(spend.costUsd),
    countOf(spend.toolCalls),
    countOf(spend.retries),
  ]
  const claim = {
    ...(tokens === undefined ? {} : { tokens }),
    ...(costNano === undefined ? {} : { costNano }),
    ...(toolCalls === undefined ? {} : { toolCalls }),
    ...(retries === undefined ? {} : { retries }),
  }
  return Object.keys(claim).length > 0 ? claim : undefined
}

/** Far beyond what anybody spends, and far within what sums exactly. */
const MOST_COUNTED = 1_000_000_000
const MOST_USD = 1_000_000

const countOf = (value: Json | undefined): number | undefined =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MOST_COUNTED ? value : undefined

const nanoOf = (usd: Json | undefined): number | undefined =>
  typeof usd === 'number' && usd >= 0 && usd <= MOST_USD ? Math.round(usd * NANO) : undefined

export const runIdIn = (document: Json | undefined): string | undefined =>
  isObject(document) && typeof document.runId === 'string' && isNamed('runId', document.runId)
    ? document.runId
    : undefined

/**
 * The runs of a list that have this tag, newest first; undefined where it is no whole list of runs with their tags, which
 * says nothing.
 */
export function runsTagged(document: Json | undefined, tag: string): string[] | undefined {
  const { runs, nextCursor = null } = isObject(document) ? document : {}
  if (!Array.isArray(runs) || nextCursor !== null) return undefined
  const found: string[] = []
  for (const run of runs) {
    const runId = runIdIn(run)
    if (!isObject(run) || runId === undefined || !Array.isArray(run.tags)) return undefined
    // One that does not look at the filter shows others.
    if (!run.tags.includes(tag)) return undefined
    found.push(runId)
  }
  return found
}

/** The highest sequence of a log, by what a poll beyond it answers. */
export function lastSequenceIn(document: Json | undefined): number | undefined {
  const last = isObject(document) ? document.lastEventSeq : undefined
  return typeof last === 'number' && Number.isInteger(last) && last >= 0 ? last : undefined
}

/** The id of the event that ended the run, which must say so of this run, and be the last. */
export function endEventIn(document: Json | undefined, runId: string, status: string): string | undefined {
  const events = isObject(document) && Array.isArray(document.events) ? document.events : []
  const last = events.at(-1)
  if (!isObject(last) || last.runId !== runId || last.type !== `run.${status}`) return undefined
  return typeof last.eventId === 'string' && isNamed('foreignEventId', last.eventId) ? last.eventId : undefined
}

/** The host id that a discovery document advertises, at its root or under `capabilities`. */
export function hostIdIn(document: Json | undefined): string | undefined {
  if (!isObject(document)) return undefined
  const { multiAgent = isObject(document.capabilities) ? document.capabilities.multiAgent : undefined } = document
  const model = isObject(multiAgent) ? multiAgent.executionModel : undefined
  const causation = isObject(model) ? model.crossHostCausation : undefined
  const hostId = isObject(causation) ? causation.hostId : undefined
  return typeof hostId === 'string' ? hostId : undefined
}

/** The code of a refusal, as far as it is one. */
export const refusalCodeIn = (document: Json | undefined): string => {
  const code = isObject(document) ? document.error : undefined
  return typeof code === 'string' && /^[a-z0-9_]{1,64}$/.test(code) ? code : 'unknown'
}
