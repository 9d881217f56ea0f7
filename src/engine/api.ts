import type { HeartbeatArm, ScheduleArm } from '../core/arm/arm.js'
import type { GoalEdits } from '../core/goal/events.js'
import type { Completion, Continuation, GoalBounds, GoalOwner, GoalWork } from '../core/goal/goal.js'
import type { Goal, goalStateOf } from '../core/goal/state.js'
import type { ForeignParent } from '../core/handoff/foreign-cause.js'
import type { Json, JsonObject } from '../core/json.js'
import type { Refusal } from '../core/problem.js'
import type { Fork } from '../core/replay/events.js'
import type { DrainPolicy, RunStarted, RunStatus } from '../core/run/events.js'
import type { ResolveInterrupt as AnswerHeard } from '../core/run/input.js'
import type { RunState } from '../core/run/state.js'
import type { OpenSchedule } from '../core/schedule/state.js'
import type { Plan } from '../core/workflow/plan.js'
import type { Checkpoint } from './ports/audit.js'
import type { Delivery, Webhook } from './ports/deliveries.js'
import type { StoredEvent } from './ports/event-log.js'
import type { RememberedResponse } from './ports/remembered-responses.js'
import type { ChildRow, RunQuery, RunRow } from './ports/run-index.js'
import type { Standard, StandardKind } from './ports/standards.js'
import type { WorkflowRecord } from './ports/workflows.js'

/** What the edges (HTTP, conformance seams, embedding programs) may ask of a host. */
export interface RunEngine {
  /** Starts a run. The answer comes after the run's first events are durable; they may already include its end. */
  create(request: CreateRun, response?: MakeResponse): Promise<Answer<InspectedRun>>
  /** Asks something of an existing run. Another tenant's run is `not_found`, exactly like one that never was. */
  command(tenant: string, runId: string, command: RunCommand, response?: MakeResponse): Promise<Answer<InspectedRun>>
  /** Starts a run that shares the beginning of another (contract core §8). */
  fork(request: ForkRun, response?: MakeResponse): Promise<Answer<InspectedRun>>
  /** The tenant that owns a run: for callers whose credential names the run itself. */
  tenantOf(runId: string): Promise<string | undefined>
  inspect(tenant: string, runId: string): Promise<InspectedRun | undefined>
  /** Why the tenant has no such run: it never had, or its time was over and it was purged. */
  missing(tenant: string, runId: string): Promise<Refusal>
  list(query: RunQuery): Promise<RunRow[]>
  /** The latest of a run's children, oldest first; verifiers, which are the host's, are not among them. */
  childrenOf(runId: string, limit: number): Promise<ChildRow[]>
  /** The stored log from `from` on, at most `limit` events, or undefined when the tenant has no such run. */
  readEvents(
    tenant: string,
    runId: string,
    from: number,
    limit?: number,
    maxBytes?: number,
  ): Promise<StoredEvent[] | undefined>
  /**
   * The log from `from` on: first what is stored, then what is appended, in order, without gap or repetition. Ends
   * after the terminal event or when `signal` aborts. Undefined when the tenant has no such run.
   */
  follow(
    tenant: string,
    runId: string,
    from: number,
    signal: AbortSignal,
  ): Promise<AsyncIterable<readonly StoredEvent[]> | undefined>

  /** Checks, compiles and stores a definition. `tenant: null` shares it with every tenant. */
  putWorkflow(
    tenant: string | null,
    definition: unknown,
    by?: Registrant,
  ): Promise<Answer<{ record: WorkflowRecord; created: boolean } & WorkflowDoubts>>
  /** Everything `putWorkflow` would check, writing nothing. */
  checkWorkflow(tenant: string | null, definition: unknown): Promise<Answer<{ digest: string } & WorkflowDoubts>>
  readonly schedules: ScheduleAdmin
  getWorkflow(tenant: string, workflowId: string): Promise<WorkflowRecord | undefined>
  listWorkflows(tenant: string): Promise<WorkflowRecord[]>

  /** True while the host takes new work: started, not draining, store reachable, sweeper alive. */
  health(): Health
}

/** Whose credential registers a workflow: runs that its schedules start are that principal's, and may do no more. */
export type Registrant = { readonly principal: string; readonly scopes?: readonly string[] }

