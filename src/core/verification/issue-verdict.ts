import { feedbackOf, isStuck, standingOf } from './feedback.js'
import type { Gate } from './gate.js'
import type { Feedback, Judgement, Standing } from './judgement.js'
import { RESULT_ARTIFACT } from './record.js'
import { recordOf } from './record-of.js'
import type { Json } from '../json.js'
import { tellArtifact } from '../run/artifact.js'
import { answersOf } from './tally.js'
import { askWhatToDo, type Doubt } from './escalate.js'
import { attemptsOf, isHidden, shownResult, slotOf, type Subject, usedOf } from './attempt.js'
import type { PlanNode } from '../workflow/plan.js'
import { canRework, sendBack, withhold } from './rework.js'
import { type AttemptMade, boundGateAt, type Gating } from '../run/state.js'
import type { DecisionContext } from '../run/decision-context.js'
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
export function render(turn: DecisionContext, planNode: PlanNode, subject: Subject, gating: Gating, judgement: Judgement): void {
  const { gate } = boundGateAt(turn.active, gating.gate)
  const rendering = renderingOf(turn, planNode, subject, gating, judgement)
  const { feedback, forced, isSilent } = rendering
  const rendered = tellFindings(turn, planNode, subject, gating, rendering)
  // R-DWS-29, contract agents §29 A32: a gate that does not block must not say what would.
  if (isSilent) return
  const confidence = judgement.confidence === undefined ? {} : { confidence: judgement.confidence }
  if (forced) {
    tellVerdict(turn, planNode, gating, 'pass', { ...confidence, keys: ['gate.on-fail.conditional-pass'] })
  } else if (judgement.verdict !== 'fail') {
    const doubt = gate.gate_behaviour.blocking ? doubtIn(turn, planNode, subject, gating, judgement) : undefined
    if (doubt) askWhatToDo(turn, planNode, doubt)
    else tellVerdict(turn, planNode, gating, 'pass', confidence)
  } else if (feedback) {
    tellVerdict(turn, planNode, gating, 'revise', confidence)
    sendBack(turn, planNode, feedback, rendered)
  } else {
    tellVerdict(turn, planNode, gating, 'fail', confidence)
    if (gate.gate_behaviour.on_fail === 'escalate') askWhatToDo(turn, planNode, 'exhausted')
    else withhold(turn, planNode, judgement.failed, rendered)
  }
}

function renderingOf(
  turn: DecisionContext,
  { node: { id: nodeId } }: PlanNode,
  subject: Subject,
  { gate: index, attempt }: Gating,
  judgement: Judgement,
): Rendering {
  const { gate } = boundGateAt(turn.active, index)
  const { blocking, on_fail } = gate.gate_behaviour
  const standing = standingOf(gate, attempt, judgement)
  const failed = judgement.verdict === 'fail'
  const binds = blocking && subject.point !== 'none'
  const made = attemptsOf(turn.active, slotOf(gate.gate_id, nodeId, subject))
  const isLast = isLastAttempt(turn, nodeId, gate, subject, made, standing)
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
  turn: DecisionContext,
  planNode: PlanNode,
  subject: Subject,
  gating: Gating,
  { judgement, standing, feedback, forced, isSilent }: Rendering,
): number {
  const bound = boundGateAt(turn.active, gating.gate)
  const { attempt, resultHash, started: cause } = gating
  const nodeId = planNode.node.id
  const gateId = bound.gate.gate_id
  for (const { finding_id: findingId, dimension, classification } of judgement.findings) {
    const payload = { gateId, attempt, findingId, dimension, classification }
    turn.emit({ type: 'dws.verification.finding_issued', nodeId, payload, cause })
  }
  const record = recordOf({
    bound,
    attempt,
    placement: subject.point === 'none' ? 'trial' : bound.gate.position.placement,
    nodeId,
    ...(subject.workerId === undefined ? {} : { workerId: subject.workerId }),
    target: gating.target,
    resultHash,
    output: shownResult(turn.active, planNode, subject),
    evidence: gating.evidence,
    answers: answersOf(gating),
    judgement,
    dimensions: gating.dimensions,
    standing,
    ...(feedback ? { feedback } : {}),
    ...(gating.effectiveVotes === undefined ? {} : { effectiveVotes: gating.effectiveVotes }),
    ...(isSelfJudged(turn, planNode, gating) ? { selfVerification: true as const } : {}),
    ...(forced ? { forced: true as const } : {}),
    ...(gating.spent ? { cost: gating.spent } : {}),
  }) as unknown as Json
  const artifact = tellArtifact(turn, nodeId, { artifactType: RESULT_ARTIFACT, content: record, shown: record }, cause)
  const { votes, passVotes } = judgement.quorum
  return turn.emit({
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
  turn: DecisionContext,
  nodeId: string,
  gate: Gate,
  subject: Subject,
  made: readonly AttemptMade[],
  standing: Standing,
): boolean {
  const { max_attempts } = gate.gate_behaviour
  const judged = made.filter(({ isUnjudged }) => !isUnjudged)
  return usedOf(made) >= max_attempts || isStuck([...judged, standing]) || !canRework(turn.plan, nodeId, gate, subject)
}

/** Why a person has to look at a result that was passed. */
function doubtIn(
  { active }: DecisionContext,
  planNode: PlanNode,
  subject: Subject,
  { gate, licence }: Gating,
  { confidence }: Judgement,
): Doubt | undefined {
  const { auto_commit, licence: wanted, min_confidence, allow_hidden } = boundGateAt(active, gate).gate.gate_behaviour
  const isLicensed = licence !== undefined && licence.n >= wanted.min_n && licence.lower >= wanted.lower_bound
  if (auto_commit === 'licensed' && !isLicensed) return 'unlicensed'
  // R-VERIFY-9: a critic that is not sure is looked after like an actor that is not.
  if (confidence !== undefined && confidence < min_confidence) return 'unsure'
  // What nobody may see, nobody can have judged.
  return !allow_hidden && isHidden(active, planNode, subject) ? 'unseen' : undefined
}
