import type { Spend } from '../budget/budget.js'
import type { Json } from '../json.js'
import type { Scale } from './gate.js'
import type { DwsVerdict, Fault, Feedback, Finding, Judgement, ProbeResult, Standing, Vote } from './judgement.js'

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
  /** What judging this attempt has cost. */
  readonly cost?: Spend
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