/** The schedules of a tenant's workflows, as the edges show and command them. */
export interface ScheduleAdmin {
  /** Those whose workflow has them, in the order of their ids, backwards. */
  list(tenant: string, query: ScheduleQuery): Promise<SchedulePage>
  get(tenant: string, scheduleId: string): Promise<ScheduleShown | undefined>
  pause(tenant: string, scheduleId: string): Promise<Answer<ScheduleShown>>
  resume(tenant: string, scheduleId: string): Promise<Answer<ScheduleShown>>
  /** Starts a run of it now. */
  run(tenant: string, scheduleId: string): Promise<Answer<ScheduleShown>>
}

/** `next`: where the next page begins. */
export type SchedulePage = { readonly schedules: readonly ScheduleShown[]; readonly next: string | null }
export type ScheduleQuery = { readonly limit: number; readonly before?: string }

export type ScheduleShown = {
  readonly scheduleId: string
  readonly workflowId: string
  readonly triggerId: string
  readonly arm: ScheduleArm | HeartbeatArm
  /** Of a heartbeat: the last answer there was. */
  readonly holds: boolean | null
  /** `spent`: no time is left that its expression matches. */
  readonly state: 'armed' | 'paused' | 'spent' | 'removed'
  /** While a run is under way: the time that it was at last waiting for. */
  readonly next: { readonly tick: number; readonly dueAt: number } | null
} & Pick<OpenSchedule, 'run' | 'begun' | 'latest' | 'held'>

export type Health = { readonly ok: boolean; readonly reasons: readonly string[]; readonly activeRuns: number }

/** A run of a workflow, or of one agent at work on `inputs.task`, or on all inputs where there is no such one. */
export type CreateRun = RunRequest &
  ({ readonly workflowId: string } | { readonly agentId: string; readonly source: 'run-api' | 'chat-mention' })

export type RunRequest = {
  readonly tenant: string
  readonly principal: string
  /** What the credential may do; its run's tools may do no more. */
  readonly scopes?: readonly string[]
  readonly inputs: JsonObject
  readonly configurable?: JsonObject
  readonly tags?: readonly string[]
  readonly metadata?: JsonObject
  readonly scopeId?: string
  /** Where the run remembers, if that is not to be its `scopeId`. */
  readonly memoryScope?: string
  readonly exclusiveScope?: boolean
  /** Of a run that a standing stream starts: which one, and what it may spend. */
  readonly stream?: Pick<RunStarted, 'stream' | 'grant'>
  readonly transport: 'rest' | 'mcp' | 'a2a' | 'ui'
  /** The trace to go on with, as it came; what is malformed counts for nothing. */
  readonly traceparent?: string
  /** The run of another host that has started this one, and how deep this one is nested, over all hosts. */
  readonly foreign?: { readonly parent: ForeignParent; readonly depth: number }
}

export type RunCommand =
  | { readonly type: 'cancel'; readonly reason?: string; readonly by: string }
  | { readonly type: 'pause'; readonly drainPolicy: DrainPolicy; readonly reason?: string }
  | { readonly type: 'resume'; readonly reason?: string }
  /** What backs off is tried now: this node, or every one. */
  | { readonly type: 'retry'; readonly nodeId?: string }
  | ResolveInterruptCommand

/**
 * An answer to what a run waits for (contract core §7). Without an `interruptId` it is for whatever the node asks now. Who
 * answers comes from the credential, never from the value.
 */
export type ResolveInterruptCommand = { readonly type: 'resolve' } & Omit<
  AnswerHeard,
  'type' | 'shownHash' | 'claimedHash'
>

export type ForkRun = {
  readonly tenant: string
  readonly runId: string
  readonly mode: Fork['mode']
  readonly fromSeq: number
  /** Only for a branch: what the fork does otherwise than its source. */
  readonly overlay?: RunOptions
  /** The same, of its agents and nodes: `agents.ID.model`, `nodes.ID.config.FIELD` (core/replay/changes.ts). */
  readonly set?: JsonObject
  /** Only for a branch: it remembers what its source saw before this event, and not before the cut. */
  readonly memoryAsOf?: number
  /** What the credential may do; a branch may do no more. */
  readonly scopes?: readonly string[]
  /** The trace that a branch goes on with, as it came. */
  readonly traceparent?: string
}

