import type { WriteEvent, WriteSecret } from '../core/journal/events.js'
import { WRITE_EVENTS } from '../core/journal/events.js'
import { forkScope, runScope, type Space } from '../core/journal/place.js'
import type { GatedPoint, StoredEvent } from '../engine/ports/event-log.js'
import type { WriteName } from '../engine/ports/journal.js'

/**
 * S15 as a function of the log (docs/design/journal.md): what an event does to the rows of its run. The SQL stores do the
 * same by triggers; positions are given out by whoever has the scope's lock, and follow from no log.
 */

/** A write as its event told it. */
export type ToldWrite = WriteName &
  WriteSecret & {
    readonly tenant: string
    readonly nodeId: string
    readonly agentId: string | null
    readonly at: number
  }

/** `scope`: where it has its position when it is published by this run. */
export type LayerEntry = { readonly write: WriteName; readonly scope: string }

/** `seq`: entered by that event of the run, at that node; `left` by that one. */
export type LayerRow = LayerEntry & {
  readonly seq: number
  readonly nodeId: string
  readonly left: number | null
}

export type FamilyRun = {
  readonly runId: string
  readonly tenant: string
  readonly workflowId: string
  readonly parentRunId: string | null
  readonly parentNodeId: string | null
  readonly isReplay: boolean
  /** Its log ends with `run.completed`, which its gates at the exit must have passed (S10). */
  readonly isCompleted: boolean
  readonly gated: readonly GatedPoint[]
  /** Whose events `[from, upto)` are shared as its own, where it is a fork. */
  readonly shared: readonly { readonly runId: string; readonly from: number; readonly upto: number }[]
}

/** What is known of runs when an event is looked at. */
export type Family = {
  run(runId: string): FamilyRun | undefined
  /** In the order in which they entered. */
  layerOf(runId: string): readonly LayerRow[]
  /** In the order of their events. */
  writesOf(runId: string): readonly ToldWrite[]
}

export type JournalStep = {
  readonly write?: ToldWrite
  readonly enters: readonly LayerEntry[]
  /** What entered by these nodes leaves, unless it is published. */
  readonly leaves?: readonly string[]
  /** In this order; what has a position in its scope keeps it. */
  readonly publishes: readonly LayerEntry[]
}

const NOTHING: JournalStep = { enters: [], publishes: [] }

const WRITES: ReadonlySet<string> = new Set(WRITE_EVENTS)

export function journalStep(family: Family, run: FamilyRun, event: StoredEvent): JournalStep {
  if (run.isReplay) return NOTHING
  if (WRITES.has(event.type)) return told(family, run, event)
  switch (event.type) {
    case 'node.completed':
      return isNodeGated(run, event.nodeId) ? entering(family, run, attemptOf(family, run, event)) : NOTHING
    case 'core.workflowChain.event':
      return entering(family, run, leftBy(family, run, event))
    case 'assay.rework.began':
      return pointOf(event) === 'run' ? { ...NOTHING, leaves: returnedIn(event) } : NOTHING
    case 'run.completed':
      return hasExitGate(run) && isOpenAbove(family, run) ? { ...NOTHING, publishes: layerNow(family, run) } : NOTHING
    default:
      return NOTHING
  }
}

const entering = (family: Family, run: FamilyRun, enters: readonly LayerEntry[]): JournalStep => ({
  enters,
  publishes: isOpen(family, run) ? enters : [],
})

function told(family: Family, run: FamilyRun, event: StoredEvent): JournalStep {
  const write = writeOf(run, event)
  const { runId, sequence, scope } = write
  if (isNodeGated(run, event.nodeId)) return { ...NOTHING, write }
  return { ...entering(family, run, [{ write: { runId, sequence }, scope }]), write }
}

const SPACE_OF: { readonly [Type in WriteEvent]: Space } = {
  'memory.written': 'memory',
  'assay.memory.forgotten': 'memory',
  'assay.file.written': 'workspace',
  'assay.file.removed': 'workspace',
}

const PUTS: ReadonlySet<string> = new Set(['memory.written', 'assay.file.written'])

/** Where and whether it is a put follows from the type, which readers see. */
function writeOf(
  { runId, tenant }: FamilyRun,
  { sequence, type, nodeId, payload, secret, at }: StoredEvent,
): ToldWrite {
  if (secret === null) throw new Error(`event ${sequence} of run ${runId} tells of a write without saying which`)
  const { agentId } = JSON.parse(payload) as { agentId?: string }
  return {
    ...(JSON.parse(secret) as WriteSecret),
    space: SPACE_OF[type as WriteEvent],
    op: PUTS.has(type) ? 'put' : 'forget',
    runId,
    sequence,
    tenant,
    nodeId: nodeId ?? '',
    agentId: agentId ?? null,
    at,
  }
}

const pointOf = ({ payload }: StoredEvent): unknown => (JSON.parse(payload) as { point?: unknown }).point

const returnedIn = ({ nodeId, secret }: StoredEvent): string[] => [
  nodeId ?? '',
  ...((JSON.parse(secret ?? '{}') as { returned?: readonly string[] }).returned ?? []),
]

