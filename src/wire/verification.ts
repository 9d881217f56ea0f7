import { type Static, Type } from 'typebox'
import { NO_EVIDENCE } from '../core/handoff/peer-receipt.js'
import { OneOf } from '../core/schema/kinds.js'
import { RESULT_LABELS } from '../core/verification/label.js'
import { CLASSIFICATIONS, EVIDENCE_TYPES } from '../core/verification/voting/judgement.js'
import { RunId, Timestamp } from './ids.js'

const Amount = Type.Number({ minimum: 0 })
const Count = Type.Integer({ minimum: 0 })
const Share = Type.Number({ minimum: 0, maximum: 1 })

export const Spent = Type.Object({ tokens: Count, costUsd: Amount, toolCalls: Count, retries: Count })

/** R-DWS-27, R-DWS-28. */
const Cost = Type.Object({
  execution: Type.Optional(
    Type.Object(Spent.properties, {
      description:
        'Spent on the work that was judged; absent in runs of engine versions before 3, which do not tell it',
    }),
  ),
  verification: Type.Object(Spent.properties, {
    description: 'Spent on verifiers: those of this gate, and those that have judged parts of the work in its course',
  }),
})

export const VERDICTS = ['pass', 'fail', 'revise'] as const
/** Of a result that a gate has let pass. */
const PASS_LABELS = RESULT_LABELS.filter(label => label !== 'unverified')

export const DWS_VERDICTS = ['pass', 'conditional_pass', 'fail'] as const

/** Contract agents §11.3. */
export const Convergence = Type.Object(
  {
    successCriteria: Type.Optional(
      Type.Array(Type.Object({ key: Type.String({ minLength: 1 }), met: Type.Boolean() }), {
        description: 'What the supervisor says of its goal, where it ended the loop with that',
      }),
    ),
    goalSatisfied: Type.Optional(
      Type.Boolean({
        description:
          'Of a run that has completed. True: somebody said that it reached what it was for, and nothing stands against it. False: something does. Absent: nobody has said',
      }),
    ),
    verdicts: Type.Array(
      Type.Object({ target: Type.String(), verdict: OneOf(VERDICTS), label: Type.Optional(OneOf(PASS_LABELS)) }),
      { description: 'The latest verdict over each result that a gate has judged' },
    ),
    against: Type.Optional(
      Type.Array(
        Type.Object({
          what: OneOf(['fail', 'revise', 'forced', 'part', 'gave-up']),
          nodeId: Type.String(),
          workerId: Type.Optional(Type.String()),
          gateId: Type.Optional(Type.String()),
        }),
        { description: 'Places whose work stands against the goal' },
      ),
    ),
  },
  { description: 'Whether what the run ended with is what was asked for' },
)
export type Convergence = Static<typeof Convergence>

/** One piece of work at one gate. */
export const GateSnapshot = Type.Object({
  gateId: Type.String(),
  nodeId: Type.String(),
  workerId: Type.Optional(Type.String()),
  target: Type.String({ description: 'The child run, or the event, whose result was judged last' }),
  verdict: Type.Optional(OneOf(VERDICTS)),
  label: Type.Optional(OneOf(PASS_LABELS, { description: 'With a pass: what may be said of the result' })),
  attempts: Count,
  blocking: Type.Optional(Type.Integer({ minimum: 0, description: 'Blocking findings of the latest attempt' })),
  cost: Type.Object(
    { execution: Spent, verification: Spent },
    {
      description:
        'What all work at this place has cost and what judging it has, over all attempts and by all of its gates; at the exit of the workflow, the whole run. Gates at one place show the same sum',
    },
  ),
  attemptCosts: Type.Array(Type.Object({ execution: Spent, verification: Spent }), {
    description: 'Of each attempt at this gate that the present work has made, in order',
  }),
})
export type GateSnapshot = Static<typeof GateSnapshot>

/** P17 */
const PeerReceiptDoc = Type.Object(
  {
    evidence: Type.Boolean({ description: 'Whether it is one: of this run, signed with a key that is believed here' }),
    why: Type.Optional(OneOf(NO_EVIDENCE, { description: 'Why it is none' })),
    keyId: Type.Optional(Type.String({ description: 'The key that it is signed with' })),
    digest: Type.Optional(Type.String({ description: 'SHA-256 of its text' })),
    attempts: Type.Optional(Count),
    passes: Type.Optional(Count),
    label: Type.Optional(OneOf(RESULT_LABELS, { description: 'What it says of what the run there left' })),
  },
  {
    description:
      'Of a result that a peer brought: what the peer has signed of its own verification. It is evidence beside the verdict, which is due to none of it',
  },
)

const SUMMARY = {
  n: Type.Integer({ minimum: 1, description: 'The number by which it is asked for' }),
  at: Timestamp,
  gateId: Type.String(),
  gateName: Type.String(),
  attempt: Type.Integer({ minimum: 1 }),
  nodeId: Type.String(),
  workerId: Type.Optional(Type.String()),
  toolId: Type.Optional(Type.String({ description: 'Where what a tool has brought was judged; target is its call' })),
  target: Type.String(),
  verdict: OneOf([...DWS_VERDICTS, 'could_not_check'], {
    description: 'could_not_check where nobody could decide: there is no verdict',
  }),
  outcome: OneOf([...VERDICTS, 'none'], { description: 'What the run goes by; none where the gate does not block' }),
  scores: Type.Record(Type.String(), Type.Number()),
  confidence: Type.Optional(Share),
  cost: Type.Optional(Cost),
  verified: Type.Boolean({
    description: 'Verifiers have passed every dimension of a blocking gate for exactly this result',
  }),
  label: OneOf(RESULT_LABELS),
  peerReceipt: Type.Optional(PeerReceiptDoc),
  best: Type.Optional(
    Type.Literal(true, { description: 'No attempt at this work passed, and none came nearer to passing' }),
  ),
}

