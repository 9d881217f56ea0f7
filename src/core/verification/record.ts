import type { Spend } from '../budget/budget.js'
import { type Json, own } from '../json.js'
import { isSettledByProbes } from './evidence.js'
import { type BoundGate, type Criterion, type Gate, type Scale, verifiersOf } from './gate.js'
import type { ContextEntry } from './gate-context.js'
import type { Cost } from './state.js'
import type {
  Ballot,
  DwsVerdict,
  Fault,
  Feedback,
  Finding,
  Judgement,
  ProbeResult,
  Standing,
  Unchecked,
  Vote,
} from './voting/judgement.js'
import { isVote } from './voting/vote.js'

export const RESULT_ARTIFACT = 'dws.verification-result'
/** What a gate asks a person about says so by its `artifactType`. */
export const GATE_QUESTION = 'verification'

/** Everything about one attempt at a gate: the artifact `dws.verification-result` of the run whose result it is. */
export type VerificationRecord = {
  readonly gateId: string
  readonly gateName: string
  readonly gateVersion: number
  readonly gateHash: string
  readonly attempt: number
  readonly placement: 'phase_exit' | 'workflow_exit' | 'checkpoint' | 'goal' | 'trial'
  readonly nodeId: string
  readonly workerId?: string
  /** Of what a tool has brought: which tool; `target` names the call. */
  readonly toolId?: string
  readonly target: string
  readonly resultHash: string
  /** Whether the result waits for the gate's pass. */
  readonly blocking?: boolean
  /** What was judged, as it may be shown. */
  readonly output: Json
  /** `could_not_check`: nobody could decide, so there is no verdict. */
  readonly verdict: DwsVerdict | 'could_not_check'
  readonly criteria: readonly CriterionResult[]
  readonly findings: readonly Finding[]
  readonly evidence: readonly ProbeResult[]
  readonly votes: readonly Vote[]
  readonly faults: readonly Fault[]
  readonly quorum: Judgement['quorum']
  readonly confidence?: number
  /** How many independent votes the verifiers are worth together, by their record. */
  readonly effectiveVotes?: number
  /** Verifiers that were to be independent ran on one model. */
  readonly sharedModel?: true
  readonly selfVerification?: true
  /** Let through after the last attempt, as the gate says. */
  readonly forced?: true
  readonly standing: Standing
  /** What the worker is told, where it is sent back. */
  readonly feedback?: Feedback
  /** What the votes of this attempt have cost. */
  readonly cost?: Spend
  /** As what its verifiers judged. */
  readonly role?: string
  /** What the gate names of the run, as it was shown to verifiers, and its hash: the verdict holds against this. */
  readonly context?: readonly ContextEntry[]
  readonly contextHash?: string
  /** What could not be judged, by whom and why. */
  readonly unchecked?: readonly Unchecked[]
  /** What the work has cost that was judged, with what was judged in its course. */
  readonly work?: Cost
}

export type CriterionResult = {
  readonly dimension: string
  /** Absent when nobody gave one. */
  readonly score?: number
  readonly pass_threshold: number
  /** What the score is to be read by. */
  readonly scale?: Scale
  readonly passed: boolean
  readonly settledBy: 'probes' | 'verifiers' | 'earlier'
  readonly outcome?: 'passed' | 'failed' | 'could_not_check'
  /** What it is bound to: the probes that settle it, or who judges it and by which sources. */
  readonly evidenceFrom?: readonly string[]
}

/** What is known of an attempt besides its gate, its answers and its judgement. */
type Circumstances = Pick<
  VerificationRecord,
  | 'attempt'
  | 'placement'
  | 'nodeId'
  | 'workerId'
  | 'toolId'
  | 'target'
  | 'resultHash'
  | 'output'
  | 'evidence'
  | 'standing'
  | 'feedback'
  | 'effectiveVotes'
  | 'selfVerification'
  | 'forced'
  | 'cost'
  | 'context'
  | 'contextHash'
  | 'work'
>

type Attempted = Circumstances & {
  readonly bound: BoundGate
  /** What verifiers answered, by round. */
  readonly rounds: readonly Ballot['answers'][]
  readonly judgement: Judgement
  /** That were judged of this result. */
  readonly dimensions: readonly string[]
  readonly unchecked?: readonly Unchecked[]
  /** Nothing could be decided: `judgement` is what is known all the same. */
  readonly isUndecided?: true
}

export function recordOf({
  bound,
  rounds,
  judgement,
  dimensions,
  unchecked = [],
  isUndecided,
  ...circumstances
}: Attempted): VerificationRecord {
  const { gate, version, hash } = bound
  const votes = rounds.map(answers => answers.filter(isVote))
  return {
    ...circumstances,
    gateId: gate.gate_id,
    gateName: gate.name,
    gateVersion: version,
    gateHash: hash,
    blocking: gate.gate_behaviour.blocking,
    verdict: isUndecided ? 'could_not_check' : judgement.verdict,
    criteria: gate.evaluation_criteria.map(criterion => ({
      ...criterionResult(criterion, dimensions, judgement),
      outcome: outcomeOf(criterion, judgement, unchecked, isUndecided === true),
      evidenceFrom: evidenceFor(gate, criterion),
    })),
    findings: judgement.findings,
    votes: votes.flatMap((cast, k) => (k === 0 ? cast : cast.map(vote => ({ ...vote, confirming: true as const })))),
    faults: rounds.flat().filter(isFault),
    quorum: judgement.quorum,
    ...(judgement.confidence === undefined ? {} : { confidence: judgement.confidence }),
    ...(votes.some(shareModel) ? { sharedModel: true } : {}),
    role: gate.verifier_requirements.role,
    ...(unchecked.length === 0 ? {} : { unchecked }),
  }
}

/** A criterion that nobody found wanting, and that somebody could not check, is neither held nor failed. */
function outcomeOf(
  { dimension }: Criterion,
  { failed, unproven = [] }: Judgement,
  unchecked: readonly Unchecked[],
  isUndecided: boolean,
): NonNullable<CriterionResult['outcome']> {
  if (!failed.includes(dimension)) return 'passed'
  const isOpen = isUndecided || unchecked.some(one => one.dimension === dimension)
  return isOpen && unproven.includes(dimension) ? 'could_not_check' : 'failed'
}

/** What settles a criterion: the gate says so beforehand, and no worker has a say in it. */
function evidenceFor(gate: Gate, criterion: Criterion): readonly string[] {
  const probes = criterion.probes.map(({ probe_id }) => `probe:${probe_id}`)
  if (isSettledByProbes(criterion)) return probes
  const verifiers = new Set(verifiersOf(gate).map(({ agent_id }) => `verifier:${agent_id}`))
  return [...verifiers, ...(gate.context ?? []), ...probes]
}

function criterionResult(
  criterion: Criterion,
  dimensions: readonly string[],
  { scores, failed }: Judgement,
): CriterionResult {
  const { dimension, pass_threshold, scale } = criterion
  const score = own(scores, dimension)
  const settledBy = isSettledByProbes(criterion) ? 'probes' : 'verifiers'
  return {
    dimension,
    ...(score === undefined ? {} : { score }),
    pass_threshold,
    scale,
    passed: !failed.includes(dimension),
    settledBy: dimensions.includes(dimension) ? settledBy : 'earlier',
  }
}

const isFault = (answer: Vote | Fault | undefined): answer is Fault => answer !== undefined && !isVote(answer)

function shareModel(votes: readonly Vote[]): boolean {
  const models = votes.flatMap(({ model }) => (model === undefined ? [] : [model]))
  return new Set(models).size < models.length
}
