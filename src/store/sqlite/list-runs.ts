import type { TenantUsage, Weights } from '../../core/quotas.js'
import type { DueRun, RunQuery } from '../../engine/ports/run-index.js'
import { inTurns } from '../turns.js'
import type { SqlValue } from './driver.js'
import type { Reader } from './reader.js'
import { tenantsHeldBy } from './writes/hosts.js'

/** Of a run that was purged only its mark is left to be found. */
export const NOT_PURGED = 'NOT EXISTS (SELECT 1 FROM purged WHERE purged.run_id = runs.run_id)'

/** A tenant that was erased finds nothing of what is left of its runs (S14). */
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

/** Of each tenant the earliest first, tenants in turns. What is looked at is what one tenant may have, times tenants. */
export function dueRunsIn(reader: Reader, hostId: string, now: number, limit: number, weights: Weights): DueRun[] {
  const sql = `SELECT run_id AS runId, epoch, attempts, wake_at AS wakeAt, length FROM runs
                WHERE owner = ? AND ended_at IS NULL AND tenant = ? AND wake_at <= ? ORDER BY wake_at, run_id LIMIT ?`
  const due = new Map<string, DueRun[]>()
  for (const tenant of tenantsHeldBy(reader, hostId)) {
    const rows = reader.all(sql, hostId, tenant, now, limit)
    if (rows.length > 0)
      due.set(
        tenant,
        rows.map(row => ({ ...row }) as DueRun),
      )
  }
  return inTurns(due, weights, limit)
}

export function usageIn(reader: Reader, tenant: string): TenantUsage {
  const row = reader.get('SELECT runs, bytes FROM usage WHERE tenant = ?', tenant)
  return { activeRuns: Number(row?.runs ?? 0), storedBytes: Number(row?.bytes ?? 0) }
}
