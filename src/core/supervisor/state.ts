import type { WorkerResult } from '../handoff/state.js'
import type { Json } from '../json.js'
import type { OrchestratorDecision } from './decision.js'

/** R-STATE-12: all that the loop needs to go on after a crash. */
export type Orchestrator = {
  /** Fixed by the first decision (R-ORCH-3). */
  readonly agentId: string
  /** Turns taken: the number of the latest decision. */
  readonly iteration: number
  /** Sequence of the latest `runOrchestrator.decided`. */
  readonly decided: number
  /** What is carried out: the latest decision, or what a person made of it. */
  readonly decision: OrchestratorDecision
  /** Whether it is still to be handed over. */
  readonly owed: boolean
  /** What a person has answered since: an input of the next turn. */
  readonly answer?: Json
  /** Times in a row that it called a success what a gate has not passed. */
  readonly refusals?: number
  /** What has become of the workers of the latest hand-off: an input of the next turn. */
  readonly workers: readonly WorkerResult[]
}
