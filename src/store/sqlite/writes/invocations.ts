import type { EffectClaim } from '../../../engine/ports/effect-ledger.js'
import { mayHaveHappened } from '../../invocation-rules.js'
import type { Connection } from '../connection.js'
import { SQL } from '../statements.js'
import { isAlive } from './hosts.js'

export type ClaimedInvocation =
  | { kind: 'claimed'; again: boolean }
  | { kind: 'done'; outcome: string }
  | { kind: 'in-flight' }

/** A host that is not alive starts nothing new: for it, every effect is in somebody else's hands. */
export function claimEffect(
  db: Connection,
  { claim, token }: { claim: EffectClaim; token: string },
): ClaimedInvocation {
  const held = db.get(SQL.invocations.held, claim.id)
  if (held && held.outcome !== null) return { kind: 'done', outcome: held.outcome as string }
  // The same try of the same claim, whose answer was lost.
  if (held?.claim === token && held.attempt === claim.attempt) return { kind: 'claimed', again: held.again === 1 }
  const free = held === undefined || held.claim === token || !isAlive(db, held.host_id as string)
  if (!free || !isAlive(db, claim.hostId)) return { kind: 'in-flight' }
  const again = held !== undefined && mayHaveHappened(held.attempt as number, claim.attempt)
  db.run(
    SQL.invocations.claim,
    claim.id,
    claim.tenant,
    claim.runId,
    claim.nodeId,
    claim.ordinal,
    claim.provider,
    claim.attempt,
    claim.hostId,
    claim.at,
    token,
    again ? 1 : 0,
  )
  return { kind: 'claimed', again }
}

export function finishEffect(
  db: Connection,
  { id, hostId, outcome, cacheKey }: { id: string; hostId: string; outcome: string; cacheKey: string | null },
): void {
  db.run(SQL.invocations.finish, outcome, cacheKey, id, hostId)
}

export function releaseEffect(db: Connection, { id, hostId }: { id: string; hostId: string }): void {
  db.run(SQL.invocations.release, id, hostId)
}

export function abandonEffect(db: Connection, { id, hostId }: { id: string; hostId: string }): void {
  db.run(SQL.invocations.abandon, id, hostId)
}

export const purgeEffects = (db: Connection, { olderThan, limit }: { olderThan: number; limit: number }): number =>
  db.run(SQL.invocations.purge, olderThan, limit)
