import type { RunQuery } from '../../engine/ports/run-index.js'
import type { SqlValue } from './driver.js'

/** The tenant is part of the query that fetches (S6); `null` is every tenant's. */
export function listRunsQuery(query: RunQuery): { sql: string; parameters: SqlValue[] } {
  const conditions: string[] = []
  const parameters: SqlValue[] = []
  const where = (condition: string, value: SqlValue | undefined): void => {
    if (value === undefined) return
    conditions.push(condition)
    parameters.push(value)
  }
  where('tenant = ?', query.tenant ?? undefined)
  where('run_id < ?', query.before)
  where('workflow_id = ?', query.workflowId)
  where('workflow_id NOT IN (SELECT value FROM json_each(?))', query.except && JSON.stringify(query.except))
  where('parent_run_id = ?', query.parentRunId)
  where('status IN (SELECT value FROM json_each(?))', query.status && JSON.stringify(query.status))
  where('EXISTS (SELECT 1 FROM json_each(tags) WHERE value = ?)', query.tag)
  const filter = conditions.length > 0 ? `WHERE ${conditions.join(' AND ')}` : ''
  return { sql: `SELECT * FROM runs ${filter} ORDER BY run_id DESC LIMIT ?`, parameters: [...parameters, query.limit] }
}
