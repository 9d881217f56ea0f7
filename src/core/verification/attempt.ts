import { termsFor } from '../handoff/mapping.js'
import { peerWorkOf } from '../handoff/peer-work.js'
import { handedTo, handoffOf } from '../handoff/state.js'
import { type Json, own, sameJson } from '../json.js'
import { carriesSecret, MASK, maskWithin, secretsIn, secretsOf } from '../run/redaction.js'
import { type Active, type NodeState, nodeAt, type RunBase } from '../run/state.js'
import { invocationOf, workersOf } from '../run/waiting.js'
import type { WorkflowNode } from '../workflow/definition.js'
import { type Plan, type PlanNode, planNodeOf } from '../workflow/plan.js'
import { isSettledByProbes } from './evidence.js'
import type { BoundGate } from './gate.js'
import { HELD_TYPES, TOOL_CALLING_TYPE } from './phase-types.js'
import { type AttemptMade, boundGateAt, type Slot } from './state.js'

/** Where a result is merged: into the parent's variables, as its node's own, into what an agent is told, or as the run's. */
export type Point = 'harvest' | 'node' | 'tool' | 'run' | 'none'

/** A result that gates may have to see before anything is made of it. */
export type StagedSubject = {
  readonly point: Point
  /** Of a trial: a goal wants the verdict told. */
  readonly isForGoal?: true
  readonly worker?: number
  readonly workerId?: string
  /** How many of the workers before it are the same one. */
  readonly occurrence?: number
  /** Of what a tool has brought: which tool, and which of its calls. */
  readonly toolId?: string
  readonly callId?: string
  /** As readers of the log know it. */
  readonly target: string
  /** Sequence of the event that brought it. */
  readonly sequence: number
  readonly result: Json
  /** Gates that have let it pass, by index. */
  readonly cleared: readonly number[]
  /** Whose work it is: agents, and the worker itself. */
  readonly actors: readonly string[]
}

/** What a node has in hand that is not merged yet, whether or not a gate stands before it. */
export function subjectOf(node: NodeState): StagedSubject | undefined {
  if (node.is === 'waiting' && node.on === 'gate') {
    const { target, subject: sequence, result, cleared } = node.staged
    const actor = invocationOf(node)?.brief.agentId
    const call = callIn(node)
    // Whoever asked for it is no judge of it either.
    const actors = [actor, call?.toolId].filter(name => name !== undefined)
    const judges = node.point === 'none' && node.wait.of !== undefined ? { isForGoal: true as const } : {}
    return { point: node.point, ...judges, ...call, target, sequence, result, cleared, actors }
  }
  const handed = handoffOf(node)
  if (!handed) return undefined
  // R-MAP-5: results are merged in their order, so they are judged in it too.
  const worker = handed.workers.findIndex(({ is }) => is !== 'done')
  const ended = handed.workers[worker]
  if (ended?.is !== 'completed') return undefined
  const { childRunId: target, ended: sequence, outputs: result, cleared = [], agents = [] } = ended
  const workerId = handedTo(handed, worker)
  const who = { worker, workerId, occurrence: occurrenceOf(handed.wait.workers, worker) }
  // P10: who works at a peer cannot be known; the peer answers for them.
  const peer = peerWorkOf(workerId)?.peer
  const actors = [workerId, ...(peer === undefined ? [] : [`peer:${peer}`]), ...agents]
  return { point: 'harvest', ...who, target, sequence, result, cleared, actors }
}

/** The call whose result is before its gates. */
export function callIn(node: NodeState | undefined): { toolId: string; callId: string } | undefined {
  const now = node?.is === 'waiting' && node.on === 'gate' && node.point === 'tool' ? node.invocation.now : undefined
  return now?.is === 'judging' ? { toolId: now.toolId, callId: now.callId } : undefined
}

/** A decision may name the same worker twice; what becomes of one is not the other's. */
export const occurrenceOf = (workers: readonly string[], worker: number): number =>
  workers.slice(0, worker).filter(workerId => workerId === workers[worker]).length

type Place = Pick<StagedSubject, 'workerId' | 'occurrence' | 'callId'>

/** One node, one worker of a node, or one call of a tool. Ids may hold any character, so no separator could keep two apart. */
export const placeOf = (nodeId: string, { workerId, occurrence = 0, callId }: Place = {}): string => {
  if (callId !== undefined) return JSON.stringify([nodeId, callId])
  return JSON.stringify(workerId === undefined ? [nodeId] : [nodeId, workerId, occurrence])
}

