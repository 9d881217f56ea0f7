import type { Json } from '../../core/json.js'
import type { ClaimResult, EffectClaim } from '../../engine/ports/effect-ledger.js'
import { mayHaveHappened } from '../invocation-rules.js'
import { bytesOfTexts } from '../usage-rules.js'
import { addTo, type InvocationRow, isAlive, type Tables } from './tables.js'

/** A host that is not alive starts nothing new: for it, every effect is in somebody else's hands. */
export function claimEffect(tables: Tables, claim: EffectClaim): ClaimResult {
  const held = tables.invocations.get(claim.id)
  if (held?.outcome !== undefined) return { kind: 'done', outcome: parsed(held.outcome) }
  const free = held === undefined || !isAlive(tables, held.hostId)
  if (!free || !isAlive(tables, claim.hostId)) return { kind: 'in-flight' }
  tables.invocations.set(claim.id, { ...claim, attempt: Math.max(claim.attempt, held?.attempt ?? 0) })
  return { kind: 'claimed', again: held !== undefined && mayHaveHappened(held.attempt, claim.attempt) }
}

export function finishEffect(
  { invocations, bytes }: Tables,
  id: string,
  hostId: string,
  done: { readonly outcome: Json; readonly cacheKey: string | undefined },
): void {
  const held = invocations.get(id)
  if (held?.hostId !== hostId || held.outcome !== undefined) return
  const key = done.cacheKey === undefined ? {} : { cacheKey: done.cacheKey }
  const outcome = JSON.stringify(done.outcome)
  invocations.set(id, { ...held, ...key, outcome })
  addTo(bytes, held.tenant, bytesOfTexts(outcome))
}

export function releaseEffect({ invocations }: Tables, id: string, hostId: string): void {
  const held = invocations.get(id)
  if (held?.hostId === hostId && held.outcome === undefined) invocations.delete(id)
}

export function abandonEffect({ invocations }: Tables, id: string, hostId: string): void {
  const held = invocations.get(id)
  if (held?.hostId === hostId && held.outcome === undefined) invocations.set(id, { ...held, hostId: '' })
}

export const readEffect = ({ invocations }: Tables, id: string): Json | undefined => outcomeOf(invocations.get(id))

/** The key alone finds nothing, for it is the same in every tenant. */
export const findAnswer = ({ invocations }: Tables, tenant: string, cacheKey: string): Json | undefined =>
  outcomeOf(
    [...invocations.values()]
      .filter(row => row.tenant === tenant && row.cacheKey === cacheKey)
      .sort((a, b) => b.at - a.at || (a.id < b.id ? 1 : -1))[0],
  )

export function purgeEffects({ invocations, open, bytes }: Tables, olderThan: number): number {
  const old = [...invocations.values()].filter(
    ({ at, outcome, runId }) => at < olderThan && outcome !== undefined && !open.has(runId),
  )
  for (const { id, tenant, outcome } of old) {
    invocations.delete(id)
    addTo(bytes, tenant, -bytesOfTexts(outcome ?? null))
  }
  return old.length
}

const outcomeOf = (row: InvocationRow | undefined): Json | undefined =>
  row?.outcome === undefined ? undefined : parsed(row.outcome)

const parsed = (outcome: string): Json => JSON.parse(outcome) as Json
