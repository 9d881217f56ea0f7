import type { Json } from '../core/json.js'
import type { AgentVerified, VerifiedSecret } from '../core/verification/events.js'
import { RESULT_ARTIFACT, type VerificationRecord } from '../core/verification/record.js'
import type { Finding } from '../core/verification/voting/judgement.js'
import type { StoredEvent } from '../engine/ports/event-log.js'

/** Logs of gated runs, written by hand. */

export const finding = (more: Partial<Finding> = {}): Finding => ({
  finding_id: 'v1-1',
  dimension: 'grounded',
  classification: 'blocking',
  description: 'The second claim has no source.',
  evidence: [{ evidence_type: 'line_reference', ref: '/text:3', detail: 'It rains every day.' }],
  recommendation: 'Cite a source or drop the claim.',
  source: 'assay.verifier',
  ...more,
})

/** An attempt that failed for one reason, unless `more` says otherwise. */
export function record(more: Partial<VerificationRecord> = {}): VerificationRecord {
  const { attempt = 1, findings = [finding()], verdict = 'fail', resultHash = `hash-${attempt}` } = more
  const blocking = findings.filter(({ classification }) => classification === 'blocking').length
  const score = verdict === 'fail' ? 2 : 5
  const scores = { grounded: score }
  const vote = verdict === 'could_not_check' ? 'fail' : verdict
  return {
    gateId: 'quality',
    gateName: 'Draft quality',
    gateVersion: 1,
    gateHash: 'f'.repeat(64),
    attempt,
    placement: 'phase_exit',
    nodeId: 'hand',
    workerId: 'writer',
    target: `child-${attempt}`,
    resultHash,
    output: { text: 'It rains every day.' },
    verdict,
    criteria: [
      { dimension: 'grounded', score, pass_threshold: 4, passed: score >= 4, settledBy: 'verifiers' },
      { dimension: 'complete', pass_threshold: 4, passed: true, settledBy: 'earlier' },
    ],
    findings,
    evidence: [{ probeId: 'has-text', dimension: 'complete', outcome: 'held', evidence: [] }],
    votes: [
      { agentId: 'assay.verifier', weight: 1, scores, findings, verdict: vote, confidence: 0.9, childRunId: 'judge-1' },
    ],
    faults: [{ agentId: 'local.second', weight: 1, code: 'verifier_off_schema' }],
    quorum: { votes: 1, passVotes: verdict === 'fail' ? 0 : 1, needed: 1 },
    confidence: 0.9,
    standing: { attempt, blocking, score: score / 5 },
    cost: { tokens: 1200, costNano: 2_500_000, toolCalls: 0, retries: 0 },
    ...more,
  }
}

type Row = { readonly type: string; readonly payload: object; readonly secret?: object }

/** What the log tells of an attempt: the result, what the host makes of it and, where it is told, the verdict. */
export const judged = (
  one: VerificationRecord,
  artifactId: string,
  verdict?: AgentVerified['verdict'],
  shown?: Json,
): Row[] => [
  kept(artifactId, one as unknown as Json, shown),
  {
    type: 'dws.verification.verdict_rendered',
    payload: {
      gateId: one.gateId,
      attempt: one.attempt,
      dwsVerdict: one.verdict,
      quorum: { votes: 1, passVotes: 0 },
      resultArtifactId: artifactId,
      resultHash: one.resultHash,
    },
  },
  ...(verdict === undefined ? [] : [said(one, { agentId: 'assay.verifier', verdict })]),
]

/** An artifact that claims to be a result. */
export const kept = (artifactId: string, content: Json, shown?: Json): Row => ({
  type: 'artifact.created',
  payload: { artifactId, artifactType: RESULT_ARTIFACT, nodeId: 'hand' },
  secret: { content, ...(shown !== undefined && { shown }) },
})

export const said = (
  { gateId, attempt, resultHash, target }: VerificationRecord,
  verdict: Pick<AgentVerified, 'agentId' | 'verdict' | 'criteria' | 'confidence'>,
  by: Pick<VerifiedSecret, 'by' | 'why'> = {},
): Row => ({
  type: 'agent.verified',
  payload: { ...verdict, target },
  secret: { gateId, attempt, resultHash, ...by },
})

/** The rows of a log, numbered from `first`. */
export const rows = (told: readonly Row[], first = 0): StoredEvent[] =>
  told.map(({ type, payload, secret }, i) => ({
    sequence: first + i,
    type,
    nodeId: 'hand',
    payload: JSON.stringify(payload),
    secret: secret === undefined ? null : JSON.stringify(secret),
    cause: null,
    foreignCause: null,
    at: 1_767_225_600_000 + (first + i) * 1000,
    input: null,
    salt: null,
    erased: null,
    hash: '',
  }))
