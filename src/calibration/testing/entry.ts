import type { Vote } from '../../core/verification/voting/judgement.js'
import type { Entry } from '../labels.js'

type SampleVote = {
  readonly agentId?: string
  readonly scores: Vote['scores']
  /** Dimensions with a blocking finding. */
  readonly blocking?: readonly string[]
  readonly warnings?: readonly string[]
  readonly confidence?: number
  readonly model?: string
  readonly prompt?: string
}

type Sample = {
  readonly runId?: string
  readonly attempt?: number
  /** What was judged; the same name is the same result. */
  readonly result?: string
  /** What it was held against; the same name is the same sources. */
  readonly sources?: string
  readonly votes: readonly SampleVote[]
  /** Dimensions judged at an earlier attempt only. */
  readonly earlier?: readonly string[]
  /** Whose word stands in place of the verifiers'. */
  readonly by?: string
  /** Why a person was asked, where it is told. */
  readonly asked?: string
  readonly verdict?: 'pass' | 'revise' | 'fail'
}

const THRESHOLD = 7

/** An attempt at the gate `facts`, whose scores go from 0 to 10 and must reach 7. It passes by majority. */
export function entryOf({
  runId = 'run-1',
  attempt = 1,
  result = 'r',
  sources,
  earlier = [],
  by,
  asked,
  ...sample
}: Sample): Entry {
  const votes = sample.votes.map(voteOf)
  const passVotes = votes.filter(({ verdict }) => verdict !== 'fail').length
  const passes = passVotes * 2 > votes.length
  const judged = [...new Set(votes.flatMap(({ scores }) => Object.keys(scores)))]
  const scale = { min: 0, max: 10, type: 'float' } as const
  const confidence = votes[0]?.confidence
  const secret = {
    gateId: 'facts',
    attempt,
    resultHash: result,
    ...(by === undefined ? {} : { by }),
    ...(asked === undefined ? {} : { asked }),
  }
  return {
    runId,
    record: {
      gateId: 'facts',
      gateName: 'Facts',
      gateVersion: 1,
      gateHash: 'gate',
      attempt,
      placement: 'phase_exit',
      nodeId: 'write',
      target: `child-${attempt}`,
      resultHash: result,
      ...(sources === undefined ? {} : { contextHash: sources }),
      output: { text: 'words' },
      verdict: passes ? 'pass' : 'fail',
      criteria: [
        ...judged.map(dimension => ({
          dimension,
          score: votes[0]?.scores[dimension] ?? 0,
          scale,
          pass_threshold: THRESHOLD,
          passed: passes,
          settledBy: 'verifiers' as const,
        })),
        ...earlier.map(dimension => ({
          dimension,
          scale,
          pass_threshold: THRESHOLD,
          passed: true,
          settledBy: 'earlier' as const,
        })),
      ],
      findings: votes.flatMap(({ findings }) => findings),
      evidence: [],
      votes,
      faults: [],
      quorum: { votes: votes.length, passVotes, needed: Math.floor(votes.length / 2) + 1 },
      ...(confidence === undefined ? {} : { confidence }),
      standing: { attempt, blocking: 0, score: 1 },
    },
    verified: {
      agentId: by === undefined ? 'host:gate:facts' : 'host:human-override',
      target: `child-${attempt}`,
      verdict: sample.verdict ?? (passes ? 'pass' : 'fail'),
      ...secret,
      at: attempt,
    },
  }
}

function voteOf(
  { agentId = 'judge', scores, blocking = [], warnings = [], confidence, model, prompt }: SampleVote,
  i: number,
): Vote {
  const findings = [
    ...blocking.map(dimension => ({ dimension, classification: 'blocking' as const })),
    ...warnings.map(dimension => ({ dimension, classification: 'warning' as const })),
  ].map((finding, n) => ({
    finding_id: `v${i + 1}-${n + 1}`,
    description: 'words',
    evidence: [{ evidence_type: 'metric' as const, ref: 'a', detail: 'b' }],
    source: agentId,
    ...finding,
  }))
  const isBelow = Object.values(scores).some(score => score < THRESHOLD)
  const verdict = isBelow || blocking.length > 0 ? 'fail' : warnings.length > 0 ? 'conditional_pass' : 'pass'
  const judgedBy = { ...(model === undefined ? {} : { model }), ...(prompt === undefined ? {} : { prompt }) }
  const sure = { ...(confidence === undefined ? {} : { confidence }), ...judgedBy }
  return { agentId, weight: 1, scores, findings, verdict, childRunId: `verifier-${i}`, ...sure }
}
