import type { Arm } from '../arm/arm.js'
import type { JsonObject } from '../json.js'
import type { Probe } from '../verification/gate.js'

/** What a goal is, in the words of the wire (contract agents §21). */

export type GoalOwner = {
  readonly tenant: string
  readonly principal: string
  /** What the credential that made it may do; its runs may do no more. */
  readonly scopes?: readonly string[]
}

export type GoalBounds = {
  readonly maxLoopIterations?: number
  readonly runTimeoutMs?: number
  readonly maxCostUsd?: number
}

/**
 * `verifierRef`: the gate that judges, where the check is a verifier's. The host judges by itself with `probes`, all of which
 * must hold.
 */
export type Completion = {
  readonly check: 'verifier' | 'host'
  readonly verifierRef: string | null
  readonly probes?: readonly Probe[]
}

export const CONTINUATION_MODES = ['schedule', 'commitment', 'heartbeat', 'manual'] as const

/** R-GOAL-20: those that this host can go on by. */
export const OFFERED_MODES = ['schedule', 'manual'] as const satisfies readonly (typeof CONTINUATION_MODES)[number][]
export type OfferedMode = (typeof OFFERED_MODES)[number]

export type Continuation = {
  readonly mode: (typeof CONTINUATION_MODES)[number]
  readonly armRef: string | null
  readonly arm: Arm
}

/** What is run for a goal: a workflow, or an agent. */
export type GoalWork = { readonly inputs: JsonObject } & (
  | { readonly workflowId: string }
  | { readonly agentId: string }
)

/** Nothing is started after these. `escalated` is a closing too, but a goal may be taken up again from it. */
export type FinalState = 'satisfied' | 'abandoned' | 'bound-exceeded'

/** Whatever a goal says of itself, no goal has more contributing runs (I1). */
export const MOST_ITERATIONS = 10_000

/** Runs with the same outcome in a row that escalate, where a goal does not say. */
export const BREAKER = 3
