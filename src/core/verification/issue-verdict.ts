import type { Json } from '../json.js'
import { tellArtifact } from '../run/artifact.js'
import type { DecisionContext } from '../run/decision-context.js'
import type { PlanNode } from '../workflow/plan.js'
import { attemptsOf, isHidden, type StagedSubject, shownResult, slotOf, usedOf } from './attempt.js'
import { type EscalationReason, requestApproval } from './escalate.js'
import { attemptStanding, feedbackOf, isStuck } from './feedback.js'
import type { Gate } from './gate.js'
import type { Feedback, Judgement, Standing } from './judgement.js'
import { RESULT_ARTIFACT, recordOf } from './record.js'
import { canRework, rejectResult, requestRework } from './rework.js'
import { type AttemptMade, boundGateAt, type VerificationAttempt } from './state.js'
import { answersOf } from './tally.js'
import { contextOf, uncheckedIn } from './unchecked.js'
import { isSelfJudged, tellVerdict } from './verdict.js'

/** A judgement, and what follows from it. */
type Rendering = {
  readonly judgement: Judgement
  readonly standing: Standing
  /** R-DWS-19: what the worker is told; only where it is to work again. */
  readonly feedback: Feedback | undefined
  /** Let through after the last attempt, as the gate says. */
  readonly forced: boolean
  /** Nothing follows: it is a trial, or the gate does not block and has found something. */
  readonly isSilent: boolean
}

/** The verdict, everything that was found, and what follows from it (contract agents §23.2). */
export function issueVerdict(
  context: DecisionContext,
  planNode: PlanNode,
  subject: StagedSubject,
  gating: VerificationAttempt,
  judgement: Judgement,
): void {
  const { gate } = boundGateAt(context.active, gating.gate)
  const rendering = renderingOf(context, planNode, subject, gating, judgement)
  const { feedback, forced, isSilent } = rendering
  const rendered = tellFindings(context, planNode, subject, gating, rendering)
  // R-DWS-29, contract agents §29 A32: a gate that does not block tells no verdict: readers would take it for one that did.
  if (isSilent) return
  const confidence = judgement.confidence === undefined ? {} : { confidence: judgement.confidence }
  if (forced) {
    tellVerdict(context, planNode, gating, 'pass', { ...confidence, keys: ['gate.on-fail.conditional-pass'] })
  } else if (judgement.verdict !== 'fail') {
    const doubt = gate.gate_behaviour.blocking ? doubtIn(context, planNode, subject, gating, judgement) : undefined
    if (doubt) requestApproval(context, planNode, doubt)
    else tellVerdict(context, planNode, gating, 'pass', confidence)
  } else if (feedback) {
    tellVerdict(context, planNode, gating, 'revise', confidence)
    requestRework(context, planNode, feedback, rendered)
  } else {
    tellVerdict(context, planNode, gating, 'fail', confidence)
    if (gate.gate_behaviour.on_fail === 'escalate') requestApproval(context, planNode, 'exhausted')
    else rejectResult(context, planNode, judgement.failed, rendered)
  }
}

function renderingOf(
  context: DecisionContext,
  { node: { id: nodeId } }: PlanNode,
  subject: StagedSubject,
  { gate: index, attempt }: VerificationAttempt,
  judgement: Judgement,
): Rendering {
  const { gate } = boundGateAt(context.active, index)
  const { blocking, on_fail } = gate.gate_behaviour
  const standing = attemptStanding(gate, attempt, judgement)
  const failed = judgement.verdict === 'fail'
  const binds = blocking && subject.point !== 'none'
  const made = attemptsOf(context.active, slotOf(gate.gate_id, nodeId, subject))
  const isLast = isLastAttempt(context, nodeId, gate, subject, made, standing)
  return {
    judgement,
    standing,
    feedback: binds && failed && !isLast ? feedbackOf(gate, attempt, judgement) : undefined,
    forced: binds && failed && isLast && on_fail === 'conditional_pass',
    isSilent: subject.point === 'none' || (!blocking && failed),
  }
}

