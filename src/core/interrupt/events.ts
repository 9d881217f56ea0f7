import type { StoppedStep } from '../budget/state.js'
import type { Json, JsonObject } from '../json.js'
import type { ApprovalAction, InterruptKind } from './interrupt.js'

/** Someone outside is asked (contract core §7.3). `requestedAt` is the run's own time, which a replay reproduces. */
export type InterruptRequested = {
  runId: string
  nodeId: string
  interruptId: string
  kind: InterruptKind
  /** The n-th time this node asks: never asked again once it is in the log. */
  key: string
  data: JsonObject
  resumeSchema?: JsonObject
  timeoutMs?: number
  requestedAt: string
}

/**
 * `data` where the payload masks some of it; `withheld` are the fields of it that are not in the payload at all, as they
 * are shown to whoever is asked. `step`: the question is about the budget, and what it keeps the node from.
 */
export type InterruptSecret = { data?: JsonObject; withheld?: JsonObject; step?: StoppedStep }

/** With `node.suspended`, where the node waits with a question about the budget that another one has asked. */
export type SuspendedSecret = { readonly step: StoppedStep }

export type InterruptResolved = {
  nodeId: string
  interruptId: string
  kind: InterruptKind
  resumeValue: Json
  resolvedAt: string
  resolvedBy: string
  outcome?: 'rejected' | 'timed-out'
  reason?: 'timeout'
  /** Hash of the data that was shown to whoever answered. */
  shownHash?: string
}

export type NodeSuspended = {
  nodeId: string
  interruptId: string
  kind: InterruptKind
  key: string
  /** Only with `low-confidence`: whose decision is held, and by how much it fell short (R-LOWC-1). */
  reason?: 'low-confidence'
  agentId?: string
  threshold?: number
  observed?: number
}

/** Kept for readers that know no `interrupt.*`; they spell the action `edit`. */
export type ApprovalRequested = {
  nodeId: string
  interruptId: string
  artifactId: string
  artifactType: string
  actions: readonly string[]
  title: string
  approversList?: Json
  requiredApprovals?: number
}

export type ApprovalReceived = {
  nodeId: string
  action: Exclude<ApprovalAction, 'ask'> | 'timeout'
  decidedBy?: string
  decidedAt: string
  feedback?: Json
  refineFeedback?: Json
  editedArtifactData?: Json
}
