import { absent } from '../present.js'
import type { DecisionContext } from '../run/decision-context.js'
import { nodeAt } from '../run/state.js'
import { actorsIn } from '../workflow/actors.js'
import type { PlanNode } from '../workflow/plan.js'
import { subjectOf } from './attempt.js'
import { settledBy } from './evidence.js'
import { type BoundGate, type Gate, verifiersOf } from './gate.js'
import type { Ballot, Fault, Judgement, Vote } from './judgement.js'
import { judgeVotes, seatsToAsk } from './quorum.js'
import type { VerificationAttempt, VerifierState } from './state.js'

/** Who gives the k-th vote, and what it weighs. */
export function verifierAt(gate: Gate, k: number): { agentId: string; weight: number } {
  const { agent_id, weight } = verifiersOf(gate)[k] ?? absent(`verifier ${k} of the gate`)
  return { agentId: agent_id, weight }
}

/** What each of them has said, as far as it has. */
export const answersOf = ({ verifiers }: VerificationAttempt): (Vote | Fault | undefined)[] =>
  verifiers.map(judge => (judge.is === 'voted' ? judge.vote : judge.is === 'faulted' ? judge.fault : undefined))

const ballotOf = ({ gate }: BoundGate, gating: VerificationAttempt): Ballot => ({
  settled: settledBy(gate, gating.dimensions, gating.evidence),
  answers: answersOf(gating),
})

/** How the vote stands. */
export const tallyVotes = (bound: BoundGate, gating: VerificationAttempt): Judgement | 'open' | 'undecided' =>
  judgeVotes(bound.gate, gating.dimensions, ballotOf(bound, gating))

export const isJudging = ({ is }: VerifierState): boolean => is === 'starting' || is === 'running'

/** The verifiers that are to begin now, by position, while the vote is open. */
export const verifiersToAsk = (bound: BoundGate, gating: VerificationAttempt): readonly number[] =>
  seatsToAsk(bound.gate, gating.dimensions, ballotOf(bound, gating), k => {
    const judge = gating.verifiers[k]
    return judge !== undefined && isJudging(judge)
  })

/** Whoever did the work is no judge of it, unless the gate says so (R-VERIFY-7, contract agents §29 A13). */
export function isSelf({ plan, active }: DecisionContext, { index }: PlanNode, agentId: string): boolean {
  const subject = subjectOf(nodeAt(active, index))
  // What leaves the workflow is the work of everybody in it.
  const all = subject?.point === 'run' ? actorsIn(plan) : []
  return [...(subject?.actors ?? []), ...all].includes(agentId)
}
