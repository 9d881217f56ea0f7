import type { StreamAppend } from '../../engine/ports/event-log.js'
import type { GateRows } from '../../engine/ports/gate-rows.js'
import type { VerdictQuery, VerdictRow } from '../../engine/ports/run-index.js'
import { gateRowsAfter, NO_GATE_ROWS } from '../gate-rules.js'
import type { Tables } from './tables.js'

/** The run's rows after this append; undefined when it has none. Throws where a merge has no pass (S10). */
export function gateRowsAfterAppend(tables: Tables, stream: StreamAppend): GateRows | undefined {
  const { runId, create, events } = stream
  const tenant = create?.tenant ?? tables.runs.get(runId)?.tenant ?? null
  const rows = events.reduce((rows, event) => gateRowsAfter(rows, tenant, event), rowsBefore(tables, stream))
  return rows === NO_GATE_ROWS ? undefined : rows
}

export const gateRowsOf = (tables: Tables, runId: string): GateRows => tables.gates.get(runId) ?? NO_GATE_ROWS

function rowsBefore(tables: Tables, { runId, create }: StreamAppend): GateRows {
  if (!create) return gateRowsOf(tables, runId)
  const shared = sharedRows(tables, create.fork)
  return create.gated.length > 0 ? { ...shared, gated: create.gated } : shared
}

/** A fork has what happened before its cut, but its own gates. */
function sharedRows(tables: Tables, fork: { sourceRunId: string; fromSeq: number } | null): GateRows {
  const source = fork && tables.gates.get(fork.sourceRunId)
  if (!source) return NO_GATE_ROWS
  const isShared = ({ sequence }: { sequence: number }): boolean => sequence < fork.fromSeq
  return {
    gated: [],
    staged: source.staged.filter(isShared),
    verdicts: source.verdicts.filter(isShared).map(one => ({ ...one, tenant: null })),
    merges: source.merges.filter(isShared),
  }
}

/** A verdict that a fork shares is listed once, with the run that was judged. */
export function listVerdicts(tables: Tables, { tenant, gateId, since = 0, limit }: VerdictQuery): VerdictRow[] {
  const found = [...tables.gates].flatMap(([runId, { verdicts }]) =>
    verdicts
      .filter(one => one.tenant === tenant && (gateId === undefined || one.gateId === gateId) && one.at >= since)
      .map(one => ({ runId, sequence: one.sequence, gateId: one.gateId, verdict: one.verdict, at: one.at })),
  )
  return found.sort(newestFirst).slice(0, limit)
}

const newestFirst = (a: VerdictRow, b: VerdictRow): number =>
  b.at - a.at || (a.runId === b.runId ? b.sequence - a.sequence : a.runId < b.runId ? 1 : -1)
