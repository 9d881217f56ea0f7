import { RESULT_ARTIFACT } from '../core/verification/record.js'
import { type GatedPoint, type StoredEvent, UnverifiedMerge } from '../engine/ports/event-log.js'
import type { GateRows, JudgedRow, MergeRow, StagedRow } from '../engine/ports/gate-rows.js'

/**
 * S10 as a function of the log: the rows that the SQL stores derive by triggers, and what their constraints refuse.
 *
 * A run of version 3 of the rules or later is held to more than the order. Its gated points say what they want
 * confirmed; those of an older run say null, and its events need name no hash.
 */

export const NO_GATE_ROWS: GateRows = { gated: [], staged: [], verdicts: [], merges: [] }

/** The rows after this event. Throws UnverifiedMerge where the event may not be written. */
export function gateRowsAfter(rows: GateRows, tenant: string | null, event: StoredEvent): GateRows {
  switch (event.type) {
    case 'dws.verification.started':
      return { ...rows, staged: [...rows.staged, ...stagedBy(event)] }
    case 'agent.verified':
      return { ...rows, verdicts: [...rows.verdicts, ...verdictOf(event, tenant)] }
    default:
      return rows.gated.length === 0 ? rows : guarded(rows, event)
  }
}

/** Events that the rows follow from, or that they may refuse. */
export const GATE_EVENTS: ReadonlySet<string> = new Set([
  'dws.verification.started',
  'agent.verified',
  'core.workflowChain.event',
  'node.completed',
  'run.completed',
  'assay.tool.delivered',
  'agent.toolReturned',
  'variable.changed',
  'channel.written',
  'artifact.created',
])

function guarded(rows: GateRows, event: StoredEvent): GateRows {
  switch (event.type) {
    case 'run.completed':
      refuseClaim(rows, event)
      return merging(rows, event)
    case 'core.workflowChain.event':
    case 'node.completed':
    case 'assay.tool.delivered':
      return merging(rows, event)
    case 'agent.toolReturned':
      refuseReturn(rows, event)
      return rows
    case 'variable.changed':
    case 'channel.written':
      refuseWrite(rows, event)
      return rows
    case 'artifact.created':
      refuseArtifact(rows, event)
      return rows
    default:
      return rows
  }
}

const merging = (rows: GateRows, event: StoredEvent): GateRows => {
  const merges = mergedBy(rows, event)
  return merges.length === 0 ? rows : { ...rows, merges: [...rows.merges, ...merges] }
}

function stagedBy({ sequence, nodeId, payload }: StoredEvent): StagedRow[] {
  const { gateId, attempt, targetRef: target, resultHash, point, blocking, workerId = '' } = JSON.parse(payload)
  if (!blocking || point === 'none') return []
  const place = placeOf(point, nodeId, target)
  return [{ sequence, gateId, attempt, target, resultHash, point, place, nodeId: nodeId ?? '', workerId }]
}

/** A harvest names the child it takes from, a tool's result its call, a node itself; a run has one result. */
const placeOf = (point: GatedPoint['point'], nodeId: string | null, target: string): string => {
  if (point === 'harvest' || point === 'tool') return target
  return point === 'node' ? (nodeId ?? '') : ''
}

/** A verdict without a secret is no gate's. */
function verdictOf({ sequence, payload, secret, at }: StoredEvent, tenant: string | null): JudgedRow[] {
  if (secret === null) return []
  const { target, verdict } = JSON.parse(payload)
  const { gateId, resultHash, label = '' } = JSON.parse(secret)
  return [{ sequence, gateId, target, resultHash, verdict, label, tenant, at }]
}

function mergedBy(rows: GateRows, event: StoredEvent): MergeRow[] {
  const merge = mergeOf(event)
  if (!merge) return []
  const { point, target = '', workerId } = merge
  const here = rows.gated.filter(
    gate =>
      gate.point === point &&
      (point === 'run' || gate.nodeId === event.nodeId) &&
      ((point !== 'harvest' && point !== 'tool') || gate.workerId === null || gate.workerId === workerId),
  )
  if (here.length === 0) return []
  const place = placeOf(point, event.nodeId, target)
  const eventHash = hashIn(event)
  const merges = here.map(gate => passed(rows, gate, place, event, eventHash))
  const [first] = merges
  const other = merges.find(({ resultHash }) => resultHash !== first?.resultHash)
  if (other) throw refusal(other.gateId, 'the gates there have passed different results')
  return merges
}

function mergeOf({ type, payload }: StoredEvent) {
  if (type === 'node.completed') return { point: 'node' } as const
  if (type === 'run.completed') return { point: 'run' } as const
  const { phase, workerId, childRunId, toolId, callId } = JSON.parse(payload) as { [key: string]: string }
  if (type === 'assay.tool.delivered') return { point: 'tool', workerId: toolId, target: callId } as const
  return phase === 'output.harvested' ? ({ point: 'harvest', workerId, target: childRunId } as const) : undefined
}

const hashIn = ({ secret }: StoredEvent): string | null =>
  secret === null ? null : ((JSON.parse(secret) as { resultHash?: string }).resultHash ?? null)

const refusal = (gateId: string, why: string) => new UnverifiedMerge(`gate ${gateId} lets nothing pass there: ${why}`)

