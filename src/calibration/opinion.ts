import type { CriterionResult, VerificationRecord } from '../core/verification/record.js'
import type { Finding, Vote } from '../core/verification/voting/judgement.js'

/** What one judge held of one result. The gate as a whole is one more judge. */
export type RecordedOpinion = {
  readonly judge: string
  readonly passes: boolean
  /** Dimensions that it holds against the result: a blocking finding, or a score below the threshold. */
  readonly objections: readonly string[]
  /** The dimension of each finding. */
  readonly findings: readonly string[]
  /** The same of each that blocks. */
  readonly blocking: readonly string[]
  /** By dimension: those it judged. */
  readonly scores: ReadonlyMap<string, number>
  readonly confidence?: number
}

export function opinionOfVote(vote: Vote, criteria: readonly CriterionResult[]): RecordedOpinion {
  const scores = new Map(Object.entries(vote.scores))
  const below = criteria.filter(
    ({ dimension, pass_threshold }) => (scores.get(dimension) ?? pass_threshold) < pass_threshold,
  )
  return {
    judge: vote.agentId,
    passes: vote.verdict !== 'fail',
    objections: [...new Set([...blockedBy(vote.findings), ...below.map(keyOf)])],
    findings: vote.findings.map(keyOf),
    blocking: blockedBy(vote.findings),
    scores,
    ...(vote.confidence === undefined ? {} : { confidence: vote.confidence }),
  }
}

/** A gate that passes keeps the findings of those who were outvoted, and does not make them its own. */
export function opinionOfGate(record: VerificationRecord, votes: readonly RecordedOpinion[]): RecordedOpinion {
  const { gateId, verdict, criteria, findings, confidence } = record
  const objections = [...blockedBy(findings), ...votes.flatMap(vote => vote.objections)]
  const judged = criteria.filter(({ settledBy }) => settledBy !== 'earlier')
  return {
    judge: `host:gate:${gateId}`,
    passes: verdict !== 'fail',
    objections: verdict === 'fail' ? [...new Set(objections)] : [],
    findings: findings.map(keyOf),
    blocking: verdict === 'fail' ? blockedBy(findings) : [],
    scores: new Map(judged.flatMap(({ dimension, score }) => (score === undefined ? [] : [[dimension, score]]))),
    ...(confidence === undefined ? {} : { confidence }),
  }
}

const keyOf = ({ dimension }: { readonly dimension: string }): string => dimension

const blockedBy = (findings: readonly Finding[]): string[] =>
  findings.filter(({ classification }) => classification === 'blocking').map(keyOf)

/** The same, as far as one dimension goes; undefined when it did not judge that one. */
export function narrowed(opinion: RecordedOpinion, dimension: string): RecordedOpinion | undefined {
  const score = opinion.scores.get(dimension)
  if (score === undefined) return undefined
  const objections = opinion.objections.filter(one => one === dimension)
  return {
    judge: opinion.judge,
    passes: objections.length === 0,
    objections,
    findings: opinion.findings.filter(one => one === dimension),
    blocking: opinion.blocking.filter(one => one === dimension),
    scores: new Map([[dimension, score]]),
  }
}
