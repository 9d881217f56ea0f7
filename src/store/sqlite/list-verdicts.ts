import type { VerdictQuery } from '../../engine/ports/run-index.js'
import type { SqlValue } from './driver.js'

/** One form for each index there is. */
export function listVerdictsQuery(query: VerdictQuery): { sql: string; parameters: SqlValue[] } {
  const { tenant, gateId, since = 0, limit } = query
  const [gate, gates] = gateId === undefined ? ['', []] : ['AND gate_id = ?', [gateId]]
  return {
    sql: `SELECT run_id AS runId, seq AS sequence, gate_id AS gateId, verdict, at FROM verdicts
           WHERE tenant = ? ${gate} AND at >= ? ORDER BY at DESC, run_id DESC, seq DESC LIMIT ?`,
    parameters: [tenant, ...gates, since, limit],
  }
}
