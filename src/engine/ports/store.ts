import type { Json, JsonObject } from '../../core/json.js'
import type { Fork, RunStatus } from '../../core/run/events.js'
import type { AuditStore } from './audit.js'
import type { DeliveryStore, NewDelivery } from './deliveries.js'

/**
 * What the engine needs from the world. Technologies implement these; the engine never names one.
 *
 * The Store contract, numbered; every adapter passes `test/contract/store/contract.ts`:
 *
 *  S1  commit is one transaction: all of it is durable when it resolves `committed`, none of it otherwise.
 *  S2  commit is compare-and-set: a stream whose `expected` is not its next sequence makes the whole commit `conflict`.
 *  S3  commit is fenced: a host that was fenced, or an `epoch` that is not the run's, makes it `fenced`.
 *  S4  an unknown outcome is resolved by looking up `appendId`; commit never reports a guess. If the store cannot be
 *      reached to find out, it rejects with StoreUnavailable and the caller must reload before it decides again.
 *  S5  a run's events are dense from 0; at most one is terminal, and it is last. SQL constraints hold this.
 *  S6  reads that take a tenant return nothing for another tenant's rows, in the query that fetches.
 *  S7  reads never wait for the writer.
 *  S8  a claim moves to another host only after the holder was fenced, and raises the run's epoch.
 *  S9  a run that is created as a fork shares the first `fromSeq` events of its source: they are read as its own, and
 *      writing it costs the same however many they are.
 *  S10 no result that a blocking gate judges is merged without a pass over exactly that result: the event that merges it
 *      is refused with UnverifiedMerge, and nothing of its commit is written. SQL constraints hold this, and they are
 *      fed from the events themselves, so no caller can leave them out.
 *  S11 a text that holds a NUL is never stored: the write is refused with UnstorableText, and nothing of it is written.
 *      Nothing is found by one, least of all what is stored under the part before the NUL.
 */
export interface Store extends DeliveryStore, AuditStore {
  commit(commit: Commit): Promise<CommitResult>

  /** Events with sequence ≥ `from`, ascending, at most `limit`. */
  readEvents(runId: string, from: number, limit?: number): Promise<StoredEvent[]>
  /** The latest snapshot of the run, or of what it shares with its source, that stands for at most `upTo` events. */
  readSnapshot(runId: string, upTo: number): Promise<Snapshot | undefined>
  /** The run row, if `tenant` owns it. `tenant: null` is for the engine itself. */
  readRun(tenant: string | null, runId: string): Promise<RunRow | undefined>
  listRuns(query: RunQuery): Promise<RunRow[]>
  /** The latest of a run's children, oldest first. */
  childrenOf(runId: string, limit: number): Promise<ChildRow[]>

  /** Runs held by this host whose wake time has come, earliest first. */
  dueRuns(hostId: string, now: number, limit: number): Promise<DueRun[]>

  /** Enters the host as alive; earlier incarnations of the same `hostName` are fenced at once. */
  registerHost(host: { hostId: string; hostName: string; leaseMs: number; now: number }): Promise<void>
  /** Renews the lease. False when the host has been fenced: it must stop writing and register anew. */
  heartbeat(hostId: string, leaseMs: number, now: number): Promise<boolean>
  /** Gives up all claims in good order, so that a peer or the next start need not wait for the lease. */
  releaseHost(hostId: string): Promise<void>
  /**
   * Fences hosts whose lease is over and claims up to `limit` unfinished runs of fenced or released hosts: owner and
   * epoch change, and for runs that a fenced host left with work in hand (`wakeAt ≤ WORK_OWED`) `attempts` rises by
   * one, before any of that work is done. Returns how many were claimed.
   */
  claimOrphans(hostId: string, now: number, limit: number): Promise<number>

  putWorkflow(record: WorkflowRecord): Promise<void>
  /** The tenant's own workflow of that id, else the shared one. */
  getWorkflow(tenant: string, workflowId: string): Promise<WorkflowRecord | undefined>
  listWorkflows(tenant: string): Promise<WorkflowRecord[]>
  /** A definition by its digest: what a running run was started with. */
  getDefinition(digest: string): Promise<string | undefined>

  /** Returns the version: the latest one where nothing has changed, else one more. */
  putStandard(record: NewStandard): Promise<number>
  /** False when there is none. Its versions are kept. */
  deleteStandard(standard: { tenant: string | null; kind: StandardKind; id: string; now: number }): Promise<boolean>
  /** The latest version of each that is not deleted: the tenant's own and the shared ones, by kind and id. */
  listStandards(tenant: string): Promise<Standard[]>
  /** Results that gates have judged, newest first: where in which log their verdicts are. */
  listVerdicts(query: VerdictQuery): Promise<VerdictRow[]>

