import type { GateRows } from '../../engine/ports/gate-rows.js'
import type { Reader } from './reader.js'

export function readGateRows(reader: Reader, runId: string): GateRows {
  const rows = (sql: string) => reader.all(sql, runId).map(row => ({ ...row })) as unknown[]
  return {
    gated: rows(GATED) as GateRows['gated'],
    staged: rows(STAGED) as GateRows['staged'],
    verdicts: rows(JUDGED) as GateRows['verdicts'],
    merges: rows(MERGES) as GateRows['merges'],
  }
}

const GATED = `SELECT gate_id AS gateId, point, node_id AS nodeId, nullif(worker_id, '') AS workerId, confirm
  FROM gated WHERE run_id = ? ORDER BY point, node_id, gate_id, worker_id`

const STAGED = `SELECT seq AS sequence, gate_id AS gateId, attempt, target, result_hash AS resultHash, point, place,
    node_id AS nodeId, worker_id AS workerId
  FROM staged WHERE run_id = ? ORDER BY seq`

const JUDGED = `SELECT seq AS sequence, gate_id AS gateId, target, result_hash AS resultHash, verdict, label, tenant, at
  FROM verdicts WHERE run_id = ? ORDER BY seq`

const MERGES = `SELECT seq AS sequence, gate_id AS gateId, staged_seq AS staged, target, result_hash AS resultHash,
    verdict_seq AS judged, verdict, label, confirm, event_hash AS eventHash
  FROM merges WHERE run_id = ? ORDER BY seq, gate_id`
