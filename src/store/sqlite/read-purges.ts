import type { ExpiredRun, ExpiredRuns, PurgedRun } from '../../engine/ports/retention.js'
import type { Reader } from './reader.js'
import { SQL } from './statements.js'

/** Roots that ended before a time, with an end and an id above those of `after`. */
export function expiredRootsIn(reader: Reader, query: ExpiredRuns): ExpiredRun[] {
  const { tenant, exceptTenants = [], workflowId, exceptWorkflows = [], endedBefore, after, limit } = query
  const rows = reader.all(
    SQL.runs.expiredRoots,
    endedBefore,
    after?.endedAt ?? Number.MIN_SAFE_INTEGER,
    after?.runId ?? '',
    tenant ?? null,
    workflowId ?? null,
    JSON.stringify(exceptTenants),
    JSON.stringify(exceptWorkflows),
    limit,
  )
  return rows.map(row => ({ ...row }) as ExpiredRun)
}

export function purgedRunIn(reader: Reader, tenant: string | null, runId: string): PurgedRun | undefined {
  const row = reader.get(SQL.purges.read, runId, tenant)
  return (
    row && {
      runId: row.run_id as string,
      rootRunId: row.root_run_id as string,
      tenant: row.tenant as string,
      length: row.length as number,
      head: row.head as string,
      endedAt: row.ended_at as number,
      purgedAt: row.purged_at as number,
      checkpoint: row.checkpoint as number | null,
    }
  )
}