  /** Layer 1 idempotency for operations that are not a single commit. See http/idempotency.ts. */
  getReceipt(key: ReceiptKey): Promise<Receipt | undefined>
  /** Atomic insert-if-absent of a pending receipt; an expired pending one may be taken over by CAS. */
  claimReceipt(receipt: Receipt, now: number): Promise<{ claimed: true } | { claimed: false; receipt: Receipt }>
  finishReceipt(receipt: Receipt): Promise<void>
  deleteReceipt(key: ReceiptKey): Promise<void>
  purgeReceipts(olderThan: number): Promise<number>

  /** Layer 2: atomic insert-if-absent of an effect's identity. A claim left by a fenced host may be taken over. */
  claimInvocation(claim: InvocationClaim): Promise<InvocationState>
  /** `cacheKey`, 64 hex digits, is what `findAnswer` finds the outcome by. */
  finishInvocation(id: string, hostId: string, outcome: Json, cacheKey?: string): Promise<void>
  /** Gives an unfinished claim back: this try failed in a way that may be retried, and the next one claims anew. */
  releaseInvocation(id: string, hostId: string): Promise<void>
  /** Lets go of an unfinished claim whose effect may have happened: as if its host were gone. */
  abandonInvocation(id: string, hostId: string): Promise<void>
  /** The outcome of a finished effect. */
  readInvocation(id: string): Promise<Json | undefined>
  /** The latest outcome under that key among the tenant's own effects; never another tenant's (R-REPLAY-17). */
  findAnswer(tenant: string, cacheKey: string): Promise<Json | undefined>
  /** Forgets finished effects that are older and whose run has ended, and tells how many. */
  purgeInvocations(olderThan: number): Promise<number>

  putKey(key: ApiKey): Promise<void>
  listKeys(): Promise<ApiKey[]>
  findKey(hash: string): Promise<ApiKey | undefined>

  /** Hints that a run has new events, from other hosts. Lossy by contract: a hint only says "look again". */
  onHint(listener: (runId: string) => void): () => void
  /** Resolves when a small read goes through; rejects with StoreUnavailable otherwise. */
  ping(): Promise<void>
  close(): Promise<void>
}

/** The store could not be reached, or answered that it cannot write now. Nothing is known to be written. */
export class StoreUnavailable extends Error {
  override readonly name = 'StoreUnavailable'
}

/** A commit would have merged a result that no gate has passed. Nothing of it is written. */
export class UnverifiedMerge extends Error {
  override readonly name = 'UnverifiedMerge'
}

/** A text holds a NUL, which databases cut or refuse. Nothing of the write is done. */
export class UnstorableText extends Error {
  override readonly name = 'UnstorableText'
  override readonly message = 'a text to be stored holds a NUL'
}

