import type { GateRows } from '../../engine/ports/gate-rows.js'
import type { VerdictQuery, VerdictRow } from '../../engine/ports/run-index.js'
import type { Reader } from './reader.js'
import { SQL } from './statements.js'

export function readGateRows(reader: Reader, runId: string): GateRows {
  const rows = (sql: string) => reader.all(sql, runId).map(row => ({ ...row })) as unknown[]
  return {
    gated: rows(SQL.gates.gated) as GateRows['gated'],
    staged: rows(SQL.gates.staged) as GateRows['staged'],
    verdicts: rows(SQL.gates.verdicts) as GateRows['verdicts'],
    merges: rows(SQL.gates.merges) as GateRows['merges'],
  }
}

export function listVerdicts(reader: Reader, { tenant, gateId, since = 0, limit }: VerdictQuery): VerdictRow[] {
  const rows =
    gateId === undefined
      ? reader.all(SQL.gates.listVerdicts, tenant, since, limit)
      : reader.all(SQL.gates.listVerdictsOfGate, tenant, since, limit, gateId)
  return rows.map(row => ({ ...row }) as VerdictRow)
}
