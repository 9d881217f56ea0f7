import type { Json } from '../json.js'
import { tellArtifact } from '../run/artifact.js'
import type { DecisionContext } from '../run/decision-context.js'
import type { PlanNode } from '../workflow/plan.js'
import { attemptsOf, isHidden, placeOfSlot, type StagedSubject, shownResult, slotOf, usedOf } from './attempt.js'
import { workAt } from './cost.js'
import { type EscalationReason, requestApproval } from './escalate.js'
import type { VerdictRendered } from './events.js'
import { attemptStanding, feedbackOf, isStuck, previousOf } from './feedback.js'
import { type Gate, verifiersOf } from './gate.js'
import type { PassLabel } from './label.js'
import { RESULT_ARTIFACT, recordOf } from './record.js'
import { canRework, maySendBack, rejectResult, requestRework } from './rework.js'
import { type AttemptMade, boundGateAt, type VerificationAttempt } from './state.js'
import { answersOf, judgedIn, passLabel, unjudgedBy, wholeOf } from './tally.js'
import { contextOf, uncheckedIn } from './unchecked.js'
import { isSelfJudged, tellVerdict } from './verdict.js'
import type { Feedback, Judgement, Standing } from './voting/judgement.js'
import { isLicensed } from './voting/licence.js'
import { isVote } from './voting/vote.js'

/** A judgement, and what follows from it. */
type Rendering = {
  /** Of all rounds of the attempt. */
  readonly judgement: Judgement
  readonly standing: Standing
  /** R-DWS-19: what the worker is told; only where it is to work again. */
  readonly feedback: Feedback | undefined
  /** Let through after the last attempt, as the gate says. */
  readonly forced: boolean
  /** Why a person has the last word on a result that was passed. */
  readonly doubt: EscalationReason | undefined
  /** What may be said of the result, where a gate that blocks lets it pass. */
  readonly label: PassLabel | undefined
  /** Nothing follows: it is a trial, or the gate does not block and has found something. */
  readonly isSilent: boolean
}

/** The verdict, everything that was found, and what follows from it (contract agents §23.2). */
export function issueVerdict(
  context: DecisionContext,
  planNode: PlanNode,
  subject: StagedSubject,
  gating: VerificationAttempt,
  found: Judgement,
): void {
  const bound = boundGateAt(context.active, gating.gate)
  const { gate } = bound
  const binds = gate.gate_behaviour.blocking && subject.point !== 'none'
  const left = binds && found.verdict !== 'fail' ? leftOut(gate, gating) : []
  if (left.length > 0) return confirm(context, planNode, gating, left)
  const rendering = renderingOf(context, planNode, subject, gating, found)
  const { judgement, feedback, forced, doubt, label, isSilent } = rendering
  const rendered = tellFindings(context, planNode, subject, gating, rendering)
  // R-DWS-29, contract agents §29 A32: a gate that does not block tells no verdict: readers would take it for one that did.
  if (isSilent) return
  const confidence = judgement.confidence === undefined ? {} : { confidence: judgement.confidence }
  if (forced) {
    // Nobody has passed it: it is the gate's own word, and nobody's confidence.
    const keys = ['gate.on-fail.conditional-pass']
    tellVerdict(context, planNode, gating, 'pass', { keys, label: 'forced', isHosts: true })
  } else if (judgement.verdict !== 'fail') {
    if (doubt) return requestApproval(context, planNode, doubt)
    tellVerdict(context, planNode, gating, 'pass', { ...confidence, ...(label === undefined ? {} : { label }) })
  } else if (feedback) {
    tellVerdict(context, planNode, gating, 'revise', confidence)
    requestRework(context, planNode, feedback, rendered)
  } else {
    tellVerdict(context, planNode, gating, 'fail', confidence)
    // Nothing is made of what a goal has judged: its judge has said what it was asked.
    if (subject.isForGoal) return
    if (gate.gate_behaviour.on_fail === 'escalate') requestApproval(context, planNode, 'exhausted')
    else rejectResult(context, planNode, judgement.failed, rendered)
  }
}

/** What the gate asks and nobody has judged of this result; nothing, where the gate does not want it judged. */
const leftOut = ({ evaluation_criteria, gate_behaviour }: Gate, gating: VerificationAttempt): readonly string[] =>
  gate_behaviour.confirm === 'none' || gating.targeted ? [] : unjudgedBy(evaluation_criteria, gating)

/** R-DWS-23: before anything is merged, every dimension has been judged for exactly that result. */
function confirm(
  context: DecisionContext,
  { node: { id: nodeId } }: PlanNode,
  { gate: index, attempt, round, started: cause }: VerificationAttempt,
  criteria: readonly string[],
): void {
  const { gate } = boundGateAt(context.active, index)
  const verifiers = verifiersOf(gate).length
  const payload = { gateId: gate.gate_id, attempt, round: round + 1, criteria, verifiers }
  context.emit({ type: 'assay.verification.confirming', nodeId, payload, cause })
}