export type Commit = {
  /** Client-made, unique; stored with the first event of each stream so that an unknown outcome can be looked up. */
  readonly appendId: string
  /** The writing host's incarnation. */
  readonly hostId: string
  readonly streams: readonly StreamAppend[]
  /** Other runs that must be looked at, because of what is written here. */
  readonly wakes: readonly string[]
  /** Response to remember under an Idempotency-Key, in the same transaction as its effect. */
  readonly receipt?: Receipt
  /** What subscribers must be told of these events; each is one of `streams`' events. */
  readonly deliveries?: readonly NewDelivery[]
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

/** Merging here takes a pass of that gate. `workerId: null`: whichever worker it is. */
export type GatedPoint = {
  readonly gateId: string
  readonly point: 'harvest' | 'node' | 'run'
  readonly nodeId: string
  readonly workerId: string | null
}

export type CommitResult =
  | { readonly kind: 'committed' }
  | { readonly kind: 'conflict'; readonly runId: string }
  | { readonly kind: 'fenced' }
  | { readonly kind: 'receipt-exists'; readonly receipt: Receipt }
  | { readonly kind: 'scope-active'; readonly runId: string }

/** An event as rows hold it: JSON is rendered once, on the way in, and never parsed on the way out. */
export type StoredEvent = {
  readonly sequence: number
  readonly type: string
  readonly nodeId: string | null
  readonly payload: string
  readonly secret: string | null
  readonly cause: number | null
  readonly at: number
  /** What was put to the run, on the first event it led to. Never shown; a replay is told the same. */
  readonly input: string | null
  /** Unguessable, of this event alone: what `hash` covers of its content is salted with it. Null on older events. */
  readonly salt: string | null
  /** Chains the log: see `chain.ts`. Empty on events that are older than the chain. */
  readonly hash: string
}

/** A fold of the first `length` events. A cache: nothing is lost with it. */
export type Snapshot = { readonly length: number; readonly state: string }

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

/** `tenant: null` is shared with every tenant (loaded from the project folder). */
export type WorkflowRecord = {
  readonly tenant: string | null
  readonly workflowId: string
  readonly digest: string
  /** The definition, verbatim JSON. */
  readonly definition: string
  readonly updatedAt: number
}

export type StandardKind = 'gate' | 'intent' | 'knowledge'

/** `tenant: null` is shared with every tenant (loaded from the project folder). */
export type NewStandard = {
  readonly tenant: string | null
  readonly kind: StandardKind
  readonly id: string
  /** SHA-256 of the body. */
  readonly hash: string
  /** The document, complete, as JSON. */
  readonly body: string
  readonly updatedAt: number
}

export type Standard = NewStandard & { readonly version: number }

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

export type ReceiptKey = { readonly tenant: string; readonly endpoint: string; readonly key: string }

export type Receipt = ReceiptKey & {
  readonly digest: string
  readonly state: 'pending' | 'completed' | 'retryable-failure' | 'terminal-failure'
  readonly leaseOwner: string
  readonly leaseUntil: number
  readonly status: number
  readonly headers: { readonly [name: string]: string }
  readonly body: string
  readonly at: number
}

export type InvocationClaim = {
  readonly id: string
  readonly tenant: string
  readonly runId: string
  readonly nodeId: string
  /** The effect's place within its node: `3`, or `3.2` for the second step of the third. */
  readonly ordinal: string
  readonly provider: string
  /** Which try of the effect this is, by the run's own count; the first is 1. */
  readonly attempt: number
  readonly hostId: string
  readonly at: number
}

export type InvocationState =
  /**
   * `again` when an earlier claim for the same or a later attempt, whose host is gone, left no outcome: the effect may
   * or may not have happened. A higher attempt than the abandoned one is a fresh try that the run already knows of.
   */
  | { readonly kind: 'claimed'; readonly again: boolean }
  | { readonly kind: 'done'; readonly outcome: Json }
  | { readonly kind: 'in-flight' }

export type ApiKey = {
  readonly keyId: string
  /** Hex SHA-256 of the key; the key itself is never stored. */
  readonly hash: string
  readonly tenant: string
  readonly principal: string
  readonly scopes: readonly string[]
  readonly test: boolean
  readonly createdAt: number
  readonly expiresAt: number | null
  readonly revokedAt: number | null
}

export interface Clock {
  /** Wall time in milliseconds. */
  now(): number
  /** Milliseconds that only ever grow. */
  monotonic(): number
  /** Calls back once, no sooner than `ms` from now; returns a function that takes it back. */
  after(ms: number, callback: () => void): () => void
}

export interface Ids {
  /** Sorts by creation time; `[A-Za-z0-9_-]` only. */
  run(): string
  /** Unguessable, for append ids and host incarnations. */
  unique(): string
  /** 16 unguessable bytes as base64url; asked for with every event, so it must be cheap. */
  salt(): string
}

/** A number from 0 up to 1, by chance. Not for secrets. */
export type Random = () => number

/** Checks values against schemas that users wrote, away from the main thread and under limits. */
export interface SchemaChecker {
  /** Undefined when the schema itself is acceptable, else what is wrong with it. */
  inspect(schema: JsonObject): Promise<string | undefined>
  /** Undefined when the value conforms, else what is wrong with it. */
  check(schema: JsonObject, value: Json): Promise<string | undefined>
  close(): Promise<void>
}

/**
 * Performs one kind of outside effect. `id` is the effect's identity (contract core §4.2): the same on every try, so
 * the provider can drop a repetition. Never throws; what went wrong is part of the answer.
 */
export interface Performer {
  perform(call: {
    id: string
    input: Json
    signal: AbortSignal
    /** Events of the run that the effect may look back on, where it asked for them. */
    transcript?: readonly TranscriptEvent[]
  }): Promise<EffectAnswer>
}

/** An event as readers of the log see it. */
export type TranscriptEvent = {
  readonly sequence: number
  readonly type: string
  readonly nodeId?: string
  readonly payload: Json
}

export type EffectAnswer =
  | { readonly ok: true; readonly output: Json }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly retryable: boolean }

/** Knows who wants to be told of events. */
export interface Announcer {
  /** What a commit of these events owes to subscribers. Asked at every commit, so cheap when nobody subscribes. */
  deliveriesFor(
    run: { readonly tenant: string; readonly runId: string; readonly tags: readonly string[] },
    events: readonly StoredEvent[],
  ): readonly NewDelivery[]
  /** They have become durable. */
  committed(deliveries: readonly NewDelivery[]): void
}

export interface Log {
  info(fields: object, message: string): void
  warn(fields: object, message: string): void
  error(fields: object, message: string): void
}