function passed(
  rows: GateRows,
  { gateId, point, confirm }: GatedPoint,
  place: string,
  { sequence }: StoredEvent,
  eventHash: string | null,
): MergeRow {
  const staged = rows.staged.findLast(one => one.gateId === gateId && one.point === point && one.place === place)
  if (!staged) throw refusal(gateId, 'nothing is staged')
  if (isMerged(rows, staged)) throw refusal(gateId, 'what is staged is merged already')
  const judged = judgedSince(rows, staged)
  if (!judged) throw refusal(gateId, 'what is staged has no verdict')
  const { verdict, label } = judged
  const { target, resultHash } = staged
  if (verdict !== 'pass') throw refusal(gateId, `its verdict is ${verdict}`)
  if (eventHash === null ? confirm !== null : eventHash !== resultHash)
    throw refusal(gateId, 'the event does not name the result that was passed')
  if (confirm !== null && (label === '' || (confirm === 'full' && label === 'verified in part')))
    throw refusal(gateId, 'not everything that it asks was judged')
  const row = { sequence, gateId, staged: staged.sequence, target, resultHash, judged: judged.sequence }
  return { ...row, verdict, label, confirm, eventHash }
}

const isMerged = ({ merges }: GateRows, { sequence }: StagedRow): boolean =>
  merges.some(merge => merge.staged === sequence)

/** The latest verdict over exactly what is staged, if it is later than the staging. */
function judgedSince({ verdicts }: GateRows, staged: StagedRow): JudgedRow | undefined {
  const { gateId, target, resultHash } = staged
  const latest = verdicts.findLast(
    one => one.gateId === gateId && one.target === target && one.resultHash === resultHash,
  )
  return latest && latest.sequence > staged.sequence ? latest : undefined
}

/** No run says that its goal is reached while a gate's latest word on some place of work is not a whole pass. */
function refuseClaim(rows: GateRows, { payload }: StoredEvent): void {
  if ((JSON.parse(payload) as { goalSatisfied?: unknown }).goalSatisfied !== true) return
  const strict = new Set(rows.gated.filter(({ confirm }) => confirm !== null).map(({ gateId }) => gateId))
  const latest = new Map<string, JudgedRow>()
  for (const judged of rows.verdicts) {
    if (!strict.has(judged.gateId)) continue
    const staged = rows.staged.findLast(
      one =>
        one.gateId === judged.gateId &&
        one.target === judged.target &&
        one.resultHash === judged.resultHash &&
        one.sequence < judged.sequence,
    )
    if (staged) latest.set(JSON.stringify([staged.gateId, staged.nodeId, staged.workerId]), judged)
  }
  for (const { gateId, verdict, label } of latest.values())
    if (verdict !== 'pass' || label === 'forced' || label === 'verified in part')
      throw refusal(gateId, `the goal is not reached: its latest word is ${label || verdict}`)
}

/** What a tool brings is told as held, or without its words, where a gate stands between it and the agent. */
function refuseReturn({ gated }: GateRows, { nodeId, payload, secret }: StoredEvent): void {
  const { toolId } = JSON.parse(payload) as { toolId?: string }
  const gate = gated.find(one => one.point === 'tool' && one.nodeId === nodeId && one.workerId === toolId)
  if (gate === undefined || secret === null) return
  const { contents, gated: isHeld, withheld } = JSON.parse(secret) as { [key: string]: unknown }
  if (contents !== undefined && !isHeld && withheld === undefined)
    throw refusal(gate.gateId, 'what the tool has brought is given to the agent unjudged')
}

/** Strict gates that stand before all results of a node. */
const gatesBefore = ({ gated }: GateRows, nodeId: string | null): GatedPoint[] =>
  gated.filter(
    ({ nodeId: at, point, workerId, confirm }) =>
      at === nodeId && point !== 'run' && workerId === null && confirm !== null,
  )

const latestAt = ({ staged }: GateRows, { gateId, point, nodeId }: GatedPoint): StagedRow | undefined =>
  staged.findLast(one => one.gateId === gateId && one.point === point && one.nodeId === nodeId)

/** Nothing is written in the name of a gated node but what its gates have passed. */
function refuseWrite(rows: GateRows, { nodeId }: StoredEvent): void {
  for (const gate of gatesBefore(rows, nodeId)) {
    const staged = latestAt(rows, gate)
    if (!staged || judgedSince(rows, staged)?.verdict !== 'pass')
      throw refusal(gate.gateId, 'what is written was not passed')
    // A worker's harvest may be told before it is written; a node's result is written before the node completes.
    if (gate.point === 'node' && isMerged(rows, staged)) throw refusal(gate.gateId, 'what was passed is merged already')
  }
}

/** While a gate judges an agent's result, or its pass is not merged yet, nothing is made at the node but the record. */
function refuseArtifact(rows: GateRows, { nodeId, payload }: StoredEvent): void {
  const gates = gatesBefore(rows, nodeId).filter(({ point }) => point === 'node')
  if (gates.length === 0 || (JSON.parse(payload) as { artifactType?: unknown }).artifactType === RESULT_ARTIFACT) return
  for (const gate of gates) {
    const staged = latestAt(rows, gate)
    if (!staged || isMerged(rows, staged)) continue
    const verdict = judgedSince(rows, staged)?.verdict ?? 'pass'
    if (verdict === 'pass') throw refusal(gate.gateId, 'an artifact is made of what is not merged')
  }
}
