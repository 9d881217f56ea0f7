import type { StoredQuotas } from '../../../core/quotas.js'
import { isTerminal } from '../../../core/run/events.js'
import { bytesOfTexts, type NewRuns, type OverQuota, quotaRefusal } from '../../usage-rules.js'
import type { Connection } from '../connection.js'
import { EVENT_FIELDS, type PackedStream } from '../packed.js'

/**
 * S13. Unfinished runs, families, outcomes, and whatever is deleted are counted by triggers. What a commit appends is
 * counted here: once for each stream instead of once for each event.
 */
export function countBytes(db: Connection, [runId, , , , , , events, , snapshot]: PackedStream): void {
  let bytes = bytesOfTexts(snapshot)
  for (let i = 0; i < events.length; i += EVENT_FIELDS)
    bytes += bytesOfTexts(events[i + 2] as string, events[i + 3] as string | null, events[i + 5] as string | null)
  if (bytes === 0) return
  db.run(
    `INSERT INTO usage (tenant, bytes) SELECT tenant, ? FROM runs WHERE run_id = ?
     ON CONFLICT (tenant) DO UPDATE SET bytes = bytes + excluded.bytes`,
    bytes,
    runId,
  )
}

/** The run at the top of the family; a run that nobody knows of yet is a root. */
export const rootOf = (db: Connection, runId: string): string =>
  (db.get('SELECT coalesce(root_run_id, run_id) AS root FROM runs WHERE run_id = ?', runId)?.root as string) ?? runId

export function quotaRefused(
  db: Connection,
  streams: readonly PackedStream[],
  quotas: StoredQuotas,
): OverQuota | undefined {
  const tenant = streams.find(stream => stream[5])?.[5]?.[0]
  if (tenant === undefined) return undefined
  const parent = streams.find(stream => stream[5] && stream[5][3] !== null)?.[5]?.[3]
  const kin =
    parent == null
      ? 0
      : Number(db.get('SELECT runs FROM families WHERE root_run_id = ?', rootOf(db, parent))?.runs ?? 0)
  const used = db.get('SELECT runs, bytes FROM usage WHERE tenant = ?', tenant)
  const usage = { activeRuns: Number(used?.runs ?? 0), storedBytes: Number(used?.bytes ?? 0) }
  return quotaRefusal(quotas, newRuns(streams), usage, kin)
}

function newRuns(streams: readonly PackedStream[]): NewRuns {
  const created = streams.filter(stream => stream[5])
  const roots = created.filter(stream => stream[5]?.[3] === null)
  const opening = roots.filter(([, , , , , , events]) => !isTerminal(String(events.at(-EVENT_FIELDS) ?? '')))
  return { roots: roots.length, opening: opening.length, children: created.length - roots.length }
}
