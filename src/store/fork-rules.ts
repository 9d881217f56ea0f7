import type { Fork } from '../core/replay/events.js'

type NewFork = { readonly runId: string; readonly tenant: string; readonly fork: Fork; readonly ownEvents: number }

/** Undefined when there is no such run. */
type Source = { readonly tenant: string; readonly length: number; readonly endedAt: number | null } | undefined

/**
 * Throws when a fork cannot be made of that source: a bug of the caller. Returns when the fork has ended, which it has
 * from the start if it shares the terminal event, the source's last.
 */
export function checkFork({ runId, tenant, fork, ownEvents }: NewFork, source: Source): number | null {
  const { sourceRunId, fromSeq, sourceLength } = fork
  if (source?.tenant !== tenant) throw new Error(`run ${runId} cannot be a fork: its tenant has no run ${sourceRunId}`)
  if (source.length < sourceLength) {
    throw new Error(`run ${runId} cannot be a fork: run ${sourceRunId} has not ${sourceLength} events`)
  }
  const endedAt = fromSeq === source.length ? source.endedAt : null
  if (endedAt !== null && ownEvents > 0) {
    throw new Error(`run ${runId} has ended: nothing may follow the terminal event it shares`)
  }
  return endedAt
}
