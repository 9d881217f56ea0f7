import type { Fork } from '../../../core/replay/events.js'
import type { GatedPoint } from '../../../engine/ports/event-log.js'
import type { Connection } from '../connection.js'
import { SQL } from '../statements.js'

/** Before the run's first event is written: its triggers look here (S10). */
export function writeGated(db: Connection, runId: string, gated: readonly GatedPoint[]): void {
  for (const { gateId, point, nodeId, workerId, confirm } of gated)
    db.run(SQL.gates.addGated, runId, gateId, point, nodeId, workerId ?? '', confirm)
}

/** What was staged, judged and merged before the cut is so in the fork as well. */
export function shareGateRows(db: Connection, runId: string, { sourceRunId, fromSeq }: Fork): void {
  const { shareStaged, shareVerdicts, shareMerges } = SQL.gates
  for (const sql of [shareStaged, shareVerdicts, shareMerges]) db.run(sql, runId, sourceRunId, fromSeq)
}

/** Whether the error says that a result was to be merged which no gate has passed. */
export const isUnverifiedMerge = (message: string): boolean => /constraint failed: merges[._]/.test(message)