export type RunOptions = {
  readonly configurable?: JsonObject
  readonly tags?: readonly string[]
  readonly metadata?: JsonObject
}

/** A run as the engine sees it after its latest durable event. */
export type InspectedRun = {
  readonly runId: string
  readonly tenant: string
  readonly state: RunState
  readonly status: RunStatus
  readonly plan: Plan
}

/** `replay`: the Idempotency-Key was used before and this is what was answered then. */
export type Answer<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly refusal: Refusal }
  | { readonly ok: false; readonly replay: RememberedResponse }

/** Renders the response to remember, from the state as it will be once the commit is durable. */
export type MakeResponse = (view: InspectedRun) => RememberedResponse

/** Standing goals, as the edges manage them (docs/design/goal.md). Another tenant's goal is undefined, like one that never was. */
export interface GoalAdmin {
  create(wanted: NewGoal, response?: (goal: Goal) => RememberedResponse): Promise<Answer<Goal>>
  /** One that is made once under this name, by whichever host comes first; why there cannot be one. */
  ensure(name: string, wanted: NewGoal): Promise<Refusal | undefined>
  find(tenant: string, goalId: string): Promise<Goal | undefined>
  /** Those of the project, then the newest first; `before` is the id of the last one of the page before. */
  list(query: GoalQuery): Promise<readonly Goal[]>
  /** Only while it is active. What is absent stays; bounds cannot be changed. `edits` is asked for the goal as it is then. */
  edit(
    tenant: string,
    goalId: string,
    edits: (goal: Goal) => GoalEdits | Refusal,
    response?: (goal: Goal) => RememberedResponse,
  ): Promise<Answer<Goal> | undefined>
  command(
    tenant: string,
    goalId: string,
    command: 'pause' | 'resume' | 'abandon',
    response?: (goal: Goal) => RememberedResponse,
  ): Promise<Answer<Goal> | undefined>
  /** One iteration by hand. */
  run(
    tenant: string,
    goalId: string,
    response?: (begun: BegunByHand) => RememberedResponse,
  ): Promise<Answer<BegunByHand> | undefined>
  /** A run that names the goal: its iteration is reserved in the commit that begins it, or it is refused. */
  contribute(goalId: string, request: CreateRun, response?: MakeResponse): Promise<Answer<InspectedRun>>
  /** The runs that it has reserved iterations for and that the query is for, newest first; none of a goal that is not there. */
  runsOf(goalId: string, query: RunQuery & { readonly tenant: string }): Promise<RunRow[]>
  /** Its log, like that of a run (`RunEngine`). */
  readonly readEvents: RunEngine['readEvents']
  readonly follow: RunEngine['follow']
}

export type BegunByHand = { readonly goal: Goal; readonly runId: string }

export type NewGoal = {
  readonly owner: GoalOwner
  readonly objective: string
  readonly completion: Completion
  readonly continuation: Continuation
  readonly bounds: GoalBounds
  readonly breaker?: number
  readonly work?: GoalWork
}

export type GoalQuery = {
  readonly tenant: string
  readonly state?: ReturnType<typeof goalStateOf>
  readonly before?: string
  readonly limit: number
}

/** Subscriptions to events, as the edges manage them. */
export interface WebhookAdmin {
  register(tenant: string, wanted: NewWebhook): Promise<Answer<Webhook>>
  remove(tenant: string, webhookId: string): Promise<boolean>
  list(tenant: string): Promise<ListedWebhook[]>
  /** What was delivered lately, newest first; undefined when the tenant has no such subscription. */
  deliveries(tenant: string, webhookId: string, limit: number): Promise<Delivery[] | undefined>
}

/** `secret` is undefined where it cannot be opened here: nothing can be delivered then, and `why` says the reason. */
export type ListedWebhook = Omit<Webhook, 'secret'> &
  ({ readonly secret: string } | { readonly secret: undefined; readonly why: UnreadableSecret })

/** The host lacks the data key that the secret was sealed with, or the sealed secret was changed. */
export type UnreadableSecret = 'data-key-missing' | 'secret-changed'

export type NewWebhook = {
  readonly url: string
  readonly events: readonly string[]
  readonly tags?: readonly string[]
}

