import { isObject, type Json } from '../../core/json.js'
import type { TrailAction, TrailEntry, TrailOutcome } from '../../engine/ports/audit.js'
import type { Edge } from '../deps.js'
import type { HttpAnswer } from '../http-answer.js'
import type { Route } from '../route.js'
import type { Caller } from './key-cache.js'

/** What the audit trail is told of a route (S17). */
export type RecordedAs = {
  readonly action: TrailAction
  /** What it is done to, by the parameters of the path; `-` where it has no id yet. */
  readonly object: (params: { readonly [name: string]: string }) => string
  /** What has come to be, read off the answer. */
  readonly made?: (answer: HttpAnswer) => string | undefined
}

type Asked = Pick<Route, 'method' | 'recorded'>

/**
 * Tells the trail what is done by a key. What changes something is recorded before it is done and again when it is known
 * what became of it; what is read, before it is shown. Where the trail cannot be written, nothing is done or shown.
 */
export async function recorded(
  edge: Pick<Edge, 'trail'>,
  route: Asked,
  caller: Caller,
  params: { readonly [name: string]: string },
  handle: () => Promise<HttpAnswer>,
): Promise<HttpAnswer> {
  const { recorded: what, method } = route
  if (what === undefined) return handle()
  const tell = (outcome: TrailOutcome, object = objectOf(what, params)) =>
    edge.trail.record({ ...whoseOf(caller), action: what.action, object, outcome })
  if (method !== 'GET') await tell('begun')
  const answer = await handle()
  await tell(answer.status < 400 ? 'allowed' : 'refused', what.made?.(answer))
  return answer
}

/** Whoever has a key, and not the scope, is on record as well. */
export async function recordRefusal(
  edge: Pick<Edge, 'trail'>,
  { recorded: what }: Asked,
  caller: Caller,
  params: { readonly [name: string]: string },
): Promise<void> {
  if (what === undefined) return
  await edge.trail.record({
    ...whoseOf(caller),
    action: what.action,
    object: objectOf(what, params),
    outcome: 'refused',
  })
}

/**
 * A person lets a result pass that a gate has not passed: on record before it is done, and with what became of it. Any other
 * answer is in the log of its run alone.
 */
export async function overriding<Said extends { readonly ok: boolean }>(
  edge: Pick<Edge, 'trail'>,
  whose: Pick<TrailEntry, 'tenant' | 'principal' | 'credential'>,
  { runId, shown, value }: { readonly runId: string; readonly shown: Json; readonly value: unknown },
  answer: () => Promise<Said>,
): Promise<Said> {
  if (!isObject(shown) || shown.gateId === undefined || (value as { action?: unknown } | null)?.action !== 'accept')
    return answer()
  const entry = { ...whose, action: 'verdict.override' as const, object: `run:${runId}` }
  await edge.trail.record({ ...entry, outcome: 'begun' })
  const said = await answer()
  await edge.trail.record({ ...entry, outcome: said.ok ? 'allowed' : 'refused' })
  return said
}

const whoseOf = ({ tenant, principal, keyId }: Caller) => ({ tenant, principal, credential: keyId })

/** Paths may hold anything; an id is a word of ours. */
const PLAIN = /^[\w.:@~/-]{1,300}$/

function objectOf({ object }: RecordedAs, params: { readonly [name: string]: string }): string {
  const named = object(params)
  return PLAIN.test(named) ? named : '-'
}