/** R-DWS-31: each finding and the verdict as events free of content, and all of it as an artifact of the run. */
function tellFindings(
  context: DecisionContext,
  planNode: PlanNode,
  subject: StagedSubject,
  gating: VerificationAttempt,
  { judgement, standing, feedback, forced, isSilent }: Rendering,
): number {
  const bound = boundGateAt(context.active, gating.gate)
  const { attempt, resultHash, started: cause } = gating
  const nodeId = planNode.node.id
  const gateId = bound.gate.gate_id
  for (const { finding_id: findingId, dimension, classification } of judgement.findings) {
    const payload = { gateId, attempt, findingId, dimension, classification }
    context.emit({ type: 'dws.verification.finding_issued', nodeId, payload, cause })
  }
  const record = recordOf({
    bound,
    attempt,
    placement: subject.point === 'none' ? 'trial' : bound.gate.position.placement,
    nodeId,
    ...(subject.workerId === undefined ? {} : { workerId: subject.workerId }),
    target: gating.target,
    resultHash,
    output: shownResult(context.active, planNode, subject),
    evidence: gating.evidence,
    answers: answersOf(gating),
    judgement,
    dimensions: gating.dimensions,
    standing,
    ...(feedback ? { feedback } : {}),
    ...(gating.effectiveVotes === undefined ? {} : { effectiveVotes: gating.effectiveVotes }),
    ...(isSelfJudged(context, planNode, gating) ? { selfVerification: true as const } : {}),
    ...(forced ? { forced: true as const } : {}),
    ...(gating.spent ? { cost: gating.spent } : {}),
    ...contextOf(gating),
    unchecked: uncheckedIn(bound.gate, gating),
  }) as unknown as Json
  const artifact = tellArtifact(
    context,
    nodeId,
    { artifactType: RESULT_ARTIFACT, content: record, shown: record },
    cause,
  )
  const { votes, passVotes } = judgement.quorum
  return context.emit({
    type: 'dws.verification.verdict_rendered',
    nodeId,
    payload: {
      gateId,
      attempt,
      dwsVerdict: judgement.verdict,
      quorum: { votes, passVotes },
      resultArtifactId: `art-${artifact}`,
      resultHash,
      ...(forced ? { forced: true as const } : {}),
      ...(isSilent ? { proceeds: true as const } : {}),
    },
    secret: { standing, failed: judgement.failed },
    cause,
  })
}

/** R-DWS-22: the attempts are used up, or it is plain that more would be for nothing. */
function isLastAttempt(
  context: DecisionContext,
  nodeId: string,
  gate: Gate,
  subject: StagedSubject,
  made: readonly AttemptMade[],
  standing: Standing,
): boolean {
  const { max_attempts } = gate.gate_behaviour
  const judged = made.filter(({ isUnjudged }) => !isUnjudged)
  return (
    usedOf(made) >= max_attempts || isStuck([...judged, standing]) || !canRework(context.plan, nodeId, gate, subject)
  )
}

/** Why a person has to look at a result that was passed. */
function doubtIn(
  { active }: DecisionContext,
  planNode: PlanNode,
  subject: StagedSubject,
  { gate, licence }: VerificationAttempt,
  { confidence }: Judgement,
): EscalationReason | undefined {
  const { auto_commit, licence: wanted, min_confidence, allow_hidden } = boundGateAt(active, gate).gate.gate_behaviour
  const isLicensed = licence !== undefined && licence.n >= wanted.min_n && licence.lower >= wanted.lower_bound
  if (auto_commit === 'licensed' && !isLicensed) return 'unlicensed'
  // R-VERIFY-9: a critic that is not sure is looked after like an actor that is not.
  if (confidence !== undefined && confidence < min_confidence) return 'unsure'
  // What nobody may see, nobody can have judged.
  return !allow_hidden && isHidden(active, planNode, subject) ? 'unseen' : undefined
}
