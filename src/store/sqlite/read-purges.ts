import type { SealedRun } from '../../engine/ports/audit.js'
import type { ExpiredRun, ExpiredRuns, PurgedRun } from '../../engine/ports/retention.js'
import type { SqlRow } from './driver.js'
import { NOT_PURGED } from './list-runs.js'
import type { Reader } from './reader.js'

/** Roots that ended before a time, with an end and an id above those of `after`. */
export function expiredRootsIn(reader: Reader, query: ExpiredRuns): ExpiredRun[] {
  const { tenant, exceptTenants = [], workflowId, exceptWorkflows = [], endedBefore, after, limit } = query
  const sql = `SELECT run_id AS runId, ended_at AS endedAt FROM runs
    WHERE parent_run_id IS NULL AND ended_at < ?1 AND (ended_at, run_id) > (?2, ?3)
      AND (?4 IS NULL OR tenant = ?4) AND (?5 IS NULL OR workflow_id = ?5)
      AND tenant NOT IN (SELECT value FROM json_each(?6)) AND workflow_id NOT IN (SELECT value FROM json_each(?7))
      AND ${NOT_PURGED}
    ORDER BY ended_at, run_id LIMIT ?8`
  const lists = [JSON.stringify(exceptTenants), JSON.stringify(exceptWorkflows)]
  const from = [after?.endedAt ?? Number.MIN_SAFE_INTEGER, after?.runId ?? '']
  const parameters = [endedBefore, ...from, tenant ?? null, workflowId ?? null, ...lists, limit]
  return reader.all(sql, ...parameters).map(row => ({ ...row }) as ExpiredRun)
}

export function unsealedPurgesIn(reader: Reader, limit: number): SealedRun[] {
  const sql = `SELECT run_id AS runId, length, head FROM purged WHERE checkpoint IS NULL
                ORDER BY purged_at, run_id LIMIT ?`
  return reader.all(sql, limit).map(row => ({ ...row }) as SealedRun)
}

export function purgedRunIn(reader: Reader, tenant: string | null, runId: string): PurgedRun | undefined {
  const sql = 'SELECT * FROM purged WHERE run_id = ?1 AND (?2 IS NULL OR tenant = ?2)'
  const row = reader.get(sql, runId, tenant)
  return row && toPurgedRun(row)
}

const toPurgedRun = (row: SqlRow): PurgedRun => ({
  runId: row.run_id as string,
  rootRunId: row.root_run_id as string,
  tenant: row.tenant as string,
  length: row.length as number,
  head: row.head as string,
  endedAt: row.ended_at as number,
  purgedAt: row.purged_at as number,
  checkpoint: row.checkpoint as number | null,
})
