import type { Weights } from '../../core/quotas.js'
import type { DueRun, RunQuery } from '../../engine/ports/run-index.js'
import { inTurns } from '../turns.js'
import type { SqlRow } from './driver.js'
import type { Reader } from './reader.js'
import { SQL } from './statements.js'
import { tenantsHeldBy } from './writes/hosts.js'

export function listRunsIn(reader: Reader, query: RunQuery): SqlRow[] {
  const { tenant, before, workflowId, except, parentRunId, status, tag, limit } = query
  const lists = { except: except ? JSON.stringify(except) : null, status: status ? JSON.stringify(status) : null }
  const listed = [before ?? null, workflowId ?? null, lists.except, lists.status, tag ?? null, limit]
  if (parentRunId !== undefined) return reader.all(SQL.runs.listOfParent, ...listed, parentRunId, tenant)
  if (tenant !== null) return reader.all(SQL.runs.listOfTenant, ...listed, tenant)
  return reader.all(SQL.runs.list, ...listed)
}

/** Of each tenant the earliest first, tenants in turns. What is looked at is what one tenant may have, times tenants. */
export function dueRunsIn(reader: Reader, hostId: string, now: number, limit: number, weights: Weights): DueRun[] {
  const due = new Map<string, DueRun[]>()
  for (const tenant of tenantsHeldBy(reader, hostId)) {
    const rows = reader.all(SQL.runs.due, hostId, tenant, now, limit).map(row => ({ ...row }) as DueRun)
    if (rows.length > 0) due.set(tenant, rows)
  }
  return inTurns(due, weights, limit)
}
