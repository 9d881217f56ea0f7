import type { TenantUsage, Weights } from '../../core/quotas.js'
import type { Fork } from '../../core/replay/events.js'
import type { RunStatus } from '../../core/run/events.js'

/** What can be found without reading a log. */
export interface RunIndex {
  /** The run row, if `tenant` owns it. `tenant: null` is for the engine itself. */
  readRun(tenant: string | null, runId: string): Promise<RunRow | undefined>
  listRuns(query: RunQuery): Promise<RunRow[]>
  /** The latest of a run's children, oldest first, without those of the workflows `except`. */
  childrenOf(runId: string, limit: number, except?: readonly string[]): Promise<ChildRow[]>
  /** Runs held by this host whose wake time has come: of each tenant the earliest first, tenants in turns (Q8). */
  dueRuns(hostId: string, now: number, limit: number, weights?: Weights): Promise<DueRun[]>
  /** What the tenant has now. */
  usageOf(tenant: string): Promise<TenantUsage>
  /** Results that gates have judged, newest first: where in which log their verdicts are. */
  listVerdicts(query: VerdictQuery): Promise<VerdictRow[]>
}

export type RunRow = {
  readonly runId: string
  readonly tenant: string
  readonly workflowId: string
  readonly workflowDigest: string
  readonly status: RunStatus
  readonly parentRunId: string | null
  readonly parentNodeId: string | null
  readonly scopeId: string | null
  readonly tags: readonly string[]
  /** Number of events: the next sequence. */
  readonly length: number
  readonly owner: string
  readonly epoch: number
  readonly attempts: number
  readonly wakeAt: number | null
  readonly createdAt: number
  readonly updatedAt: number
  readonly endedAt: number | null
  readonly fork: Fork | null
  readonly head: string
  /** The audit checkpoint that vouches for this run's end. */
  readonly checkpoint: number | null
}

export type RunQuery = {
  /** null lists every tenant: for `assay verify --all` only. */
  readonly tenant: string | null
  readonly status?: readonly RunStatus[]
  readonly workflowId?: string
  /** Workflows whose runs are left out. */
  readonly except?: readonly string[]
  readonly parentRunId?: string
  readonly tag?: string
  /** Only runs with a smaller id; ids sort by creation time, newest first. */
  readonly before?: string
  readonly limit: number
}

export type ChildRow = Pick<RunRow, 'runId' | 'status'>

export type DueRun = {
  readonly runId: string
  readonly epoch: number
  readonly attempts: number
  readonly wakeAt: number
  readonly length: number
}

export type VerdictQuery = {
  readonly tenant: string
  readonly gateId?: string
  /** Only verdicts at this time or later. */
  readonly since?: number
  readonly limit: number
}

/** Where a verdict is: `sequence` is that of its `agent.verified`. */
export type VerdictRow = {
  readonly runId: string
  readonly sequence: number
  readonly gateId: string
  readonly verdict: 'pass' | 'fail' | 'revise'
  readonly at: number
}
