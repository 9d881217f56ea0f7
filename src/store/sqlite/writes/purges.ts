import type { PurgeResult } from '../../../engine/ports/retention.js'
import type { Connection } from '../connection.js'
import { SQL } from '../statements.js'
import { isAlive } from './hosts.js'
import { purgeJournal } from './journal.js'

export function purgeFamily(
  db: Connection,
  { rootRunId, at }: { readonly rootRunId: string; readonly at: number },
): PurgeResult {
  const kind = obstacle(db, rootRunId)
  if (kind !== undefined) return { kind }
  const runs = db.run(SQL.purges.mark, rootRunId, at)
  db.run(SQL.purges.deleteDeliveries, rootRunId)
  db.run(SQL.purges.deleteLanes, rootRunId)
  return { kind: 'purged', runs }
}

function obstacle(db: Connection, rootRunId: string): Exclude<PurgeResult['kind'], 'purged'> | undefined {
  if (!db.get(SQL.purges.root, rootRunId) || db.get(SQL.purges.read, rootRunId, null)) return 'gone'
  const family = db.get(SQL.purges.obstacles, rootRunId)
  return (['open', 'unsealed', 'forked'] as const).find(kind => family?.[kind] === 1)
}

/** A host that is not alive has no leases, so it is given none. */
export function claimPurge(
  db: Connection,
  { hostId, now, leaseMs }: { readonly hostId: string; readonly now: number; readonly leaseMs: number },
): string | undefined {
  if (!isAlive(db, hostId)) return undefined
  const free = db.get(SQL.purges.claimable, now)
  if (!free) return undefined
  db.run(SQL.purges.lease, hostId, now + leaseMs, free.run_id!)
  return free.run_id as string
}

export function deletePurged(
  db: Connection,
  { rootRunId, hostId, limit }: { readonly rootRunId: string; readonly hostId: string; readonly limit: number },
): 'more' | 'done' | 'lost' {
  if (db.get(SQL.purges.holder, rootRunId)?.lease_host !== hostId) return 'lost'
  const runId = db.get(SQL.purges.nextOfFamily, rootRunId)!.run_id as string
  if (db.run(SQL.purges.deleteEvents, runId, limit) === limit) return 'more'
  deleteRowsOf(db, runId)
  db.run(SQL.purges.deletePrefixes, runId)
  db.run(SQL.purges.deleteRun, runId)
  db.run(SQL.purges.deleted, runId)
  return runId === rootRunId ? 'done' : 'more'
}

/** What there is of a run besides its events, in the order in which the one may refer to the other. */
export function deleteRowsOf(db: Connection, runId: string): void {
  const { deleteSnapshots, deleteMerges, deleteVerdicts, deleteStaged, deleteGated, deleteInvocations } = SQL.purges
  const all = [deleteSnapshots, deleteMerges, deleteVerdicts, deleteStaged, deleteGated, deleteInvocations]
  for (const sql of all) db.run(sql, runId)
  purgeJournal(db, runId)
}
