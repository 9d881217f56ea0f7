import { NO_RUN, type Refusal, refuse } from '../../core/problem.js'
import type { RetentionStore } from '../ports/retention.js'

/** Why a tenant's run cannot be found: there never was one, or it was purged. */
export async function missingRun(
  store: Pick<RetentionStore, 'readPurged'>,
  tenant: string,
  runId: string,
  fromSeq?: number,
): Promise<Refusal> {
  const purged = await store.readPurged(tenant, runId)
  if (purged === undefined) return NO_RUN
  const [endedAt, purgedAt] = [purged.endedAt, purged.purgedAt].map(at => new Date(at).toISOString()) as [
    string,
    string,
  ]
  const message = `Run ${runId} ended at ${endedAt} and was purged at ${purgedAt}, when its retention was over; nothing of it can be read or forked.`
  const about = fromSeq === undefined ? { runId } : { sourceRunId: runId, fromSeq }
  return refuse('run_expired', message, { ...about, endedAt, purgedAt })
}
