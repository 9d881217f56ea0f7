import { closeInvocation } from '../invocation/lifecycle.js'
import { withholdResult } from '../invocation/tool-gate.js'
import { present } from '../present.js'
import { type Failure, failure } from '../problem.js'
import type { DecisionContext } from '../run/decision-context.js'
import { reworkLimit } from '../run/limits.js'
import { failAttempt } from '../run/node-lifecycle.js'
import { nodeAt } from '../run/state.js'
import { stop } from '../run/stop.js'
import { gatingIn } from '../run/waiting.js'
import { type Plan, type PlanNode, planNodeAt, planNodeOf } from '../workflow/plan.js'
import { type StagedSubject, subjectOf } from './attempt.js'
import { nodesFrom } from './evolve-rework.js'
import type { Gate } from './gate.js'
import { REWORKABLE_TYPES } from './phase-types.js'
import { boundGateAt, type VerificationAttempt } from './state.js'
import type { Feedback } from './voting/judgement.js'

/** Whether there is work that could be done again. */
export function canRework(
  plan: Plan,
  nodeId: string,
  { position }: Gate,
  { point }: Pick<StagedSubject, 'point'>,
): boolean {
  // A tool is not asked to do better: its agent may call it again, or not.
  if (point === 'none' || point === 'tool') return false
  const phase = planNodeOf(plan, point === 'run' ? position.phase_id : nodeId)
  return point !== 'run' || (phase !== undefined && REWORKABLE_TYPES.includes(phase.type.typeId))
}

/** Whether the supervisor says who works again; the host sends nothing back by itself then. */
const isSupervisors = ({ gate_behaviour }: Gate, { point }: Pick<StagedSubject, 'point'>): boolean =>
  gate_behaviour.rework === 'supervisor' && point === 'harvest'

/** R-DWS-34: whether the run's bound leaves room for one more rework. A bound never forces a merge. */
export const maySendBack = (context: DecisionContext, gate: Gate, subject: Pick<StagedSubject, 'point'>): boolean =>
  isSupervisors(gate, subject) ||
  (context.active.gated?.reworks ?? 0) < reworkLimit(context.plan, context.active, context.limits)

const gatingOf = (
  context: DecisionContext,
  { index }: PlanNode,
): { gating: VerificationAttempt; subject: StagedSubject } => {
  const node = nodeAt(context.active, index)
  const gating = gatingIn(node)
  const subject = subjectOf(node)
  if (!gating || !subject) throw new Error('no gate is at work here')
  return { gating, subject }
}

/** R-VERIFY-14, R-DWS-20: the same worker works again, with what was found; or the supervisor says who does. */
export function requestRework(context: DecisionContext, planNode: PlanNode, feedback: Feedback, cause: number): void {
  const { gating, subject } = gatingOf(context, planNode)
  const { gate } = boundGateAt(context.active, gating.gate)
  const { reverification } = gate.gate_behaviour
  if (isSupervisors(gate, subject))
    return tellWithheld(context, planNode, 'revise', feedback.dimensions.length, cause, feedback)
  const isExit = subject.point === 'run'
  const due = subject.point === 'node' ? (closeInvocation(context, planNode, 'completed', cause) ?? cause) : cause
  context.emit({
    type: 'assay.rework.began',
    nodeId: isExit ? gate.position.phase_id : planNode.node.id,
    payload: {
      gateId: gate.gate_id,
      attempt: gating.attempt + 1,
      point: subject.point as 'harvest' | 'node' | 'run',
      scope: reverification,
      ...(subject.workerId === undefined ? {} : { workerId: subject.workerId }),
    },
    secret: {
      feedback,
      ...(gating.worker === undefined ? {} : { worker: gating.worker }),
      ...(isExit ? { returned: returnedTo(context.plan, gate.position.phase_id) } : {}),
    },
    cause: due,
  })
}

const returnedTo = (plan: Plan, phase: string): string[] => {
  const { index } = present(planNodeOf(plan, phase), `phase "${phase}"`)
  return [...nodesFrom(plan, index)].map(at => planNodeAt(plan, at).node.id)
}

/** R-VERIFY-11, R-VERIFY-12: it is not merged, and nothing goes on as if it had been. */
export function rejectResult(
  context: DecisionContext,
  planNode: PlanNode,
  failed: readonly string[],
  cause: number,
): void {
  const { gating, subject } = gatingOf(context, planNode)
  const { gate } = boundGateAt(context.active, gating.gate)
  if (subject.point === 'harvest') return tellWithheld(context, planNode, 'fail', failed.length, cause)
  if (subject.point === 'tool') return withholdResult(context, planNode, gate, gating.attempt, failed, cause)
  const error = gaveUp(gate, gating.attempt, failed)
  if (subject.point === 'node') return failAttempt(context, planNode, error, cause)
  stop(context, { outcome: 'failed', error, failedNodeId: planNode.node.id })
}

function tellWithheld(
  context: DecisionContext,
  planNode: PlanNode,
  verdict: 'fail' | 'revise',
  criteriaFailed: number,
  cause: number,
  feedback?: Feedback,
): void {
  const { gating, subject } = gatingOf(context, planNode)
  const { gate } = boundGateAt(context.active, gating.gate)
  const workerId = present(subject.workerId, 'worker whose result is withheld')
  const worker = present(subject.worker, 'worker whose result is withheld')
  context.emit({
    type: 'assay.result.withheld',
    nodeId: planNode.node.id,
    payload: {
      gateId: gate.gate_id,
      attempt: gating.attempt,
      workerId,
      targetRef: gating.target,
      verdict,
      criteriaFailed,
      criteria: gate.evaluation_criteria.length,
    },
    secret: { worker, ...(feedback ? { feedback } : {}) },
    cause,
  })
}

function gaveUp({ gate_id, evaluation_criteria }: Gate, attempts: number, failed: readonly string[]): Failure {
  const tries = `${attempts} attempt${attempts === 1 ? '' : 's'}`
  const which = failed.length > 0 ? ` (${failed.join(', ')})` : ''
  const message = `gave up after ${tries}: ${failed.length} of ${evaluation_criteria.length} criteria not met${which}, says gate "${gate_id}"`
  return failure('verification_failed', message, {
    retryable: false,
    details: { gateId: gate_id, attempts, criteriaFailed: [...failed], criteria: evaluation_criteria.length },
  })
}
