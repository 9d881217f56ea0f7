import { own } from '../json.js'
import type { BoundGate, Criterion } from './gate.js'
import type { Ballot, Fault, Judgement, Vote } from './judgement.js'
import type { CriterionResult, VerificationRecord } from './record.js'
import { isSettledByProbes } from './evidence.js'
import { isVote } from './vote.js'

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
>

type Attempted = Circumstances & {
  readonly bound: BoundGate
  readonly answers: Ballot['answers']
  readonly judgement: Judgement
  /** That were judged this time. */
  readonly dimensions: readonly string[]
}

export function recordOf({ bound, answers, judgement, dimensions, ...circumstances }: Attempted): VerificationRecord {
  const { gate, version, hash } = bound
  const votes = answers.filter(isVote)
  return {
    ...circumstances,
    gateId: gate.gate_id,
    gateName: gate.name,
    gateVersion: version,
    gateHash: hash,
    verdict: judgement.verdict,
    criteria: gate.evaluation_criteria.map(criterion => criterionResult(criterion, dimensions, judgement)),
    findings: judgement.findings,
    votes,
    faults: answers.filter(isFault),
    quorum: judgement.quorum,
    ...(judgement.confidence === undefined ? {} : { confidence: judgement.confidence }),
    ...(shareModel(votes) ? { sharedModel: true } : {}),
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
