import type { Fork } from '../../../core/replay/events.js'
import { checkFork } from '../../fork-rules.js'
import type { Connection } from '../connection.js'
import { NOT_PURGED } from '../list-runs.js'
import { EVENT_FIELDS, type PackedStream } from '../packed.js'

/** Throws when the fork cannot be made; returns when it has ended by what it shares. */
export function sharedEnd(db: Connection, [runId, , , , , create, events]: PackedStream): number | null {
  const fork = create?.[8]
  if (!fork) return null
  const source = db.get(
    `SELECT tenant, length, ended_at AS endedAt FROM runs WHERE run_id = ? AND ${NOT_PURGED}`,
    fork.sourceRunId,
  ) as { tenant: string; length: number; endedAt: number | null } | undefined
  return checkFork({ runId, tenant: create[0], fork, ownEvents: events.length / EVENT_FIELDS }, source)
}

/** The source's own segments up to the cut, and then the rows of the source itself if the cut reaches them. */
export function writePrefixes(db: Connection, runId: string, { sourceRunId, fromSeq }: Fork): void {
  db.run(
    `INSERT INTO prefixes (run_id, upto, source_run_id, from_seq)
     SELECT ?1, min(upto, ?3), source_run_id, from_seq FROM prefixes WHERE run_id = ?2 AND from_seq < ?3
      UNION ALL
     SELECT ?1, ?3, run_id, from_seq FROM runs WHERE run_id = ?2 AND from_seq < ?3`,
    runId,
    sourceRunId,
    fromSeq,
  )
}

/** Times of the first and the last event that a fork shares. */
export const sharedTimes = (db: Connection, { sourceRunId, fromSeq }: Fork): { first: number; last: number } => ({
  first: timeOf(db, sourceRunId, 0),
  last: timeOf(db, sourceRunId, fromSeq - 1),
})

function timeOf(db: Connection, runId: string, seq: number): number {
  const row = db.get(
    `SELECT at FROM events WHERE run_id = ?1 AND seq = ?2
      UNION ALL
     SELECT e.at FROM prefixes p JOIN events e ON e.run_id = p.source_run_id AND e.seq = ?2
      WHERE p.run_id = ?1 AND p.from_seq <= ?2 AND p.upto > ?2`,
    runId,
    seq,
  )
  return row!.at as number
}
