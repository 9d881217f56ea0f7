import type { GatedPoint } from './event-log.js'
import type { VerdictRow } from './run-index.js'

/** What a store keeps of a run to hold S10 by. It follows from the run's log, and can be recomputed from it. */
export interface GateLedger {
  /** Each table in the order of its rows in the log. */
  readGateRows(runId: string): Promise<GateRows>
}

export type GateRows = {
  /** Where blocking gates stand, in no order. */
  readonly gated: readonly GatedPoint[]
  readonly staged: readonly StagedRow[]
  readonly verdicts: readonly JudgedRow[]
  readonly merges: readonly MergeRow[]
}

/** A result that a blocking gate began to judge. */
export type StagedRow = {
  readonly sequence: number
  readonly gateId: string
  readonly attempt: number
  readonly target: string
  readonly resultHash: string
  readonly point: GatedPoint['point']
  /** How the event that merges it names it: a harvest by the child run, a tool's result by its call, a node by itself; a run has one. */
  readonly place: string
  readonly nodeId: string
  /** Empty where it is nobody's in particular. */
  readonly workerId: string
}

/** What a gate said of it. */
export type JudgedRow = {
  readonly sequence: number
  readonly gateId: string
  readonly target: string
  readonly resultHash: string
  readonly verdict: VerdictRow['verdict']
  /** With a pass, what may be said of the result; empty where the event does not say. */
  readonly label: string
  /** Null on those that a fork shares: they are listed with the run that was judged. */
  readonly tenant: string | null
  readonly at: number
}

/** One gate that a merging event has passed. */
export type MergeRow = {
  readonly sequence: number
  readonly gateId: string
  /** Sequence of the staging that was merged, and of the pass over it. */
  readonly staged: number
  readonly target: string
  readonly resultHash: string
  readonly judged: number
  readonly verdict: VerdictRow['verdict']
  readonly label: string
  readonly confirm: GatedPoint['confirm']
  /** The hash that the merging event itself names. */
  readonly eventHash: string | null
}
