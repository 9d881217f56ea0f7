import type { OrchestratorDecision } from './decision.js'

/** One turn of the orchestrator; always logged before anything follows from it (contract agents §3). */
export type OrchestratorDecided = { agentId: string; decision: OrchestratorDecision; iteration: number }

/** A decision that a person must look at first, because its maker is not sure enough (contract agents §6). */
export type ConfidenceEscalated = {
  parentRunId: string
  /** The first worker that the decision names; none for `terminate`. */
  workerId?: string
  confidence: number
  floor: number
  escalationKind: 'clarify' | 'escalate'
  originalDecision: OrchestratorDecision
}
