import type { JsonObject } from '../json.js'
import { failure } from '../problem.js'
import { compromised, gatesAt, judgedHash, placeOf } from '../verification/attempt.js'
import { FEEDBACK_INPUT } from '../verification/feedback.js'
import type { BoundGate } from '../verification/gate.js'
import { isWhole } from '../verification/label.js'
import { boundGateAt, type Slot } from '../verification/state.js'
import type { PlanNode } from '../workflow/plan.js'
import type { DecisionContext } from './decision-context.js'
import type { Against, StopRequested } from './events.js'
import { MASK, maskOutputs } from './redaction.js'
import { type Active, type NodeState, nodeAt, type RunBase } from './state.js'
import { stop } from './stop.js'
import { atWork } from './waiting.js'

/**
 * Nothing is left to do: the run ends with its outputs, once the gates at its exit have let pass what it leaves behind.
 * That is its outputs and what those gates name of its variables and channels, from which a parent may take its results;
 * nothing else of the run is any verifier's business (R-DWS-9).
 */
export function leave(context: DecisionContext): void {
  const outputs = outputsOf(context)
  const [first] = gatesAt(context.active, '', { point: 'run' })
  if (first === undefined) return completeRun(context, outputs)
  const idle = unworked(context)
  if (idle !== undefined) return stop(context, idle)
  const last = context.active.next - 1
  const { target, sequence } = context.active.gated?.latest ?? { target: `${context.runId}:${last}`, sequence: last }
  const nodeId = boundGateAt(context.active, first).gate.position.phase_id
  context.emit({
    type: 'assay.result.staged',
    nodeId,
    payload: { nodeId, point: 'run', targetRef: target },
    secret: { result: { outputs, ...namedByGates(context.active) }, subject: sequence },
    cause: last,
  })
}

/** What the gates at the exit judge besides the outputs, as readers may see it. */
function namedByGates(state: Active): JsonObject {
  const named = gatesAt(state, '', { point: 'run' }).flatMap(index => boundGateAt(state, index).gate.exit_values ?? [])
  const taken = (['variables', 'channels'] as const).flatMap(kind => {
    const names = named.flatMap(ref => (ref.startsWith(`${kind}.`) ? [ref.slice(kind.length + 1)] : []))
    const values = Object.entries(state[kind]).filter(([name]) => names.includes(name) && name !== FEEDBACK_INPUT)
    const shown = values.map(([name, value]) => [name, state.hidden[kind].includes(name) ? MASK : value])
    return shown.length === 0 ? [] : [[kind, Object.fromEntries(shown)] as const]
  })
  return Object.fromEntries(taken)
}

/** Work was sent back and nobody has taken it up: to judge what is there again would be to judge nothing. */
function unworked({ plan, active }: DecisionContext): Extract<StopRequested, { outcome: 'failed' }> | undefined {
  const phase = plan.nodes.find(({ node }) => active.gated?.feedback[placeOf(node.id)] !== undefined)
  if (phase === undefined) return undefined
  const nodeId = phase.node.id
  const message = `work was sent back to node "${nodeId}", and the way there was not taken again; let the gate's position.phase_id name a node that always runs`
  return {
    outcome: 'failed',
    error: failure('verification_failed', message, { retryable: false }),
    failedNodeId: nodeId,
  }
}

export function completeRun(context: DecisionContext, outputs: JsonObject): void {
  const conflict = context.conflictAt('run', {})
  if (conflict) return stop(context, { outcome: 'failed', error: conflict })
  const goalSatisfied = isSatisfied(context.active)
  const against = goalSatisfied === false ? standingAgainst(context.active) : []
  const { gatedBy } = context.active.started
  // A branch is nobody's worker, whatever its source was.
  const isWorker = context.active.fork?.mode !== 'branch'
  const payload = {
    outputs,
    ...(goalSatisfied === undefined ? {} : { goalSatisfied }),
    ...(against.length === 0 ? {} : { against }),
    ...(gatedBy && isWorker ? { gatedBy } : {}),
  }
  const resultHash = judgedHash(context.active, '', { point: 'run' })
  const secret = resultHash === undefined ? {} : { secret: { resultHash } }
  context.emit({ type: 'run.completed', payload, ...secret, cause: context.active.next - 1 })
}