export const VerificationSummary = Type.Object({
  ...SUMMARY,
  findings: Type.Object({ blocking: Count, warning: Count, advisory: Count }),
})
export type VerificationSummary = Static<typeof VerificationSummary>

export const ListVerificationsAnswer = Type.Object({
  verifications: Type.Array(VerificationSummary),
  convergence: Type.Optional(Convergence),
})

const EvidenceDoc = Type.Object({ evidence_type: OneOf(EVIDENCE_TYPES), ref: Type.String(), detail: Type.String() })

/** R-DWS-13: typed findings, not flags. */
const FindingDoc = Type.Object({
  finding_id: Type.String(),
  dimension: Type.String(),
  classification: OneOf(CLASSIFICATIONS),
  description: Type.String(),
  evidence: Type.Array(EvidenceDoc),
  recommendation: Type.Optional(Type.String()),
  source: Type.String({ description: 'The agent that says so, host:probe, or a person' }),
})
export type FindingDoc = Static<typeof FindingDoc>

const Uncheckeds = Type.Array(Type.Object({ dimension: Type.String(), reason: Type.String() }), {
  description: 'What could not be judged, and why',
})

const Scores = Type.Record(Type.String(), Type.Number())

export const ContextDoc = Type.Array(Type.Object({ ref: Type.String(), value: Type.Unknown() }), {
  description: 'What of the run the verifiers were shown besides the work',
})

export const VerificationAnswer = Type.Object({
  ...SUMMARY,
  gateVersion: Type.Integer(),
  gateHash: Type.String(),
  placement: OneOf(['phase_exit', 'workflow_exit', 'checkpoint', 'goal', 'trial']),
  artifactId: Type.String(),
  resultHash: Type.String({ description: 'The verdict holds for the result with this hash and no other' }),
  output: Type.Unknown({ description: 'What was judged' }),
  criteria: Type.Array(
    Type.Object({
      dimension: Type.String(),
      score: Type.Optional(Type.Number()),
      pass_threshold: Type.Number(),
      passed: Type.Boolean(),
      settledBy: OneOf(['probes', 'verifiers', 'earlier']),
      outcome: Type.Optional(OneOf(['passed', 'failed', 'could_not_check'])),
      evidenceFrom: Type.Optional(
        Type.Array(Type.String(), {
          description: 'What the gate binds it to: probe:ID, or verifier:AGENT with the sources it was shown',
        }),
      ),
    }),
  ),
  findings: Type.Array(FindingDoc),
  evidence: Type.Array(
    Type.Object({
      probeId: Type.String(),
      dimension: Type.String(),
      outcome: OneOf(['held', 'failed', 'unavailable']),
      evidence: Type.Array(EvidenceDoc),
    }),
    { description: 'What the probes of the gate found' },
  ),
  votes: Type.Array(
    Type.Object({
      agentId: Type.String(),
      weight: Type.Number(),
      scores: Scores,
      findings: Type.Array(FindingDoc),
      verdict: OneOf(DWS_VERDICTS),
      confidence: Type.Optional(Share),
      childRunId: RunId,
      model: Type.Optional(Type.String()),
      unchecked: Type.Optional(Uncheckeds),
    }),
  ),
  faults: Type.Array(
    Type.Object({
      agentId: Type.String(),
      weight: Type.Number(),
      code: Type.String(),
      childRunId: Type.Optional(RunId),
      unchecked: Type.Optional(Uncheckeds),
      findings: Type.Optional(Type.Array(FindingDoc)),
    }),
    { description: 'Verifiers that gave no vote' },
  ),
  quorum: Type.Object({ votes: Count, passVotes: Count, needed: Type.Number() }),
  effectiveVotes: Type.Optional(Amount),
  sharedModel: Type.Optional(Type.Literal(true)),
  selfVerification: Type.Optional(Type.Literal(true)),
  verdictBy: Type.Optional(
    Type.Object(
      { agentId: Type.String(), criteria: Type.Array(Type.String()), at: Timestamp },
      { description: 'Whose verdict the run goes by, and over what' },
    ),
  ),
  person: Type.Optional(
    Type.Object(
      { by: Type.String(), why: Type.Optional(Type.Unknown()) },
      { description: 'The person whose word it is: in place of the verifiers’ where the label says so, else after it' },
    ),
  ),
  feedback: Type.Optional(
    Type.Object(
      {
        gateId: Type.String(),
        attempt: Type.Integer(),
        dimensions: Type.Array(Type.String()),
        findings: Type.Array(Type.Omit(FindingDoc, ['source'])),
        note: Type.Optional(Type.Unknown()),
      },
      { description: 'What the worker was told when its result was sent back' },
    ),
  ),
  role: Type.Optional(Type.String({ description: 'As what its verifiers judged' })),
  context: Type.Optional(ContextDoc),
  contextHash: Type.Optional(Type.String({ description: 'The verdict holds against sources with this hash' })),
  unchecked: Type.Optional(Uncheckeds),
})
export type VerificationAnswer = Static<typeof VerificationAnswer>
