import { feedbackOf, isStuck, standingOf } from '../gate/feedback.js'
import type { Gate } from '../gate/gate.js'
import type { Judgement, Standing } from '../gate/judgement.js'
import { RESULT_ARTIFACT } from '../gate/record.js'
import { recordOf } from '../gate/record-of.js'
import type { Json } from '../json.js'
import { tellArtifact } from './artifact.js'
import { askWhatToDo, type Doubt, gatingIn } from './gate-answer.js'
import { attemptsOf, isHidden, shownResult, slotOf, type Subject, subjectOf, usedOf, type Waiting } from './gating.js'
import { answersOf, isSelf, verifierAt } from './judges.js'
import type { PlanNode } from './plan.js'
import { canRework, sendBack, withhold } from './rework.js'
import type { AttemptMade, Gating } from './state.js'
import type { Turn } from './turn.js'

/** The verdict, everything that was found, and what follows from it (contract agents §23.2). */
export function render(turn: Turn, planNode: PlanNode, node: Waiting, gating: Gating, judgement: Judgement): void {
  const bound = turn.active.gates![gating.gate]!
  const subject = subjectOf(node)!
  const { gate } = bound
  const { gate_behaviour: behaviour, gate_id: gateId } = gate
  const { attempt, resultHash, started } = gating
  const nodeId = planNode.node.id
  const binds = behaviour.blocking && subject.point !== 'none'
  const failed = judgement.verdict === 'fail'
  const standing = standingOf(gate, attempt, judgement)
  const made = attemptsOf(turn.active, slotOf(gateId, nodeId, subject))
  const isLast = isLastAttempt(turn, nodeId, gate, subject, made, standing)
  // R-DWS-19
  const feedback = binds && failed && !isLast ? feedbackOf(gate, attempt, judgement) : undefined
  const forced = binds && failed && isLast && behaviour.on_fail === 'conditional_pass'
  for (const { finding_id, dimension, classification } of judgement.findings) {
    const payload = { gateId, attempt, findingId: finding_id, dimension, classification }
    turn.emit({ type: 'dws.verification.finding_issued', nodeId, payload, cause: started })
  }
  const record = recordOf({
    bound,
    attempt,
    placement: subject.point === 'none' ? 'trial' : gate.position.placement,
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
  const artifact = tellArtifact(
    turn,
    nodeId,
    { artifactType: RESULT_ARTIFACT, content: record, shown: record },
    started,
  )
  const { votes, passVotes } = judgement.quorum
  const isSilent = subject.point === 'none' || (!behaviour.blocking && failed)
  const rendered = turn.emit({
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
    cause: started,
  })
  // R-DWS-29, contract agents §29 A32: a gate that does not block must not say what would.
  if (isSilent) return
  const confidence = judgement.confidence === undefined ? {} : { confidence: judgement.confidence }
  if (!failed || forced) {
    const doubt = forced ? undefined : (doubtIn(gate, gating, judgement) ?? unseenIn(turn, planNode, gate, subject))
    if (binds && doubt) return askWhatToDo(turn, planNode, doubt)
    const keys = forced ? ['gate.on-fail.conditional-pass'] : []
    tellVerdict(turn, planNode, gating, 'pass', { ...confidence, keys })
    return
  }
  if (feedback) {
    tellVerdict(turn, planNode, gating, 'revise', confidence)
    return sendBack(turn, planNode, feedback, rendered)
  }
  tellVerdict(turn, planNode, gating, 'fail', confidence)
  if (behaviour.on_fail === 'escalate') return askWhatToDo(turn, planNode, 'exhausted')
  withhold(turn, planNode, judgement.failed, rendered)
}

/** R-DWS-22: the attempts are used up, or it is plain that more would be for nothing. */
function isLastAttempt(
  turn: Turn,
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
function doubtIn({ gate_behaviour }: Gate, { licence }: Gating, { confidence }: Judgement): Doubt | undefined {
  const { auto_commit, licence: wanted, min_confidence } = gate_behaviour
  if (
    auto_commit === 'licensed' &&
    (licence === undefined || licence.n < wanted.min_n || licence.lower < wanted.lower_bound)
  )
    return 'unlicensed'
  // R-VERIFY-9: a critic that is not sure is looked after like an actor that is not.
  return confidence !== undefined && confidence < min_confidence ? 'unsure' : undefined
}

/** What nobody may see, nobody can have judged. */
function unseenIn({ active }: Turn, planNode: PlanNode, { gate_behaviour }: Gate, subject: Subject): Doubt | undefined {
  if (gate_behaviour.allow_hidden) return undefined
  return isHidden(active, planNode, subject) ? 'unseen' : undefined
}

type Said = {
  readonly confidence?: number
  readonly keys?: readonly string[]
  /** A person's word in place of the verifiers', or beside it. */
  readonly by?: string
  readonly why?: Json
  readonly isOverride?: true
  /** The host's own word, whoever was to judge. */
  readonly isHosts?: true
}

/** R-VERIFY-2, R-VERIFY-5, R-VERIFY-6: what was judged and how, never why. R-VERIFY-23: due to what brought the result. */
export function tellVerdict(
  turn: Turn,
  planNode: PlanNode,
  gating: Gating,
  verdict: 'pass' | 'fail' | 'revise',
  { confidence, keys = [], by, why, isOverride, isHosts }: Said = {},
): number {
  const { gate } = turn.active.gates![gating.gate]!
  const { dimensions, target, attempt, resultHash, subject } = gating
  const isSelf = isSelfJudged(turn, planNode, gating)
  const record = gatingIn(turn.active.nodes[planNode.index]!)?.rendered
  return turn.emit({
    type: 'agent.verified',
    nodeId: planNode.node.id,
    payload: {
      agentId: isOverride ? 'host:human-override' : isHosts ? hostName(gate) : identityOf(gate, gating),
      target,
      verdict,
      // R-VERIFY-8
      criteria: [...dimensions, ...(isSelf ? ['self-verification'] : []), ...keys],
      ...(confidence === undefined ? {} : { confidence }),
    },
    secret: {
      gateId: gate.gate_id,
      attempt,
      resultHash,
      ...(record === undefined ? {} : { record }),
      ...(by === undefined ? {} : { by }),
      ...(why === undefined ? {} : { why }),
    },
    cause: subject,
  })
}

/** Where nobody was asked, because evidence was enough, nobody else is named for it. */
const identityOf = (gate: Gate, { judges }: Gating): string =>
  judges.length === 1 && judges[0]!.is === 'voted' ? verifierAt(gate, 0).agentId : hostName(gate)

const hostName = ({ gate_id }: Gate): string => `host:gate:${gate_id}`

const isSelfJudged = (turn: Turn, planNode: PlanNode, { gate, judges }: Gating): boolean =>
  judges.some(
    (judge, k) => judge.is === 'voted' && isSelf(turn, planNode, verifierAt(turn.active.gates![gate]!.gate, k).agentId),
  )
