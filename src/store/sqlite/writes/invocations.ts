import type { EffectClaim } from '../../../engine/ports/effect-ledger.js'
import { mayHaveHappened } from '../../invocation-rules.js'
import type { Connection } from '../connection.js'
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
  const held = db.get('SELECT host_id, claim, attempt, again, outcome FROM invocations WHERE id = ?', claim.id)
  if (held && held.outcome !== null) return { kind: 'done', outcome: held.outcome as string }
  // The same try of the same claim, whose answer was lost.
  if (held?.claim === token && held.attempt === claim.attempt) return { kind: 'claimed', again: held.again === 1 }
  const free = held === undefined || held.claim === token || !isAlive(db, held.host_id as string)
  if (!free || !isAlive(db, claim.hostId)) return { kind: 'in-flight' }
  const again = held !== undefined && mayHaveHappened(held.attempt as number, claim.attempt)
  db.run(
    `INSERT INTO invocations (id, tenant, run_id, node_id, ordinal, provider, attempt, host_id, at, claim, again)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET tenant = excluded.tenant, attempt = max(attempt, excluded.attempt),
       host_id = excluded.host_id, at = excluded.at, claim = excluded.claim, again = excluded.again`,
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
  db.run(
    'UPDATE invocations SET outcome = ?, cache_key = ? WHERE id = ? AND host_id = ? AND outcome IS NULL',
    outcome,
    cacheKey,
    id,
    hostId,
  )
}

export function releaseEffect(db: Connection, { id, hostId }: { id: string; hostId: string }): void {
  db.run('DELETE FROM invocations WHERE id = ? AND host_id = ? AND outcome IS NULL', id, hostId)
}

export function abandonEffect(db: Connection, { id, hostId }: { id: string; hostId: string }): void {
  db.run(`UPDATE invocations SET host_id = '', claim = '' WHERE id = ? AND host_id = ? AND outcome IS NULL`, id, hostId)
}

/** What an open run was told may be asked for again, however old it is. */
export const purgeEffects = (db: Connection, { olderThan, limit }: { olderThan: number; limit: number }): number =>
  db.run(
    `DELETE FROM invocations WHERE id IN (
       SELECT id FROM invocations i WHERE at < ? AND outcome IS NOT NULL
          AND NOT EXISTS (SELECT 1 FROM runs r WHERE r.run_id = i.run_id AND r.ended_at IS NULL) LIMIT ?)`,
    olderThan,
    limit,
  )
