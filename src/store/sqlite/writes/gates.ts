import type { Fork } from '../../../core/replay/events.js'
import type { Connection } from '../connection.js'
import { GATED_FIELDS, type PackedRun } from '../packed.js'

/** Before the run's first event is written: its triggers look here (S10). */
export function writeGated(db: Connection, runId: string, gated: PackedRun[9]): void {
  for (let i = 0; i < gated.length; i += GATED_FIELDS) {
    db.run(
      'INSERT INTO gated (run_id, gate_id, point, node_id, worker_id, confirm) VALUES (?, ?, ?, ?, ?, ?)',
      runId,
      gated[i]!,
      gated[i + 1]!,
      gated[i + 2]!,
      gated[i + 3]!,
      gated[i + 4]!,
    )
  }
}

/** What was staged, judged and merged before the cut is so in the fork as well. */
export function shareGateRows(db: Connection, runId: string, { sourceRunId, fromSeq }: Fork): void {
  for (const sql of SHARED) db.run(sql, runId, sourceRunId, fromSeq)
}

const STAGED = 'seq, gate_id, attempt, target, result_hash, point, place, node_id, worker_id'
const JUDGED = 'seq, gate_id, target, result_hash, verdict, label, at'
const MERGED = 'seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict, label, confirm, event_hash'

const SHARED = [
  `INSERT INTO staged (run_id, ${STAGED}) SELECT ?1, ${STAGED} FROM staged WHERE run_id = ?2 AND seq < ?3`,
  `INSERT INTO verdicts (run_id, ${JUDGED}) SELECT ?1, ${JUDGED} FROM verdicts WHERE run_id = ?2 AND seq < ?3`,
  `INSERT INTO merges (run_id, ${MERGED}) SELECT ?1, ${MERGED} FROM merges WHERE run_id = ?2 AND seq < ?3`,
]

/** Whether the error says that a result was to be merged which no gate has passed. */
export const isUnverifiedMerge = (message: string): boolean => /constraint failed: merges[._]/.test(message)