/** What the orchestrator said of the goal when it stopped. */
export const criteriaOf = ({ orchestrator }: Pick<RunBase, 'orchestrator'>) =>
  orchestrator?.decision.kind === 'terminate' ? orchestrator.decision.successCriteria : undefined

/**
 * R-VERIFY-19, contract agents §11.3, docs/contract/verification.md. False where something stands against it. True only
 * where somebody said so: a supervisor that names criteria and says that all are met, or, where there is none, the
 * blocking gates, each of them. Otherwise nobody has said: undefined.
 */
export function isSatisfied(state: Pick<RunBase, 'orchestrator' | 'gated' | 'gaveUp' | 'nodes'>): boolean | undefined {
  const { orchestrator } = state
  if (standingAgainst(state).length > 0) return false
  const criteria = criteriaOf(state)
  if (criteria !== undefined && criteria.length > 0) return criteria.every(({ met }) => met)
  return orchestrator === undefined && isPassedByAll(state) && !state.nodes.some(isWorkMissing) ? true : undefined
}

/** Whether there are blocking gates, and each has let pass what it stands before. */
function isPassedByAll({ gated }: Pick<RunBase, 'gated'>): boolean {
  // What a tool has brought says nothing of what was made of it.
  const blocking = (gated?.gates ?? []).filter(
    ({ gate: { gate_behaviour, position } }) => gate_behaviour.blocking && position.tool_name === undefined,
  )
  const slots = Object.values(gated?.slots ?? {})
  const hasPassed = ({ gate }: BoundGate) => {
    const own = slots.filter(({ gateId }) => gateId === gate.gate_id)
    return own.length > 0 && own.every(({ verdict, label }) => verdict === 'pass' && isWhole(label))
  }
  return blocking.length > 0 && blocking.every(hasPassed)
}

/** What keeps anybody from saying that the goal was reached, place by place. */
export function standingAgainst(state: Pick<RunBase, 'gated' | 'gaveUp'>): Against[] {
  const judged = compromised(state)
    .filter(isToldOnce)
    .map(({ gateId, nodeId, workerId, verdict, label }): Against => {
      const where = { gateId, nodeId, ...(workerId === undefined ? {} : { workerId }) }
      return { what: verdict === 'pass' ? (label === 'forced' ? 'forced' : 'part') : (verdict ?? 'fail'), ...where }
    })
  const givenUp = state.gaveUp.map((place): Against => {
    const [nodeId, workerId] = JSON.parse(place) as [string, string?]
    return { what: 'gave-up', nodeId, ...(workerId === undefined ? {} : { workerId }) }
  })
  return [...judged, ...givenUp]
}

/** Several results of one tool that stand for the same reason are one place. */
const isToldOnce = (slot: Slot, k: number, all: readonly Slot[]): boolean =>
  slot.returned === undefined ||
  !all
    .slice(k + 1)
    .some(
      ({ returned, gateId, verdict, label }) =>
        returned !== undefined && gateId === slot.gateId && verdict === slot.verdict && label === slot.label,
    )

/** A worker failed, or what it brought was not accepted, and the run went on without it. */
function isWorkMissing(state: NodeState): boolean {
  const node = atWork(state)
  return node.is === 'completed' && (node.outputs.childStatus === 'failed' || node.outputs.childStatus === 'cancelled')
}

/** The run's outputs as readers may see them: what core.end nodes were given, else what the last nodes gave. */
function outputsOf(context: DecisionContext): JsonObject {
  const shown = ({ index, node }: PlanNode): JsonObject => {
    const state = nodeAt(context.active, index)
    return state.is === 'completed' ? maskOutputs(context.active, node, state.outputs).shown : {}
  }
  const completed = context.plan.nodes.filter(({ index }) => nodeAt(context.active, index).is === 'completed')
  const ends = completed.filter(({ type }) => type.typeId === 'core.end')
  if (ends.length > 0) return Object.assign({}, ...ends.map(shown))
  const last = completed.filter(({ outbound }) => outbound.every(edge => edge.port === 'body'))
  const primary = last.filter(({ node }) => node.outputRole === 'primary')
  const chosen = primary.length > 0 ? primary : last
  const [only, ...others] = chosen
  if (only && others.length === 0) return shown(only)
  return Object.fromEntries(chosen.map(planNode => [planNode.node.id, shown(planNode)]))
}