const isNodeGated = ({ gated }: FamilyRun, nodeId: string | null): boolean =>
  gated.some(gate => gate.point === 'node' && gate.nodeId === nodeId)

const hasExitGate = ({ gated }: FamilyRun): boolean => gated.some(({ point }) => point === 'run')

/** Whether a gate of the parent stands between it and a child. */
const holds = ({ gated }: FamilyRun, nodeId: string | null, workflowId: string): boolean =>
  gated.some(
    gate =>
      gate.point === 'harvest' &&
      gate.nodeId === nodeId &&
      (gate.workerId === null || isWorker(gate.workerId, workflowId)),
  )

/**
 * Whether a run of that workflow may be that worker's. A worker is a workflow, or an agent, for which the host makes one
 * (`agentWorkflow` in the engine): its name is the agent's, with a hash where that alone would not tell agents apart.
 */
export function isWorker(workerId: string, workflowId: string): boolean {
  if (workerId === workflowId) return true
  const plain = `assay-agent-${workerId.replaceAll('.', '-')}`
  const isPlain = !/[^a-z0-9.]/.test(workerId)
  return (isPlain && workflowId === plain) || workflowId.slice(0, -13) === plain.toLowerCase().slice(0, 100)
}

const isOpen = (family: Family, run: FamilyRun): boolean => !hasExitGate(run) && isOpenAbove(family, run)

function isOpenAbove(family: Family, { parentRunId, parentNodeId, workflowId }: FamilyRun): boolean {
  if (parentRunId === null) return true
  const parent = family.run(parentRunId)
  return parent !== undefined && !holds(parent, parentNodeId, workflowId) && isOpen(family, parent)
}

/** What was written in the attempt that the event says was completed, also before the cut of a branch. */
function attemptOf(family: Family, run: FamilyRun, { nodeId, secret }: StoredEvent): LayerEntry[] {
  const { since } = JSON.parse(secret ?? '{}') as { since?: number }
  const isMeant = (write: ToldWrite) => write.nodeId === nodeId && write.since === since
  const shared = run.shared.flatMap(({ runId, from, upto }) =>
    family.writesOf(runId).filter(write => isMeant(write) && write.sequence >= from && write.sequence < upto),
  )
  return [
    ...shared.map(write => ({ write: nameOf(write), scope: forkScope(run.runId) })),
    ...family
      .writesOf(run.runId)
      .flatMap(write => (isMeant(write) ? { write: nameOf(write), scope: write.scope } : [])),
  ]
}

const nameOf = ({ runId, sequence }: WriteName): WriteName => ({ runId, sequence })

/** What a child has left for its parent, once nothing stands between them. A branch takes it from its source's children. */
function leftBy(family: Family, run: FamilyRun, { nodeId, payload }: StoredEvent): LayerEntry[] {
  const { phase, workerId = '', childRunId } = JSON.parse(payload) as { [name: string]: string | undefined }
  if ((phase !== 'child.completed' && phase !== 'output.harvested') || childRunId === undefined) return []
  const child = family.run(childRunId)
  if (child?.tenant !== run.tenant || child.parentNodeId !== nodeId) return []
  const isOwn = child.parentRunId === run.runId
  if (!isOwn && !run.shared.some(({ runId }) => runId === child.parentRunId)) return []
  const isHeld = holds(run, nodeId, child.workflowId)
  // Gates are asked by the worker that the event names (S10): it must be the child's.
  if ((phase === 'output.harvested') !== isHeld || (isHeld && !isWorker(workerId, child.workflowId))) return []
  if (hasExitGate(child) && !child.isCompleted) return []
  const left = layerNow(family, child)
  if (isOwn) return left
  const scope = forkScope(run.runId)
  return left.flatMap(entry => (isIsolated(family, child, entry) ? [] : { ...entry, scope }))
}

const layerNow = (family: Family, { runId }: FamilyRun): LayerEntry[] =>
  family.layerOf(runId).flatMap(({ write, scope, left }) => (left === null ? { write, scope } : []))

/** Whether it was written where nobody above the child reads. */
function isIsolated(family: Family, child: FamilyRun, { write, scope }: LayerEntry): boolean {
  for (let run = family.run(write.runId); run !== undefined; run = family.run(run.parentRunId ?? '')) {
    if (scope === runScope(run.runId)) return true
    if (run.runId === child.runId) return false
  }
  return false
}

/** Whose entries an event says that it read, as `<run>:<sequence>`. */
export function readsIn({ type, secret }: StoredEvent): readonly string[] {
  if (type !== 'assay.journal.read' || secret === null) return []
  return (JSON.parse(secret) as { rows?: readonly string[] }).rows ?? []
}

/** What `ifMatch` is held against, and what the next version follows. `latest` is undefined where the scope has none. */
export const versionsOf = (
  latest: { readonly version: number; readonly op: 'put' | 'forget' } | undefined,
  seen: number,
): { readonly current: number; readonly counted: number } => {
  if (latest === undefined) return { current: seen, counted: seen }
  return { current: latest.op === 'put' ? latest.version : 0, counted: latest.version }
}
