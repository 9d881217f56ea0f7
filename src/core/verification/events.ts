import type { Ceilings, Spend } from '../budget/budget.js'
import type { Json } from '../json.js'
import type { NodeFact } from '../run/events.js'
import type { ContextTaken } from './gate-context.js'
import type { PassLabel } from './label.js'
import type {
  Classification,
  DwsVerdict,
  Feedback,
  Finding,
  ProbeResult,
  Standing,
  Unchecked,
  Vote,
} from './voting/judgement.js'
import type { TrackRecord } from './voting/licence.js'

/**
 * The gate before a commit (contract agents §11, §23). All of these are free of content: ids, keys from the gate's own
 * definition, numbers. What was found is an artifact of the run.
 */
export type GateFact =
  /** A result is here that a gate must see before anything is made of it. */
  | NodeFact<'assay.result.staged', ResultStaged, StagedSecret>
  /** It is about to be judged: from here on it is merged only with a pass over exactly this hash. */
  | NodeFact<'dws.verification.started', VerificationStarted, VerificationSecret>
  | NodeFact<'assay.verifier.began', VerifierBegan, { grant?: Ceilings }>
  | NodeFact<'assay.verifier.started', VerifierBegan & { childRunId: string }>
  | NodeFact<'assay.verifier.ended', VerifierEnded, VerifierEndedSecret>
  /** R-DWS-36: no quorum. Nothing is merged and no worker's turn is spent; the missing votes are asked for again. */
  | NodeFact<'assay.verification.held', VerificationHeld>
  | NodeFact<'assay.verification.resumed', Attempt & { round: number }>
  /** What the targeted round has left out is judged now, for the same result and in the same attempt. */
  | NodeFact<'assay.verification.confirming', VerificationConfirming>
  | NodeFact<'dws.verification.finding_issued', FindingIssued>
  | NodeFact<'dws.verification.verdict_rendered', VerdictRendered, { standing: Standing; failed: readonly string[] }>
  | NodeFact<'agent.verified', AgentVerified, VerifiedSecret>
  /** The work is done again with what was found. */
  /** `returned`: at the exit, the nodes that are as if they had never run; what they wrote down goes with them (S15). */
  | NodeFact<'assay.rework.began', ReworkBegan, { feedback: Feedback; worker?: number; returned?: readonly string[] }>
  /** R-VERIFY-11: what a worker brought back is not merged, and will not be. */
  | NodeFact<'assay.result.withheld', ResultWithheld, { worker: number; feedback?: Feedback }>

export type ResultStaged = { nodeId: string; point: 'node' | 'tool' | 'run' | 'none'; targetRef: string }

export type StagedSecret = {
  readonly result: Json
  readonly confidence?: number
  /** A person wrote it in place of the agent's. */
  readonly edited?: true
  /** Sequence of the event that brought it. */
  readonly subject: number
}

type Attempt = { gateId: string; attempt: number }

export type VerificationStarted = Attempt & {
  /** The child run, the event of the agent's decision, the tool's call, or, at a workflow's exit, what was decided last. */
  targetRef: string
  placement: 'phase_exit' | 'workflow_exit' | 'checkpoint' | 'goal' | 'trial'
  gateVersion: number
  gateHash: string
  resultHash: string
  /** Only a blocking gate stages what it judges. */
  blocking: boolean
  /** Where the result is merged: into variables, as the node's own, into what its agent is told, or as the run's; nowhere, where a goal or a trial has it judged. */
  point: 'harvest' | 'node' | 'tool' | 'run' | 'goal' | 'none'
  workerId?: string
  /** Keys that are judged this time. */
  criteria: readonly string[]
  probes: number
  probesFailed: number
  verifiers: number
  /** SHA-256 over the canonical JSON of what the gate's `context` came to: the verdict holds against this and no other. */
  contextHash?: string
}

export type VerificationSecret = {
  readonly worker?: number
  /** Index among the gates of the run. */
  readonly gate: number
  readonly evidence: readonly ProbeResult[]
  readonly licence?: TrackRecord
  readonly effectiveVotes?: number
  /** Sequence of the event that brought the result: the cause of the verdict. */
  readonly subject: number
  /** What the gate's `context` came to, or why it came to nothing. */
  readonly context?: ContextTaken
}

export type VerifierBegan = Attempt & { verifier: number; agentId: string; round: number }

export type VerifierEnded = VerifierBegan & {
  childRunId?: string
  vote: DwsVerdict | 'none'
  /** Why there is no vote. */
  fault?: string
}

export type VerifierEndedSecret = {
  readonly vote?: Vote
  readonly weight: number
  readonly spent?: Spend
  /** What it may have cost besides, and nobody knows. */
  readonly held?: Spend
  /** With no vote: what it could not judge, and what it found besides. */
  readonly unchecked?: readonly Unchecked[]
  readonly findings?: readonly Finding[]
}

export type VerificationHeld = Attempt & {
  round: number
  votes: number
  faults: number
  retryInMs: number
  /** Nobody is asked any more: the gate does not block, and the work goes on without its word. */
  proceeds?: true
  /** No verifier is asked any more: the record of what could not be checked. */
  resultArtifactId?: string
}

export type VerificationConfirming = Attempt & {
  round: number
  /** Keys that are judged in this round. */
  criteria: readonly string[]
  verifiers: number
}

export type FindingIssued = Attempt & { findingId: string; dimension: string; classification: Classification }

export type VerdictRendered = Attempt & {
  dwsVerdict: DwsVerdict
  quorum: { votes: number; passVotes: number }
  resultArtifactId: string
  resultHash: string
  /** Let through after the last attempt, as the gate says. */
  forced?: true
  /** What may be said of the result, where a gate that blocks lets it pass and no person has the last word. */
  label?: PassLabel
  /** In place of a label, where a person is asked: whether all that the gate asks was judged for this result. */
  judged?: 'whole' | 'part'
  /** The gate does not block: the work goes on whatever it says. */
  proceeds?: true
}

/** R-VERIFY-3: closed. */
export type AgentVerified = {
  agentId: string
  target: string
  verdict: 'pass' | 'fail' | 'revise'
  criteria?: readonly string[]
  confidence?: number
  /** Of what a peer brought: the host at which it came to be. */
  causationHostId?: string
}

export type VerifiedSecret = {
  readonly gateId: string
  readonly attempt: number
  /** The verdict holds for this result and no other. */
  readonly resultHash: string
  /** With a pass: what may be said of the result. */
  readonly label?: PassLabel
  /** Sequence of the artifact with everything that was found, where somebody judged. */
  readonly record?: number
  /** With a person's word in place of the verifiers': whose, and why. */
  readonly by?: string
  readonly why?: Json
  /** Why a person was asked. */
  readonly asked?: string
}

/** `attempt` is the one that begins. */
export type ReworkBegan = Attempt & {
  point: 'harvest' | 'node' | 'run'
  scope: 'targeted' | 'full'
  workerId?: string
}

export type ResultWithheld = Attempt & {
  workerId: string
  targetRef: string
  verdict: 'fail' | 'revise'
  criteriaFailed: number
  criteria: number
}
