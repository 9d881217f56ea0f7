import { absent } from '../present.js'
import type { DecisionContext } from '../run/decision-context.js'
import { nodeAt } from '../run/state.js'
import { actorsIn } from '../workflow/actors.js'
import type { PlanNode } from '../workflow/plan.js'
import { subjectOf } from './attempt.js'
import { settledBy } from './evidence.js'
import { type BoundGate, type Gate, verifiersOf } from './gate.js'
import type { PassLabel } from './label.js'
import type { VerificationAttempt, VerifierState } from './state.js'
import type { Ballot, Fault, Judgement, Vote } from './voting/judgement.js'
import { confidenceOf, judgeVotes, seatsToAsk } from './voting/quorum.js'
import { isVote } from './voting/vote.js'

/** Who gives the k-th vote, and what it weighs. */
export function verifierAt(gate: Gate, k: number): { agentId: string; weight: number } {
  const { agent_id, weight } = verifiersOf(gate)[k] ?? absent(`verifier ${k} of the gate`)
  return { agentId: agent_id, weight }
}

/** What each of them has said, as far as it has. */
export const answersOf = ({ verifiers }: Pick<VerificationAttempt, 'verifiers'>): (Vote | Fault | undefined)[] =>
  verifiers.map(judge => (judge.is === 'voted' ? judge.vote : judge.is === 'faulted' ? judge.fault : undefined))

/** The present round. */
type Round = Pick<VerificationAttempt, 'dimensions' | 'verifiers' | 'evidence'>

const ballotOf = ({ gate }: BoundGate, gating: Round): Ballot => ({
  settled: settledBy(gate, gating.dimensions, gating.evidence),
  answers: answersOf(gating),
})

/** How the vote of a round stands. */
export const tallyVotes = (bound: BoundGate, gating: Round): Judgement | 'open' | 'undecided' =>
  judgeVotes(bound.gate, gating.dimensions, ballotOf(bound, gating))

export const isJudging = ({ is }: VerifierState): boolean => is === 'starting' || is === 'running'

/** The verifiers that are to begin now, by position, while the vote is open. */
export const verifiersToAsk = (bound: BoundGate, gating: VerificationAttempt): readonly number[] =>
  seatsToAsk(bound.gate, gating.dimensions, ballotOf(bound, gating), k => {
    const judge = gating.verifiers[k]
    return judge !== undefined && isJudging(judge)
  })

/** What has been judged of this result, or is about to be. */
export const judgedIn = ({ targeted, dimensions }: VerificationAttempt): readonly string[] => [
  ...(targeted?.dimensions ?? []),
  ...dimensions,
]

/** What the rounds of an attempt come to: it passes where each of them has passed, and what anybody found is kept. */
export function wholeOf(bound: BoundGate, gating: VerificationAttempt, judgement: Judgement): Judgement {
  const { targeted, evidence } = gating
  if (targeted === undefined) return judgement
  const first = tallyVotes(bound, { ...targeted, evidence })
  if (typeof first === 'string') return judgement
  const { confidence: _, ...told } = judgement
  const votes = [...answersOf(targeted), ...answersOf(gating)].filter(isVote)
  const confidence = judgement.verdict === 'fail' ? judgement.confidence : confidenceOf(votes, true)
  return {
    ...told,
    verdict: judgement.verdict === 'pass' ? first.verdict : judgement.verdict,
    scores: { ...first.scores, ...judgement.scores },
    findings: [...first.findings, ...judgement.findings],
    quorum: {
      votes: first.quorum.votes + judgement.quorum.votes,
      passVotes: first.quorum.passVotes + judgement.quorum.passVotes,
      needed: first.quorum.needed + judgement.quorum.needed,
    },
    ...(confidence === undefined ? {} : { confidence }),
  }
}

/** What the gate asks and nobody has judged of this result. */
export const unjudgedBy = (criteria: Gate['evaluation_criteria'], gating: VerificationAttempt): readonly string[] => {
  const judged = judgedIn(gating)
  return criteria.map(({ dimension }) => dimension).filter(dimension => !judged.includes(dimension))
}

/** What may be said of a result that its verifiers have passed. */
export function passLabel(
  { evaluation_criteria }: Gate,
  gating: VerificationAttempt,
  { verdict }: Judgement,
): PassLabel {
  if (unjudgedBy(evaluation_criteria, gating).length > 0) return 'verified in part'
  return verdict === 'pass' ? 'verified' : 'conditional'
}

/** Whoever did the work is no judge of it, unless the gate says so (R-VERIFY-7, contract agents §29 A13). */
export function isSelf({ plan, active }: DecisionContext, { index }: PlanNode, agentId: string): boolean {
  const subject = subjectOf(nodeAt(active, index))
  // What leaves the workflow is the work of everybody in it.
  const all = subject?.point === 'run' ? actorsIn(plan) : []
  return [...(subject?.actors ?? []), ...all].includes(agentId)
}
