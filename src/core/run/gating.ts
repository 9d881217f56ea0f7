import type { BoundGate } from '../gate/gate.js'
import type { Json } from '../json.js'
import { handing } from './handing.js'
import { termsFor } from './mapping.js'
import { MASK, maskWithin, secretsOf } from './masking.js'
import type { PlanNode } from './plan.js'
import type { Active, AttemptMade, NodeState, Slot, Told } from './state.js'

export type Waiting = Extract<NodeState, { is: 'waiting' }>

/** Where a result is merged: into the parent's variables, as its node's own, or as the run's. */
export type Point = 'harvest' | 'node' | 'run' | 'none'

/** A result that gates may have to see before anything is made of it. */
export type Subject = {
  readonly point: Point
  readonly worker?: number
  readonly workerId?: string
  /** As readers of the log know it. */
  readonly target: string
  /** Sequence of the event that brought it. */
  readonly sequence: number
  readonly result: Json
  /** Gates that have let it pass, by index. */
  readonly cleared: readonly number[]
  /** Whose work it is, where that is an agent. */
  readonly actor?: string
}

/** What a node has in hand that is not merged yet, whether or not a gate stands before it. */
export function subjectOf(node: NodeState): Subject | undefined {
  if (node.is !== 'waiting') return undefined
  if (node.staged) {
    const { point, target, subject: sequence, result, cleared } = node.staged
    const actor = node.invocation?.brief.agentId
    return { point, target, sequence, result, cleared, ...(actor === undefined ? {} : { actor }) }
  }
  const handed = handing(node)
  // R-MAP-5: results are merged in their order, so they are judged in it too.
  const worker = handed?.workers.findIndex(({ is }) => is !== 'done') ?? -1
  const ended = handed?.workers[worker]
  if (!handed || ended?.is !== 'completed') return undefined
  const { childRunId: target, ended: sequence, outputs: result, cleared = [] } = ended
  const workerId = handed.wait.workers[worker]!
  return { point: 'harvest', worker, workerId, target, sequence, result, cleared, actor: workerId }
}

/** The gates that stand before a commit, by index, in the order in which they are applied. */
export function gatesAt(
  { gates = [] }: Pick<Told, 'gates'>,
  nodeId: string,
  { point, workerId }: Pick<Subject, 'point' | 'workerId'>,
): number[] {
  return gates.flatMap(({ gate: { position } }, index) => {
    const { phase_id, placement, worker_id } = position
    if (point === 'none') return [index]
    if (point === 'run') return placement === 'workflow_exit' ? [index] : []
    const isHere = placement !== 'workflow_exit' && phase_id === nodeId
    return isHere && (worker_id === undefined || worker_id === workerId) ? [index] : []
  })
}

/** The first gate that has not let this result pass. */
export const nextGate = (state: Pick<Told, 'gates'>, nodeId: string, subject: Subject): number | undefined =>
  state.gates && gatesAt(state, nodeId, subject).find(index => !subject.cleared.includes(index))

/** Whether a gate stands between a node's result and what it is for. */
export const isGatedNode = (state: Pick<Told, 'gates'>, nodeId: string): boolean =>
  gatesAt(state, nodeId, { point: 'node' }).length > 0

/** Node and worker ids may hold any character, so no separator could keep two places apart. */
export const slotOf = (
  gateId: string,
  nodeId: string,
  { point, workerId }: Pick<Subject, 'point' | 'workerId'>,
): string =>
  JSON.stringify(point === 'run' ? [gateId] : [nodeId, ...(workerId === undefined ? [] : [workerId]), gateId])

/** What has been made of the work that is under way here, attempt by attempt. One worker's are not another's. */
export function attemptsOf(
  { slots = {} }: Pick<Told, 'slots'>,
  slot: string,
  { worker }: Pick<Subject, 'worker'>,
): readonly AttemptMade[] {
  const known = slots[slot]
  return known?.worker === worker ? (known?.attempts ?? []) : []
}

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
    .filter(({ dimension, probes, settled_by_probes }) => isAsked(dimension, settled_by_probes && probes.length > 0))
    .map(({ dimension }) => dimension)
}

/** The result as verifiers and people may see it: without what the log must not show. */
export function shownResult(state: Active, { node, index }: PlanNode, subject: Subject): Json {
  const secrets = secretsOf(state)
  if (subject.worker === undefined) return maskWithin(subject.result, secrets)
  const waiting = state.nodes[index]!
  const ended = waiting.is === 'waiting' ? waiting.workers?.[subject.worker] : undefined
  const bound = termsFor(node.config, subject.workerId!).outputs.filter(([own]) => state.hidden.variables.includes(own))
  const hidden = [...(ended?.is === 'completed' ? ended.hidden : []), ...bound.map(([, child]) => child)]
  const shown = Object.entries(subject.result as { [name: string]: Json }).map(([name, value]) => [
    name,
    hidden.includes(name) ? MASK : maskWithin(value, secrets),
  ])
  return Object.fromEntries(shown) as Json
}

/**
 * R-VERIFY-12: places whose latest verdict is not a pass, and that nobody else has made up for under the same gate when
 * the work was handed over again. The gates at the exit are not among them: they have yet to let the run end.
 */
export function unresolved({ slots = {} }: Pick<Told, 'slots'>): Slot[] {
  const all = Object.values(slots).filter(({ atExit }) => !atExit)
  const isMadeUp = (slot: Slot) =>
    all.some(
      ({ gateId, nodeId, verdict, since }) =>
        verdict === 'pass' && gateId === slot.gateId && nodeId === slot.nodeId && since > slot.since,
    )
  return all.filter(slot => (slot.verdict === 'fail' || slot.verdict === 'revise') && !isMadeUp(slot))
}
