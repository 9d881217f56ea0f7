import type { PurgeResult } from '../../../engine/ports/retention.js'
import type { Connection } from '../connection.js'
import { isAlive } from './hosts.js'

/** A run with everything below it; a fork is nobody's child. */
const FAMILY = `WITH RECURSIVE family (run_id) AS (
  SELECT ?1
   UNION
  SELECT r.run_id FROM family f JOIN runs r ON r.parent_run_id = f.run_id)`

export function purgeFamily(
  db: Connection,
  { rootRunId, at }: { readonly rootRunId: string; readonly at: number },
): PurgeResult {
  const kind = obstacle(db, rootRunId)
  if (kind !== undefined) return { kind }
  const runs = db.run(
    `INSERT INTO purged (run_id, root_run_id, tenant, length, head, ended_at, purged_at)
     ${FAMILY} SELECT r.run_id, ?1, r.tenant, r.length, r.head, r.ended_at, ?2 FROM family JOIN runs r USING (run_id)`,
    rootRunId,
    at,
  )
  for (const table of ['deliveries', 'lanes'])
    db.run(
      `${FAMILY} DELETE FROM ${table} WHERE webhook_id IN (SELECT webhook_id FROM webhooks)
          AND run_id IN (SELECT run_id FROM family)`,
      rootRunId,
    )
  return { kind: 'purged', runs }
}

function obstacle(db: Connection, rootRunId: string): Exclude<PurgeResult['kind'], 'purged'> | undefined {
  const root = db.get('SELECT 1 FROM runs WHERE run_id = ? AND parent_run_id IS NULL', rootRunId)
  if (!root || db.get('SELECT 1 FROM purged WHERE run_id = ?', rootRunId)) return 'gone'
  const family = db.get(
    `${FAMILY} SELECT
       max(r.ended_at IS NULL) AS open,
       max(r.checkpoint IS NULL AND r.head <> '') AS unsealed,
       max(EXISTS (SELECT 1 FROM runs f WHERE f.source_run_id = r.run_id)) AS forked
     FROM family JOIN runs r USING (run_id)`,
    rootRunId,
  )
  return (['open', 'unsealed', 'forked'] as const).find(kind => family?.[kind] === 1)
}

/** A host that is not alive has no leases, so it is given none. */
export function claimPurge(
  db: Connection,
  { hostId, now, leaseMs }: { readonly hostId: string; readonly now: number; readonly leaseMs: number },
): string | undefined {
  if (!isAlive(db, hostId)) return undefined
  const free = db.get(
    `SELECT run_id FROM purged p
      WHERE run_id = root_run_id AND is_stored = 1 AND checkpoint IS NOT NULL
        AND NOT EXISTS (SELECT 1 FROM purged u WHERE u.root_run_id = p.run_id AND u.is_stored = 1 AND u.checkpoint IS NULL)
        AND (lease_host IS NULL OR lease_until <= ?
             OR NOT EXISTS (SELECT 1 FROM hosts WHERE host_id = lease_host AND state = 'alive'))
      ORDER BY run_id LIMIT 1`,
    now,
  )
  if (!free) return undefined
  db.run('UPDATE purged SET lease_host = ?, lease_until = ? WHERE run_id = ?', hostId, now + leaseMs, free.run_id!)
  return free.run_id as string
}

/** What refers to a run stands before what it refers to. */
const OF_A_RUN = ['snapshots', 'merges', 'verdicts', 'staged', 'gated', 'prefixes', 'invocations', 'runs'] as const

/** The root goes last: as long as it has a row, the family can be claimed again. */
export function deletePurged(
  db: Connection,
  { rootRunId, hostId, limit }: { readonly rootRunId: string; readonly hostId: string; readonly limit: number },
): 'more' | 'done' | 'lost' {
  const lease = db.get('SELECT lease_host FROM purged WHERE run_id = ? AND is_stored = 1', rootRunId)
  if (lease?.lease_host !== hostId) return 'lost'
  const { run_id: runId } = db.get(
    'SELECT run_id FROM purged WHERE root_run_id = ? AND is_stored = 1 ORDER BY run_id = ?1, run_id DESC LIMIT 1',
    rootRunId,
  ) as { run_id: string }
  const deleted = db.run(
    'DELETE FROM events WHERE run_id = ?1 AND seq IN (SELECT seq FROM events WHERE run_id = ?1 ORDER BY seq DESC LIMIT ?2)',
    runId,
    limit,
  )
  if (deleted === limit) return 'more'
  for (const table of OF_A_RUN) db.run(`DELETE FROM ${table} WHERE run_id = ?`, runId)
  db.run('UPDATE purged SET is_stored = 0, lease_host = NULL WHERE run_id = ?', runId)
  return runId === rootRunId ? 'done' : 'more'
}
