import type { StoredQuotas, TenantUsage } from '../../../core/quotas.js'
import type { StreamAppend } from '../../../engine/ports/event-log.js'
import { bytesOfEvents, bytesOfTexts, newRunsIn, type OverQuota, quotaRefusal } from '../../usage-rules.js'
import type { Connection } from '../connection.js'
import { SQL } from '../statements.js'

/** S13: what a commit appends; all else is counted by triggers. */
export function countBytes(db: Connection, { runId, events, snapshot }: StreamAppend): void {
  const bytes = bytesOfEvents(events) + bytesOfTexts(snapshot ?? null)
  if (bytes > 0) db.run(SQL.usage.count, bytes, runId)
}

/** The run at the top of the family; a run that nobody knows of yet is a root. */
export const rootOf = (db: Connection, runId: string): string =>
  (db.get(SQL.runs.root, runId)?.root as string | undefined) ?? runId

export function usageIn(db: Pick<Connection, 'get'>, tenant: string): TenantUsage {
  const row = db.get(SQL.usage.ofTenant, tenant)
  return { activeRuns: Number(row?.runs ?? 0), storedBytes: Number(row?.bytes ?? 0) }
}

export function quotaRefused(
  db: Connection,
  streams: readonly StreamAppend[],
  quotas: StoredQuotas,
): OverQuota | undefined {
  const created = streams.flatMap(({ create }) => create ?? [])
  const [first] = created
  if (first === undefined) return undefined
  const parent = created.find(({ parentRunId }) => parentRunId !== null)?.parentRunId
  const kin = parent == null ? 0 : Number(db.get(SQL.usage.ofFamily, rootOf(db, parent))?.runs ?? 0)
  return quotaRefusal(quotas, newRunsIn(streams), usageIn(db, first.tenant), kin)
}
