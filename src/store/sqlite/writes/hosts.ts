import type { Weights } from '../../../core/quotas.js'
import { WAKE_NOW } from '../../../core/run/wake-time.js'
import { inTurns } from '../../turns.js'
import type { Connection } from '../connection.js'

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
export function claimOrphans(db: Connection, { hostId, now, limit, weights }: Claim): number {
  if (!isAlive(db, hostId)) return 0
  db.run(`UPDATE hosts SET state = 'fenced' WHERE state = 'alive' AND lease_until <= ? AND host_id <> ?`, now, hostId)
  const orphans = new Map<string, Orphan[]>()
  for (const gone of db.all(`SELECT host_id, state FROM hosts WHERE state <> 'alive' ORDER BY host_id`))
    for (const tenant of tenantsHeldBy(db, gone.host_id as string)) {
      const known = orphans.get(tenant) ?? []
      orphans.set(tenant, [...known, ...orphansOf(db, gone.host_id as string, gone.state === 'fenced', tenant, limit)])
    }
  for (const list of orphans.values()) list.sort((a, b) => a.wakeAt - b.wakeAt)
  const claimed = inTurns(orphans, weights, limit)
  for (const { runId, interrupted } of claimed)
    db.run(
      'UPDATE runs SET owner = ?, epoch = epoch + 1, attempts = attempts + ? WHERE run_id = ?',
      hostId,
      Number(interrupted),
      runId,
    )
  return claimed.length
}

type Claim = {
  readonly hostId: string
  readonly now: number
  readonly limit: number
  readonly weights: Weights
}
type Orphan = { readonly runId: string; readonly wakeAt: number; readonly interrupted: boolean }

/** Found one by one through the index, so that it costs nothing how many runs each has. */
export function tenantsHeldBy(db: Pick<Connection, 'get'>, hostId: string): string[] {
  const sql = 'SELECT tenant FROM runs WHERE owner = ? AND ended_at IS NULL AND tenant > ? ORDER BY tenant LIMIT 1'
  const tenants: string[] = []
  for (let row = db.get(sql, hostId, ''); row; row = db.get(sql, hostId, row.tenant as string))
    tenants.push(row.tenant as string)
  return tenants
}

/** The earliest first; those that wait for nothing that has a time are last. */
function orphansOf(db: Connection, owner: string, isFenced: boolean, tenant: string, limit: number): Orphan[] {
  const open = `SELECT run_id, wake_at FROM runs WHERE owner = ? AND ended_at IS NULL AND tenant = ?`
  const timed = db.all(`${open} AND wake_at IS NOT NULL ORDER BY wake_at LIMIT ?`, owner, tenant, limit)
  const left = limit - timed.length
  const others = left > 0 ? db.all(`${open} AND wake_at IS NULL LIMIT ?`, owner, tenant, left) : []
  return [...timed, ...others].map(({ run_id, wake_at }) => ({
    runId: run_id as string,
    wakeAt: (wake_at as number | null) ?? Number.POSITIVE_INFINITY,
    interrupted: isFenced && wake_at !== null && (wake_at as number) <= WAKE_NOW,
  }))
}
