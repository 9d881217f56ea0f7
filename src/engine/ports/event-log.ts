import type { StoredQuotas } from '../../core/quotas.js'
import type { Fork } from '../../core/replay/events.js'
import type { RunStatus } from '../../core/run/events.js'
import type { NewDelivery } from './deliveries.js'
import type { RememberedResponse } from './remembered-responses.js'

/** The logs of all runs: the only truth, and what is written together with it. */
export interface EventLog {
  commit(commit: Commit): Promise<CommitResult>
  /**
   * Events with sequence ≥ `from`, ascending, at most `limit`; and no more than come to `maxBytes`, payloads and secrets
   * together, except that one is always read, however large.
   */
  readEvents(runId: string, from: number, limit?: number, maxBytes?: number): Promise<StoredEvent[]>
  /** The latest snapshot of the run, or of what it shares with its source, that stands for at most `upTo` events. */
  readSnapshot(runId: string, upTo: number): Promise<Snapshot | undefined>
  /** Hints that a run has new events, from other hosts. Lossy by contract: a hint only says "look again". */
  onHint(listener: (runId: string) => void): () => void
}

/** The store could not be reached, or answered that it cannot write now. Nothing is known to be written. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** A commit would have merged a result that no gate has passed, or said more of it. Nothing of it is written. */
export class UnverifiedMerge extends Error {
  override readonly name = 'UnverifiedMerge'
}

/** A commit tells of a write whose content is not stored, or is another than it says (S15). Nothing of it is written. */
export class MissingContent extends Error {
  override readonly name = 'MissingContent'
}

/** A text holds a control character, such as the NUL, which databases cut or refuse. Nothing of the write is done. */
export class UnstorableText extends Error {
  override readonly name = 'UnstorableText'
  override readonly message = 'a text to be stored holds a control character'
}

export type Commit = {
  /** Client-made, unique; stored with the first event of each stream so that an unknown outcome can be looked up. */
  readonly appendId: string
  /** The writing host's incarnation. */
  readonly hostId: string
  /** Whose runs these are: where writes have to wait, tenants take turns. Absent for what is the host's own. */
  readonly tenant?: string
  readonly streams: readonly StreamAppend[]
  /** Other runs that must be looked at, because of what is written here. */
  readonly wakes: readonly string[]
  /** Response to remember under an Idempotency-Key, in the same transaction as its effect. */
  readonly response?: RememberedResponse
  /** What subscribers must be told of these events; each is one of `streams`' events. */
  readonly deliveries?: readonly NewDelivery[]
  /** What the tenant of the runs that are created here may have (S13); all of them are of one tenant and one root. */
  readonly quotas?: StoredQuotas
}

export type StreamAppend = {
  readonly runId: string
  /** The sequence of the first event here. A new run begins at 0, a fork at its `fromSeq`. */
  readonly expected: number
  /** The claim under which this is written; null for a command accepted by a host that does not hold the run. */
  readonly epoch: number | null
  readonly events: readonly StoredEvent[]
  /** Columns derived from the state after these events: a cache of the fold, for lists and wake-ups. */
  readonly status: RunStatus
  /** When the run must be looked at next; null when only an outside input can move it. */
  readonly wakeAt: number | null
  /** Hash of the last event of the log after this append. */
  readonly head: string
  /** What the log up to here folds to, kept now and then so that nobody need read a long log from its beginning. */
  readonly snapshot?: string
  /** Set when this append creates the run. Only a fork may be created without an event of its own. */
  readonly create?: NewRun
}

export type NewRun = {
  readonly tenant: string
  readonly workflowId: string
  readonly workflowDigest: string
  readonly parentRunId: string | null
  readonly parentNodeId: string | null
  readonly scopeId: string | null
  readonly tags: readonly string[]
  /** X-Dedup: refuse when a run of the same tenant and scope is active. */
  readonly exclusiveScope: boolean
  /** The run whose beginning this one shares; it is of the same tenant and has at least `sourceLength` events. */
  readonly fork: Fork | null
  /** Where blocking gates stand in this run. */
  readonly gated: readonly GatedPoint[]
}

/** Merging here takes a pass of that gate. `workerId: null`: whichever worker it is; at a tool it is the tool's id. */
export type GatedPoint = {
  readonly gateId: string
  readonly point: 'harvest' | 'node' | 'tool' | 'run'
  readonly nodeId: string
  readonly workerId: string | null
  /** What the gate wants judged before a merge. Null in a run of version 2 of the rules: only the order is held there. */
  readonly confirm: 'full' | 'none' | null
}

export type CommitResult =
  | { readonly kind: 'committed' }
  | { readonly kind: 'conflict'; readonly runId: string }
  | { readonly kind: 'fenced' }
  | { readonly kind: 'response-exists'; readonly response: RememberedResponse }
  | { readonly kind: 'scope-active'; readonly runId: string }
  /** `left` says how many more there could have been. */
  | { readonly kind: 'over-quota'; readonly quota: keyof StoredQuotas; readonly limit: number; readonly left: number }
  /** Event `sequence` would have published a file that has another version than its writer says it must have (S15). */
  | {
      readonly kind: 'workspace-conflict'
      readonly runId: string
      readonly sequence: number
      readonly path: string
      /** 0 where there is no such file. */
      readonly currentVersion: number
    }

/** An event as rows hold it: JSON is rendered once, on the way in, and sent as it is on the way out. */
export type StoredEvent = {
  readonly sequence: number
  readonly type: string
  readonly nodeId: string | null
  readonly payload: string
  readonly secret: string | null
  /** Sequence, in the same log, of the event that led to this one. */
  readonly cause: number | null
  /** Id of the event of another host that did, in place of `cause`; the payload names the host (R-XHOST-2). */
  readonly foreignCause: string | null
  readonly at: number
  /** What was put to the run, on the first event it led to. Never shown; a replay is told the same. */
  readonly input: string | null
  /** Unguessable, of this event alone: what `hash` covers of its content is salted with it. Null on older events. */
  readonly salt: string | null
  /** Chains the log: see `chain.ts`. Empty on events that are older than the chain. */
  readonly hash: string
  /** What is left of the content of an event of a tenant that was erased (`chain.ts`); null while there is content. */
  readonly erased: string | null
}

/** A fold of the first `length` events. A cache: nothing is lost with it. */
export type Snapshot = { readonly length: number; readonly state: string }
