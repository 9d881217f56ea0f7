import { type GatedPoint, type StoredEvent, type StreamAppend, UnverifiedMerge } from '../../engine/ports/event-log.js'
import type { VerdictQuery, VerdictRow } from '../../engine/ports/run-index.js'
import type { Tables } from './tables.js'

/** What S10 is held by, of one run: the rows that the SQL stores keep under these names, oldest first. */
export type GateRows = {
  readonly gated: readonly GatedPoint[]
  readonly staged: readonly Staged[]
  readonly verdicts: readonly Verdict[]
  readonly merges: readonly Merge[]
}

/** `place` is how the event that merges it names it: see `placeOf`. */
type Staged = {
  readonly sequence: number
  readonly gateId: string
  readonly target: string
  readonly resultHash: string
  readonly point: GatedPoint['point']
  readonly place: string | null
}

type Verdict = Omit<Staged, 'point' | 'place'> & { readonly verdict: VerdictRow['verdict']; readonly at: number }

type Merge = { readonly sequence: number; readonly staged: number }

const NONE: GateRows = { gated: [], staged: [], verdicts: [], merges: [] }

/** The run's rows after this append; undefined when it has none. Throws where a merge has no pass (S10). */
export function gateRowsAfter(tables: Tables, stream: StreamAppend): GateRows | undefined {
  const rows = stream.events.reduce((rows, event) => withEvent(stream.runId, rows, event), rowsBefore(tables, stream))
  return rows === NONE ? undefined : rows
}

function rowsBefore(tables: Tables, { runId, create }: StreamAppend): GateRows {
  if (!create) return tables.gates.get(runId) ?? NONE
  const shared = sharedRows(tables, create.fork)
  return create.gated.length > 0 ? { ...shared, gated: create.gated } : shared
}

function withEvent(runId: string, rows: GateRows, event: StoredEvent): GateRows {
  switch (event.type) {
    case 'dws.verification.started':
      return { ...rows, staged: [...rows.staged, ...stagedBy(event)] }
    case 'agent.verified':
      return { ...rows, verdicts: [...rows.verdicts, ...verdictOf(event)] }
    case 'core.workflowChain.event':
    case 'node.completed':
    case 'run.completed':
      return rows.gated.length === 0 ? rows : { ...rows, merges: [...rows.merges, ...mergedBy(runId, rows, event)] }
    default:
      return rows
  }
}

/** A fork has what happened before its cut, but its own gates. */
function sharedRows(tables: Tables, fork: { sourceRunId: string; fromSeq: number } | null): GateRows {
  const source = fork && tables.gates.get(fork.sourceRunId)
  if (!source) return NONE
  const shared = ({ sequence }: { sequence: number }): boolean => sequence < fork.fromSeq
  return {
    gated: [],
    staged: source.staged.filter(shared),
    verdicts: source.verdicts.filter(shared),
    merges: source.merges.filter(shared),
  }
}

function stagedBy({ sequence, nodeId, payload }: StoredEvent): Staged[] {
  const { gateId, targetRef: target, resultHash, point, blocking } = JSON.parse(payload)
  if (!blocking || point === 'none') return []
  return [{ sequence, gateId, target, resultHash, point, place: placeOf(point, nodeId, target) }]
}

/** A harvest names the child it takes from, a node itself; a run has one result. */
const placeOf = (point: GatedPoint['point'], nodeId: string | null, childRunId: string): string | null =>
  point === 'harvest' ? childRunId : point === 'node' ? nodeId : ''

/** A verdict without a secret is no gate's. */
function verdictOf({ sequence, payload, secret, at }: StoredEvent): Verdict[] {
  if (secret === null) return []
  const { target, verdict } = JSON.parse(payload)
  const { gateId, resultHash } = JSON.parse(secret)
  return [{ sequence, gateId, target, resultHash, verdict, at }]
}

function mergedBy(runId: string, rows: GateRows, event: StoredEvent): Merge[] {
  const merge = mergeOf(event)
  if (!merge) return []
  const { point, childRunId = '', workerId } = merge
  const here = rows.gated.filter(
    gate =>
      gate.point === point &&
      (point === 'run' || gate.nodeId === event.nodeId) &&
      (point !== 'harvest' || gate.workerId === null || gate.workerId === workerId),
  )
  const place = placeOf(point, event.nodeId, childRunId)
  return here.map(({ gateId }) => ({ sequence: event.sequence, staged: passed(runId, rows, { gateId, point, place }) }))
}

function mergeOf({ type, payload }: StoredEvent) {
  if (type === 'node.completed') return { point: 'node' } as const
  if (type === 'run.completed') return { point: 'run' } as const
  const { phase, workerId, childRunId } = JSON.parse(payload) as { [key: string]: string }
  return phase === 'output.harvested' ? ({ point: 'harvest', workerId, childRunId } as const) : undefined
}

/** Sequence of the staging that may be merged there. */
function passed(runId: string, rows: GateRows, at: Pick<Staged, 'gateId' | 'point' | 'place'>): number {
  const refusal = (why: string) => new UnverifiedMerge(`run ${runId} may not merge past gate ${at.gateId}: ${why}`)
  const staged = rows.staged.findLast(
    one => one.gateId === at.gateId && one.point === at.point && one.place === at.place,
  )
  if (!staged) throw refusal('nothing is staged')
  if (rows.merges.some(merge => merge.staged === staged.sequence)) throw refusal('what is staged is merged already')
  const verdict = rows.verdicts.findLast(
    one => one.gateId === at.gateId && one.target === staged.target && one.resultHash === staged.resultHash,
  )
  if (!verdict || verdict.sequence < staged.sequence) throw refusal('what is staged has no verdict')
  if (verdict.verdict !== 'pass') throw refusal(`its verdict is ${verdict.verdict}`)
  return staged.sequence
}

/** A verdict that a fork shares is listed once, with the run that was judged. */
export function listVerdicts(tables: Tables, { tenant, gateId, since = 0, limit }: VerdictQuery): VerdictRow[] {
  const found = [...tables.gates].flatMap(([runId, rows]) => {
    const run = tables.runs.get(runId)
    if (run?.tenant !== tenant) return []
    const own = rows.verdicts.filter(({ sequence }) => sequence >= (run.fork?.fromSeq ?? 0))
    return own
      .filter(one => (gateId === undefined || one.gateId === gateId) && one.at >= since)
      .map(one => ({ runId, sequence: one.sequence, gateId: one.gateId, verdict: one.verdict, at: one.at }))
  })
  return found.sort(newestFirst).slice(0, limit)
}

const newestFirst = (a: VerdictRow, b: VerdictRow): number =>
  b.at - a.at || (a.runId === b.runId ? b.sequence - a.sequence : a.runId < b.runId ? 1 : -1)