/** The whole run, as a place of work: what the gates at its exit judge. */
export const WHOLE_RUN = JSON.stringify([])

/** The gates that stand before a commit, by index, in the order in which they are applied. */
export function gatesAt(
  { gated }: Pick<RunBase, 'gated'>,
  nodeId: string,
  { point, workerId, toolId }: Pick<StagedSubject, 'point' | 'workerId' | 'toolId'>,
): number[] {
  return (gated?.gates ?? []).flatMap(({ gate: { position } }, index) => {
    const { phase_id, placement, worker_id, tool_name } = position
    if (point === 'none') return [index]
    if (point === 'run') return placement === 'workflow_exit' ? [index] : []
    if (placement === 'workflow_exit' || phase_id !== nodeId) return []
    if (point === 'tool' || tool_name !== undefined) return point === 'tool' && tool_name === toolId ? [index] : []
    return worker_id === undefined || worker_id === workerId ? [index] : []
  })
}

/** A run whose work would go unchecked does not start: the gate must find its phase in the very plan that is run. */
export function misplaced(plan: Plan, { gate }: BoundGate): string[] {
  const { phase_id, placement, tool_name } = gate.position
  const phase = planNodeOf(plan, phase_id)
  const isPhase =
    phase &&
    (tool_name === undefined ? phase.type.hands || isHeld(phase.type.typeId) : phase.type.typeId === TOOL_CALLING_TYPE)
  const holds = phase && (placement === 'workflow_exit' || isPhase)
  if (holds) return []
  return [
    `gate "${gate.gate_id}" stands at node "${phase_id}", which this workflow does not have, or whose result no gate can hold`,
  ]
}

/** The node of a trial is held as well, and only the host makes one. */
const isHeld = (typeId: string): boolean => HELD_TYPES.includes(typeId) || typeId === 'assay.judge'

/** The first gate that has not let this result pass. */
export const nextGate = (state: Pick<RunBase, 'gated'>, nodeId: string, subject: StagedSubject): number | undefined =>
  gatesAt(state, nodeId, subject).find(index => !subject.cleared.includes(index))

/** Whether a gate stands between a node's result and what it is for. */
export const isGatedNode = (state: Pick<RunBase, 'gated'>, nodeId: string): boolean =>
  gatesAt(state, nodeId, { point: 'node' }).length > 0

/** Ids of the gates here that nothing gets past without a pass. */
export const blockingGatesAt = (
  state: Pick<RunBase, 'gated'>,
  nodeId: string,
  place: Pick<StagedSubject, 'point' | 'workerId' | 'toolId'>,
): readonly string[] =>
  gatesAt(state, nodeId, place)
    .map(index => boundGateAt(state, index).gate)
    .filter(({ gate_behaviour }) => gate_behaviour.blocking)
    .map(({ gate_id }) => gate_id)

/** One gate over one place, or over the exit. */
export const slotOf = (gateId: string, nodeId: string, subject: Place & Pick<StagedSubject, 'point'>): string =>
  JSON.stringify(subject.point === 'run' ? [gateId] : [gateId, placeOf(nodeId, subject)])

/** The place that a slot is about. */
export const placeOfSlot = (slot: string): string => (JSON.parse(slot) as string[])[1] ?? WHOLE_RUN

/** What has been made of the work that is under way here, attempt by attempt. */
export const attemptsOf = ({ gated }: Pick<RunBase, 'gated'>, slot: string): readonly AttemptMade[] =>
  gated?.slots[slot]?.attempts ?? []

/**
 * The hash of the result that the gates before this merge have judged last; undefined where none stands there. The event
 * that merges carries it, and the store compares it with what every gate has let pass (S10).
 */
export const judgedHash = (
  state: Pick<RunBase, 'gated'>,
  nodeId: string,
  subject: Place & Pick<StagedSubject, 'point' | 'toolId'>,
): string | undefined =>
  gatesAt(state, nodeId, subject)
    .map(index => boundGateAt(state, index).gate.gate_id)
    .map(gateId => attemptsOf(state, slotOf(gateId, nodeId, subject)).at(-1)?.resultHash)
    .findLast(hash => hash !== undefined)