function renderingOf(
  context: DecisionContext,
  planNode: PlanNode,
  subject: StagedSubject,
  gating: VerificationAttempt,
  found: Judgement,
): Rendering {
  const nodeId = planNode.node.id
  const { attempt } = gating
  const bound = boundGateAt(context.active, gating.gate)
  const { gate } = bound
  const { blocking, on_fail } = gate.gate_behaviour
  const judgement = wholeOf(bound, gating, found)
  const standing = attemptStanding(gate, attempt, judgement)
  const failed = judgement.verdict === 'fail'
  const binds = blocking && subject.point !== 'none'
  const made = attemptsOf(context.active, slotOf(gate.gate_id, nodeId, subject))
  const isLast = isLastAttempt(context, nodeId, gate, subject, made, standing)
  const forced = binds && failed && isLast && on_fail === 'conditional_pass'
  const isSentBack = binds && failed && !isLast && maySendBack(context, gate, subject)
  const previous = isSentBack ? previousOf(shownResult(context.active, planNode, subject), subject) : null
  const label = forced ? 'forced' : failed ? undefined : passLabel(gate, gating, judgement)
  return {
    judgement,
    standing,
    // What the last round has found is what the worker must put right.
    feedback: isSentBack ? { ...feedbackOf(gate, attempt, found), previous } : undefined,
    forced,
    doubt: binds && !failed ? doubtIn(context, planNode, subject, gating, judgement) : undefined,
    label: binds ? label : undefined,
    isSilent: subject.isForGoal ? false : subject.point === 'none' || (!blocking && failed),
  }
}

/** R-DWS-31: each finding and the verdict as events free of content, and all of it as an artifact of the run. */
function tellFindings(
  context: DecisionContext,
  planNode: PlanNode,
  subject: StagedSubject,
  gating: VerificationAttempt,
  { judgement, standing, feedback, forced, doubt, label, isSilent }: Rendering,
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
    placement: subject.point === 'none' && !subject.isForGoal ? 'trial' : bound.gate.position.placement,
    nodeId,
    ...(subject.workerId === undefined ? {} : { workerId: subject.workerId }),
    ...(subject.toolId === undefined ? {} : { toolId: subject.toolId }),
    target: gating.target,
    resultHash,
    output: shownResult(context.active, planNode, subject),
    evidence: gating.evidence,
    rounds: [...(gating.targeted ? [answersOf(gating.targeted)] : []), answersOf(gating)],
    judgement,
    dimensions: judgedIn(gating),
    standing,
    ...(feedback ? { feedback } : {}),
    ...(gating.effectiveVotes === undefined ? {} : { effectiveVotes: gating.effectiveVotes }),
    ...(isSelfJudged(context, planNode, gating) ? { selfVerification: true as const } : {}),
    ...(forced ? { forced: true as const } : {}),
    ...(gating.spent ? { cost: gating.spent } : {}),
    ...contextOf(gating),
    unchecked: uncheckedIn(bound.gate, gating),
    ...workOf(context, slotOf(gateId, nodeId, subject)),
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
      ...labelled(label, doubt),
      ...(isSilent ? { proceeds: true as const } : {}),
    },
    secret: { standing, failed: judgement.failed },
    cause,
  })
}

/** Nothing is called verified that a person may still reject: then only what was judged is told. */
function labelled(
  label: PassLabel | undefined,
  doubt: EscalationReason | undefined,
): Pick<VerdictRendered, 'label' | 'judged'> {
  if (label === undefined) return {}
  if (doubt === undefined) return { label }
  return { judged: label === 'verified in part' ? 'part' : 'whole' }
}

/** R-DWS-27: what it has cost that is judged. */
const workOf = ({ active: { gated } }: DecisionContext, slot: string) =>
  gated ? { work: workAt(gated.costs, placeOfSlot(slot)) } : {}

/** R-DWS-22: the attempts are used up, or more would be for nothing. */
function isLastAttempt(
  context: DecisionContext,
  nodeId: string,
  gate: Gate,
  subject: StagedSubject,
  made: readonly AttemptMade[],
  standing: Standing,
): boolean {
  const { max_attempts, stop_when_stuck } = gate.gate_behaviour
  const judged = made.filter(({ isUnjudged }) => !isUnjudged)
  return (
    usedOf(made) >= max_attempts ||
    (stop_when_stuck && isStuck([...judged, standing])) ||
    !canRework(context.plan, nodeId, gate, subject)
  )
}

/** Why a person has to look at a result that was passed. */
function doubtIn(
  { active, limits }: DecisionContext,
  planNode: PlanNode,
  subject: StagedSubject,
  gating: VerificationAttempt,
  { confidence }: Judgement,
): EscalationReason | undefined {
  const { auto_commit, licence, allow_hidden, ...behaviour } = boundGateAt(active, gating.gate).gate.gate_behaviour
  const { min_confidence = limits.confidence.floor } = behaviour
  const votes = [...answersOf(gating.targeted ?? { verifiers: [] }), ...answersOf(gating)].filter(isVote)
  if (auto_commit === 'licensed' && !isLicensed(licence, gating.licence, votes)) return 'unlicensed'
  // R-VERIFY-9: a critic that is not sure is looked after like an actor that is not.
  if (confidence !== undefined && confidence < min_confidence) return 'unsure'
  // What nobody may see, nobody can have judged.
  return !allow_hidden && isHidden(active, planNode, subject) ? 'unseen' : undefined
}
