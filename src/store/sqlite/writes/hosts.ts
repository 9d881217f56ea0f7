import { present } from '../../../core/present.js'
import type { Weights } from '../../../core/quotas.js'
import { WAKE_NOW } from '../../../core/run/wake-time.js'
import { inTurns } from '../../turns.js'
import type { Connection } from '../connection.js'
import { SQL } from '../statements.js'

export const isAlive = (db: Connection, hostId: string): boolean => db.get(SQL.hosts.state, hostId)?.state === 'alive'

export function registerHost(
  db: Connection,
  { hostId, hostName, leaseMs, now }: { hostId: string; hostName: string; leaseMs: number; now: number },
): void {
  const state = db.get(SQL.hosts.state, hostId)?.state ?? 'alive'
  if (state !== 'alive') throw new Error(`host ${hostId} was ${state}: register under a new id`)
  db.run(SQL.hosts.fenceNamesakes, hostName, hostId)
  db.run(SQL.hosts.register, hostId, hostName, now + leaseMs)
  db.run(SQL.hosts.forget)
}

export const heartbeat = (db: Connection, beat: { hostId: string; leaseMs: number; now: number }): boolean =>
  db.run(SQL.hosts.heartbeat, beat.now + beat.leaseMs, beat.hostId) > 0

export function releaseHost(db: Connection, hostId: string): void {
  db.run(SQL.hosts.release, hostId)
}

export const lastingId = (db: Connection, { id, given }: { readonly id: string; readonly given: boolean }): string =>
  present(db.get(SQL.hosts.lastingId, id, Number(given)), 'identity of the host').host_id as string

/** The claiming host itself is never fenced here: that it asks shows that it lives. A fenced one claims nothing. */
export function claimOrphans(db: Connection, { hostId, now, limit, weights }: Claim): number {
  if (!isAlive(db, hostId)) return 0
  db.run(SQL.hosts.fenceExpired, now, hostId)
  const orphans = new Map<string, Orphan[]>()
  for (const gone of db.all(SQL.hosts.gone))
    for (const tenant of tenantsHeldBy(db, gone.host_id as string)) {
      const known = orphans.get(tenant) ?? []
      orphans.set(tenant, [...known, ...orphansOf(db, gone.host_id as string, gone.state === 'fenced', tenant, limit)])
    }
  for (const list of orphans.values()) list.sort((a, b) => a.wakeAt - b.wakeAt)
  const claimed = inTurns(orphans, weights, limit)
  for (const { runId, interrupted } of claimed) db.run(SQL.runs.adopt, hostId, Number(interrupted), runId)
  return claimed.length
}

type Claim = {
  readonly hostId: string
  readonly now: number
  readonly limit: number
  readonly weights: Weights
}
type Orphan = { readonly runId: string; readonly wakeAt: number; readonly interrupted: boolean }

export function tenantsHeldBy(db: Pick<Connection, 'get'>, hostId: string): string[] {
  const next = (after: string) => db.get(SQL.runs.nextTenantHeld, hostId, after)?.tenant as string | undefined
  const tenants: string[] = []
  for (let tenant = next(''); tenant !== undefined; tenant = next(tenant)) tenants.push(tenant)
  return tenants
}

/** The earliest first; those that wait for nothing that has a time are last. */
function orphansOf(db: Connection, owner: string, isFenced: boolean, tenant: string, limit: number): Orphan[] {
  const timed = db.all(SQL.runs.orphansWithTime, owner, tenant, limit)
  const others = db.all(SQL.runs.orphansWithoutTime, owner, tenant, limit - timed.length)
  return [...timed, ...others].map(({ run_id, wake_at }) => ({
    runId: run_id as string,
    wakeAt: (wake_at as number | null) ?? Number.POSITIVE_INFINITY,
    interrupted: isFenced && wake_at !== null && (wake_at as number) <= WAKE_NOW,
  }))
}
