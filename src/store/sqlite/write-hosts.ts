import { WAKE_NOW } from '../../core/run/wake-time.js'
import type { Connection } from './connection.js'

export const isAlive = (db: Connection, hostId: string): boolean =>
  db.get('SELECT state FROM hosts WHERE host_id = ?', hostId)?.state === 'alive'

export function registerHost(
  db: Connection,
  { hostId, hostName, leaseMs, now }: { hostId: string; hostName: string; leaseMs: number; now: number },
): void {
  const state = db.get('SELECT state FROM hosts WHERE host_id = ?', hostId)?.state ?? 'alive'
  if (state !== 'alive') throw new Error(`host ${hostId} was ${state}: register under a new id`)
  db.run(`UPDATE hosts SET state = 'fenced' WHERE host_name = ? AND host_id <> ? AND state = 'alive'`, hostName, hostId)
  db.run(
    `INSERT INTO hosts (host_id, host_name, lease_until, state) VALUES (?, ?, ?, 'alive')
     ON CONFLICT (host_id) DO UPDATE SET lease_until = excluded.lease_until`,
    hostId,
    hostName,
    now + leaseMs,
  )
  // A host without a row counts as fenced, so the row of one that holds nothing any more is not needed.
  db.exec(`DELETE FROM hosts WHERE state <> 'alive'
              AND NOT EXISTS (SELECT 1 FROM runs WHERE owner = host_id AND ended_at IS NULL)`)
}

export const heartbeat = (db: Connection, beat: { hostId: string; leaseMs: number; now: number }): boolean =>
  db.run(
    `UPDATE hosts SET lease_until = ? WHERE host_id = ? AND state = 'alive'`,
    beat.now + beat.leaseMs,
    beat.hostId,
  ) > 0

export function releaseHost(db: Connection, hostId: string): void {
  db.run(`UPDATE hosts SET state = 'released' WHERE host_id = ? AND state = 'alive'`, hostId)
}

/** The claiming host itself is never fenced here: that it asks shows that it lives. A fenced one claims nothing. */
export function claimOrphans(db: Connection, claim: { hostId: string; now: number; limit: number }): number {
  if (!isAlive(db, claim.hostId)) return 0
  db.run(
    `UPDATE hosts SET state = 'fenced' WHERE state = 'alive' AND lease_until <= ? AND host_id <> ?`,
    claim.now,
    claim.hostId,
  )
  // CROSS JOIN: from the few hosts that are gone to their runs, never through all open runs.
  return db.run(
    `UPDATE runs SET owner = ?, epoch = epoch + 1, attempts = attempts + coalesce(wake_at <= ? AND EXISTS (
          SELECT 1 FROM hosts h WHERE h.host_id = runs.owner AND h.state = 'fenced'), 0)
      WHERE run_id IN (
        SELECT r.run_id FROM hosts h CROSS JOIN runs r ON r.owner = h.host_id AND r.ended_at IS NULL
         WHERE h.state <> 'alive' ORDER BY r.wake_at IS NULL, r.wake_at LIMIT ?)`,
    claim.hostId,
    WAKE_NOW,
    claim.limit,
  )
}