/** What work is held to, as the edges manage it. */
export interface StandardsAdmin {
  /** Checks, completes and stores a document. */
  register(
    tenant: string,
    kind: StandardKind,
    document: Json,
  ): Promise<Answer<{ readonly standard: Standard; readonly changed: boolean }>>
  /** Undefined when it was removed. */
  remove(tenant: string, kind: StandardKind, id: string): Promise<Refusal | undefined>
  /** The tenant's own and the shared ones, by id. */
  list(tenant: string, kind: StandardKind): Promise<readonly Standard[]>
  find(tenant: string, kind: StandardKind, id: string): Promise<Standard | undefined>
}

/** Tenants as a whole, as the edges manage them. */
export interface TenantAdmin {
  /** Begins to erase all of an account: `parts` are the tenants that its data is kept under. */
  erase(parts: readonly string[]): Promise<Answer<TenantState>>
  /** Undefined when there never was anything of it. */
  find(parts: readonly string[]): Promise<TenantState | undefined>
}

/** `erasing`: nothing of it is made or found any more, and its content is going. */
export type TenantState =
  | { readonly state: 'active' }
  | { readonly state: 'erasing'; readonly askedAt: number }
  | { readonly state: 'erased'; readonly askedAt: number; readonly erasedAt: number }

/** Proof that logs are as they were written. */
export interface AuditAdmin {
  /**
   * Checks checkpoints `from` to `to` (both included), and the logs that they cover of a tenant's runs, or of all: so much
   * of it as goes into one slice. `next` says where the slice after it begins.
   */
  verify(range: AuditRange): Promise<AuditReport>
}

/** Signed statements about runs, for others to keep. */
export interface ReceiptAdmin {
  /** A receipt of a run that has ended, as it is to be kept: every byte of it counts. */
  issue(
    tenant: string,
    runId: string,
  ): Promise<{ readonly ok: true; readonly value: string } | { readonly ok: false; readonly refusal: Refusal }>
  /** The keys whose signatures are believed here. */
  publicKeys(): Promise<readonly PublicJwk[]>
}

/** A public key as RFC 8037 writes it. */
export type PublicJwk = {
  readonly kty: 'OKP'
  readonly crv: 'Ed25519'
  readonly x: string
  readonly kid: string
  readonly use: 'sig'
  readonly alg: 'EdDSA'
}

export type AuditRange = {
  readonly from: number
  readonly to?: number
  readonly tenant?: string
  readonly place?: AuditPlace
}

/** How far a verification has come: to which run of which checkpoint, and how far that was followed. */
export type AuditPlace = {
  readonly seq: number
  readonly run: number
  /** The last checkpoint there is to verify. */
  readonly to: number
  readonly walk?: {
    readonly next: number
    readonly older: number
    readonly head: string
    readonly ifAllLost: string
    readonly ifLastLost: string
    readonly erased: number
    readonly unproven: number
  }
}

export type AuditReport = {
  readonly fromSeq: number
  readonly toSeq: number
  /** Every log in the range is as it was sealed, and the checkpoints follow each other. */
  readonly chainValid: boolean
  /** Every checkpoint in the range bears the signature of a key known here. */
  readonly checkpointsValid: boolean
  readonly checkpoints: readonly Omit<Checkpoint, 'runs' | 'purged'>[]
  readonly anomalies: readonly AuditAnomaly[]
  /** There is more to verify, from here on. */
  readonly next?: AuditPlace
}

/** What is wrong and where; no content. */
export type AuditAnomaly = {
  readonly kind: AnomalyKind
  readonly checkpoint?: number
  readonly runId?: string
  /** The first event that is not as it was written. */
  readonly sequence?: number
  readonly message: string
}

export type AnomalyKind =
  | 'event-changed'
  | 'event-missing'
  | 'event-extra'
  | 'content-missing'
  | 'erasure-forged'
  | 'head-mismatch'
  | 'run-missing'
  | 'gate-row-missing'
  | 'gate-row-changed'
  | 'gate-row-extra'
  | 'merge-unverified'
  | 'definition-missing'
  | 'checkpoint-changed'
  | 'checkpoint-missing'
  | 'signature-invalid'
  | 'key-unknown'

/** What may be wrong with a workflow that is taken all the same. Each entry names the place and the fix. */
export type WorkflowDoubts = {
  readonly warnings: readonly string[]
  /** Agents, workflows and tools that it names and that are not there now: its runs would fail. */
  readonly unknown: readonly string[]
}
