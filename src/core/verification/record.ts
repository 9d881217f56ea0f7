import type { Spend } from '../budget/budget.js'
import { type Json, own } from '../json.js'
import { isSettledByProbes } from './evidence.js'
import type { BoundGate, Criterion, Scale } from './gate.js'
import type {
  Ballot,
  DwsVerdict,
  Fault,
  Feedback,
  Finding,
  Judgement,
  ProbeResult,
  Standing,
  Vote,
} from './judgement.js'
import type { Cost } from './state.js'
import { isVote } from './vote.js'

export const RESULT_ARTIFACT = 'dws.verification-result'

/** Everything about one attempt at a gate: the artifact `dws.verification-result` of the run whose result it is. */
export type VerificationRecord = {
  readonly gateId: string
  readonly gateName: string
  readonly gateVersion: number
  readonly gateHash: string
  readonly attempt: number
  readonly placement: 'phase_exit' | 'workflow_exit' | 'checkpoint' | 'trial'
  readonly nodeId: string
  readonly workerId?: string
  readonly target: string
  readonly resultHash: string
  /** What was judged, as it may be shown. */
  readonly output: Json
  readonly verdict: DwsVerdict
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
}

/** What is known of an attempt besides its gate, its answers and its judgement. */
type Circumstances = Pick<
  VerificationRecord,
  | 'attempt'
  | 'placement'
  | 'nodeId'
  | 'workerId'
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
  | 'work'
>

type Attempted = Circumstances & {
  readonly bound: BoundGate
  /** What verifiers answered, by round. */
  readonly rounds: readonly Ballot['answers'][]
  readonly judgement: Judgement
  /** That were judged of this result. */
  readonly dimensions: readonly string[]
}

export function recordOf({ bound, rounds, judgement, dimensions, ...circumstances }: Attempted): VerificationRecord {
  const { gate, version, hash } = bound
  const votes = rounds.map(answers => answers.filter(isVote))
  return {
    ...circumstances,
    gateId: gate.gate_id,
    gateName: gate.name,
    gateVersion: version,
    gateHash: hash,
    verdict: judgement.verdict,
    criteria: gate.evaluation_criteria.map(criterion => criterionResult(criterion, dimensions, judgement)),
    findings: judgement.findings,
    votes: votes.flatMap((cast, k) => (k === 0 ? cast : cast.map(vote => ({ ...vote, confirming: true as const })))),
    faults: rounds.flat().filter(isFault),
    quorum: judgement.quorum,
    ...(judgement.confidence === undefined ? {} : { confidence: judgement.confidence }),
    ...(votes.some(shareModel) ? { sharedModel: true } : {}),
  }
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