/** R-DWS-22: how many there are with the one under way. What another gate has sent back was no attempt at this one. */
export const usedOf = (made: readonly AttemptMade[]): number => made.filter(({ isSentBack }) => isSentBack).length + 1

/** R-DWS-23: what failed last time; what the host checks by itself is checked every time. */
export function dimensionsOf({ gate }: BoundGate, attempts: readonly AttemptMade[]): readonly string[] {
  const { evaluation_criteria, gate_behaviour } = gate
  const last = attempts.at(-1)
  const isAsked = (dimension: string, settled: boolean) =>
    last === undefined ||
    gate_behaviour.reverification === 'full' ||
    last.failed.length === 0 ||
    settled ||
    last.failed.includes(dimension)
  return evaluation_criteria
    .filter(criterion => isAsked(criterion.dimension, isSettledByProbes(criterion)))
    .map(({ dimension }) => dimension)
}

/** The result as verifiers and people may see it: without what the log must not show. */
export function shownResult(state: Active, { node, index }: PlanNode, subject: StagedSubject): Json {
  const secrets = secretsOf(state)
  const { worker, workerId } = subject
  if (worker === undefined || workerId === undefined)
    return subject.point === 'node' && isResultSensitive(state, node) ? MASK : maskWithin(subject.result, secrets)
  const ended = workersOf(nodeAt(state, index))[worker]
  const bound = termsFor(node.config, workerId).outputs.filter(([own]) => state.hidden.variables.includes(own))
  const hidden = [...(ended?.is === 'completed' ? ended.hidden : []), ...bound.map(([, child]) => child)]
  const shown = Object.entries(subject.result as { [name: string]: Json }).map(([name, value]) => [
    name,
    hidden.includes(name) ? MASK : maskWithin(value, secrets),
  ])
  return Object.fromEntries(shown) as Json
}

/** An agent's result is hidden already when it is to stand where the log must not show it. */
export function isResultSensitive(
  { hidden }: Pick<Active, 'hidden'>,
  { config, outputSensitivity = {} }: WorkflowNode,
): boolean {
  const { resultVariable } = config
  const isNamed = typeof resultVariable === 'string' && hidden.variables.includes(resultVariable)
  return isNamed || own(outputSensitivity, 'result') === true
}

/** Whether the result holds something that the log must not show, and nobody who judges it can see. */
export function isHidden(state: Active, planNode: PlanNode, subject: StagedSubject): boolean {
  const shown = shownResult(state, planNode, subject)
  // What a run leaves behind is masked where it is gathered.
  return subject.point === 'run' ? carriesSecret(shown, MASKED) : !sameJson(shown, subject.result)
}

const MASKED = secretsIn([MASK])

/**
 * R-VERIFY-12: places whose latest verdict is not a pass, and that the same worker has not made up for when the work was
 * handed over again. The gates at the exit are not among them: they have yet to let the run end.
 */
export const unresolved = (state: Pick<RunBase, 'gated'>): Slot[] =>
  standing(state, ({ atExit, verdict }) => !atExit && (verdict === 'fail' || verdict === 'revise'))

/** The same, and also where a result was let through that nobody has verified, or not as a whole: at the exit, too. */
export const compromised = (state: Pick<RunBase, 'gated'>): Slot[] =>
  standing(state, ({ atExit, verdict, label }) =>
    verdict === 'pass' ? label === 'forced' || label === 'verified in part' : verdict !== undefined && !atExit,
  )

/** Places of which that holds, and where the same worker has not passed since. */
function standing({ gated }: Pick<RunBase, 'gated'>, holds: (slot: Slot) => boolean): Slot[] {
  const all = Object.values(gated?.slots ?? {})
  const isMadeUp = (slot: Slot) =>
    all.some(
      other =>
        other.verdict === 'pass' &&
        !holds(other) &&
        other.gateId === slot.gateId &&
        other.nodeId === slot.nodeId &&
        other.workerId === slot.workerId &&
        (other.since > slot.since || isInsteadOf(other, slot)),
    )
  return all.filter(slot => holds(slot) && !isMadeUp(slot))
}

/** A later result of a tool in the place of one that the agent was never given. What it was given, it has. */
const isInsteadOf = (other: Slot, { verdict, returned, since }: Slot): boolean =>
  verdict !== 'pass' && returned !== undefined && other.since === since && (other.returned ?? 0) > returned
