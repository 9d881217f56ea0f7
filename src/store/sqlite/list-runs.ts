import type { ExpiredRuns } from '../../engine/ports/retention.js'
import type { RunQuery } from '../../engine/ports/run-index.js'
import type { SqlValue } from './driver.js'

/** Of a run that was purged only its mark is left to be found. */
export const NOT_PURGED = 'NOT EXISTS (SELECT 1 FROM purged WHERE purged.run_id = runs.run_id)'

/** A tenant that was erased finds nothing of what is left of its runs (S13). */
export const OF_TENANT = 'tenant = ? AND NOT EXISTS (SELECT 1 FROM erasures WHERE erasures.tenant = runs.tenant)'

/** The tenant is part of the query that fetches (S6); `null` is every tenant's. */
export function listRunsQuery(query: RunQuery): { sql: string; parameters: SqlValue[] } {
  const conditions: string[] = [NOT_PURGED]
  const parameters: SqlValue[] = []
  const where = (condition: string, value: SqlValue | undefined): void => {
    if (value === undefined) return
    conditions.push(condition)
    parameters.push(value)
  }
  where(OF_TENANT, query.tenant ?? undefined)
  where('run_id < ?', query.before)
  where('workflow_id = ?', query.workflowId)
  where('workflow_id NOT IN (SELECT value FROM json_each(?))', query.except && JSON.stringify(query.except))
  where('parent_run_id = ?', query.parentRunId)
  where('status IN (SELECT value FROM json_each(?))', query.status && JSON.stringify(query.status))
  where('EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)', query.tag)
  return {
    sql: `SELECT * FROM runs WHERE ${conditions.join(' AND ')} ORDER BY run_id DESC LIMIT ?`,
    parameters: [...parameters, query.limit],
  }
}

/** Roots that ended before a time, with an end and an id above those of `after`. */
export function expiredRootsQuery(query: ExpiredRuns): { sql: string; parameters: SqlValue[] } {
  const { tenant, exceptTenants = [], workflowId, exceptWorkflows = [], endedBefore, after, limit } = query
  const sql = `SELECT run_id AS runId, ended_at AS endedAt FROM runs
    WHERE parent_run_id IS NULL AND ended_at < ?1 AND (ended_at, run_id) > (?2, ?3)
      AND (?4 IS NULL OR tenant = ?4) AND (?5 IS NULL OR workflow_id = ?5)
      AND tenant NOT IN (SELECT value FROM json_each(?6)) AND workflow_id NOT IN (SELECT value FROM json_each(?7))
      AND ${NOT_PURGED}
    ORDER BY ended_at, run_id LIMIT ?8`
  const lists = [JSON.stringify(exceptTenants), JSON.stringify(exceptWorkflows)]
  const from = [after?.endedAt ?? Number.MIN_SAFE_INTEGER, after?.runId ?? '']
  return { sql, parameters: [endedBefore, ...from, tenant ?? null, workflowId ?? null, ...lists, limit] }
}
