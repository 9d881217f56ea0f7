import type { RunQuery, RunRow } from '../../engine/ports/run-index.js'
import { visibleRuns } from './purges.js'
import type { Tables } from './tables.js'

/** Newest first. */
export function listRuns(tables: Tables, query: RunQuery): RunRow[] {
  const { tenant, status, workflowId, except = [], parentRunId, tag, before, limit } = query
  const found = visibleRuns(tables).filter(
    run =>
      (tenant === null || (run.tenant === tenant && !tables.erasures.has(tenant))) &&
      (status === undefined || status.includes(run.status)) &&
      (workflowId === undefined || run.workflowId === workflowId) &&
      !except.includes(run.workflowId) &&
      (parentRunId === undefined || run.parentRunId === parentRunId) &&
      (tag === undefined || run.tags.includes(tag)) &&
      (before === undefined || run.runId < before),
  )
  return found.sort((a, b) => (a.runId < b.runId ? 1 : -1)).slice(0, limit)
}
