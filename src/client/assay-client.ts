import { type Follow, followEvents } from './follow-events.js'
import { type Call, type Connection, callJson, formOf } from './http-call.js'
import { MemoryClient, WorkspaceClient } from './journal-client.js'
import { GoalClient } from './goal-client.js'
import { RunControl } from './run-control.js'
import { ScheduleClient } from './schedule-client.js'
import { ReceiptClient } from './receipt-client.js'
import { TranscriptClient } from './transcript-client.js'
import type {
  AgentInfo,
  AgentList,
  AuditSlice,
  Calibration,
  ChatRequest,
  ChatStarted,
  CreatedKey,
  CreatedRun,
  DebugBundle,
  Fields,
  InterruptAnswered,
  InterruptLink,
  InterruptPage,
  KeyList,
  LinkRequest,
  NewKey,
  NewWebhook,
  OpenInterrupt,
  OwnKey,
  RunAncestry,
  RunComparison,
  RunDiff,
  RunEventDoc,
  RunFilter,
  RunPage,
  RunRequest,
  RunRow,
  RunSnapshot,
  StandardCollection,
  StandardDocument,
  StandardInfo,
  StandardList,
  Tenant,
  ToolInfo,
  ToolList,
  VerdictList,
  Verification,
  VerificationList,
  WebhookCreated,
  WebhookDeliveries,
  WebhookList,
  WithheldList,
  WorkflowCheck,
  WorkflowInfo,
  WorkflowList,
} from './wire-shapes.js'

/**
 * A typed client of the host's HTTP interface. Every method resolves with the answer or rejects with AssayError.
 * Writes carry an Idempotency-Key, so that riding out a lost answer never does a thing twice.
 */
export class AssayClient extends RunControl {
  /** What agents have written down for later. */
  readonly memory: MemoryClient
  /** When workflows are run by themselves. */
  readonly schedules: ScheduleClient
  /** Objectives that are worked on until a judge is satisfied. */
  readonly goals: GoalClient
  /** Files that a tenant's runs and keys share. */
  readonly workspace: WorkspaceClient
  /** Signed statements of how runs have ended. */
  readonly receipts: ReceiptClient
  /** The words of agents. */
  readonly transcripts: TranscriptClient

  constructor(connection: Connection) {
    super(connection)
    this.memory = new MemoryClient(connection)
    this.goals = new GoalClient(connection)
    this.schedules = new ScheduleClient(connection)
    this.workspace = new WorkspaceClient(connection)
    this.receipts = new ReceiptClient(connection)
    this.transcripts = new TranscriptClient(connection)
  }

  /** What this host is and can do, as the protocol has every host say it. */
  discover(): Promise<Fields> {
    return this.#call({ path: '/.well-known/openwop' })
  }

  /** Rejects with `service_unavailable` and reasons when the host takes no work. */
  health(): Promise<Fields> {
    return this.#call({ path: '/healthz' })
  }

  /**
   * Starts a run of a workflow or an agent. With a key of your own the same call again finds the run that the first one made.
   * `files` are inputs by their names: text and JSON become values, anything else a file of the workspace.
   */
  createRun(
    request: RunRequest,
    idempotencyKey: string = crypto.randomUUID(),
    files: { readonly [input: string]: File } = {},
  ): Promise<CreatedRun> {
    return this.#call({
      method: 'POST',
      path: '/v1/runs',
      body: Object.keys(files).length === 0 ? request : formOf(request, files),
      isLong: Object.keys(files).length > 0,
      headers: { 'idempotency-key': idempotencyKey },
    })
  }

  /** Gives work to the agent that the message mentions. */
  chat(request: ChatRequest, idempotencyKey: string = crypto.randomUUID()): Promise<ChatStarted> {
    return this.#call({
      method: 'POST',
      path: '/v1/host/assay/chat',
      body: request,
      headers: { 'idempotency-key': idempotencyKey },
    })
  }

  /** A run as it is now: status, variables, outputs, and what it waits for. */
  getRun(runId: string): Promise<RunSnapshot> {
    return this.#call({ path: run(runId) })
  }

  /** One page of the runs that the key can see, newest first. */
  listRuns(filter: RunFilter = {}): Promise<RunPage> {
    return this.#call({ path: '/v1/runs', query: filter })
  }

  /** Every run the key can see, newest first, page by page. */
  async *allRuns(filter: RunFilter = {}): AsyncGenerator<RunRow, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.listRuns({ limit: 100, ...filter, ...(cursor !== undefined && { cursor }) })
      yield* page.runs
      if (page.nextCursor === null) return
      cursor = page.nextCursor
    }
  }

  /** The log as it is now. `debug` is the stream mode that leaves nothing out. */
  async readEvents(runId: string): Promise<readonly RunEventDoc[]> {
    const { events } = await this.#call<{ events: readonly RunEventDoc[] }>({
      path: `${run(runId)}/events`,
      query: { streamMode: 'debug' },
    })
    return events
  }

  /** The log as it grows, in order, until the run ends. It rides out restarts of the server. */
  followEvents(runId: string, options?: Follow): AsyncGenerator<RunEventDoc, void, undefined> {
    return followEvents(this.connection, runId, options)
  }

  /** What waits for an answer, in every run the key can see. */
  listInterrupts(query: { runId?: string; limit?: number; cursor?: string } = {}): Promise<InterruptPage> {
    return this.#call({ path: '/v1/interrupts', query })
  }

  /** The same, page by page. */
  async *allInterrupts(): AsyncGenerator<OpenInterrupt, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const page = await this.listInterrupts(cursor === undefined ? {} : { cursor })
      yield* page.interrupts
      if (page.nextCursor === null) return
      cursor = page.nextCursor
    }
  }

  /** Answers what a node waits for. An answer may be counted without closing it; the status tells. */
  resolveInterrupt(runId: string, nodeId: string, resumeValue: unknown): Promise<InterruptAnswered> {
    return this.#write(interrupt(runId, nodeId), { resumeValue })
  }

  /** A URL that lets whoever holds it look, or answer, without a key. */
  linkInterrupt(runId: string, nodeId: string, request: LinkRequest = {}): Promise<InterruptLink> {
    return this.#call({ method: 'POST', path: `${interrupt(runId, nodeId)}:link`, body: request })
  }

  /** Where the logs of two runs differ. */
  diffRuns(runId: string, against: string): Promise<RunDiff> {
    return this.#call({ path: `${run(runId)}:diff`, query: { against } })
  }

  /** What two runs with a common past did after it, how they ended, and what each has cost. */
  compareRuns(runId: string, against: string): Promise<RunComparison> {
    return this.#call({ path: `/v1/host/assay/runs/${encodeURIComponent(runId)}/comparison`, query: { against } })
  }

  /** A run with everything that helps to find out what happened, without what is confidential. */
  debugBundle(runId: string): Promise<DebugBundle> {
    return this.#call({ path: `${run(runId)}/debug-bundle` })
  }

  /** Which run has started it, if one has; that one's own parent is told by another call. */
  getAncestry(runId: string): Promise<RunAncestry> {
    return this.#call({ path: `${run(runId)}/ancestry` })
  }

  /** What gates have made of the run's results, attempt by attempt. */
  listVerifications(runId: string): Promise<VerificationList> {
    return this.#call({ path: `${run(runId)}/verifications` })
  }

  /** Everything about one of them, by its number in the list. */
  getVerification(runId: string, n: number): Promise<Verification> {
    return this.#call({ path: `${run(runId)}/verifications/${n}` })
  }

  /** What the log of a run keeps from its readers, page by page. */
  listWithheld(runId: string, from = 0): Promise<WithheldList> {
    return this.#call({ path: `${run(runId)}/withheld`, query: { from } })
  }

  /** Who is told of events. */
  listWebhooks(): Promise<WebhookList> {
    return this.#call({ path: '/v1/webhooks' })
  }

  /** The answer is the only place where the secret ever appears, so a lost answer is not asked for again. */
  createWebhook(webhook: NewWebhook): Promise<WebhookCreated> {
    return this.#call({ method: 'POST', path: '/v1/webhooks', body: webhook })
  }

  /** Ends a subscription. */
  removeWebhook(webhookId: string): Promise<unknown> {
    return this.#call({ method: 'DELETE', path: webhook(webhookId) })
  }

  /** What was delivered to a subscriber lately, newest first. */
  listDeliveries(webhookId: string, limit?: number): Promise<WebhookDeliveries> {
    return this.#call({ path: `${webhook(webhookId)}/deliveries`, query: { limit } })
  }

  /** The agents that this host knows. */
  listAgents(): Promise<AgentList> {
    return this.#call({ path: '/v1/agents' })
  }

  /** One agent: who it is, what it uses, and what it lacks. */
  getAgent(agentId: string): Promise<AgentInfo> {
    return this.#call({ path: `/v1/agents/${encodeURIComponent(agentId)}` })
  }

  /** The tools that agents may be given. */
  listTools(): Promise<ToolList> {
    return this.#call({ path: '/v1/tools' })
  }

  /** One tool, with the schema of its input. */
  getTool(toolId: string): Promise<ToolInfo> {
    return this.#call({ path: `/v1/tools/${encodeURIComponent(toolId)}` })
  }

  /** The workflows that can be run. */
  listWorkflows(): Promise<WorkflowList> {
    return this.#call({ path: '/v1/workflows' })
  }

  /** The definition of a workflow. */
  getWorkflow(workflowId: string): Promise<Fields> {
    return this.#call({ path: `/v1/workflows/${encodeURIComponent(workflowId)}` })
  }

  /** Registers a definition under its id, or replaces it. */
  putWorkflow(workflowId: string, definition: Fields): Promise<WorkflowInfo> {
    return this.#call({
      method: 'PUT',
      path: `/v1/workflows/${encodeURIComponent(workflowId)}`,
      body: definition,
    })
  }

  /** Everything `putWorkflow` would check, writing nothing. */
  checkWorkflow(definition: Fields): Promise<WorkflowCheck> {
    return this.#write('/v1/workflows:validate', definition)
  }

  /** Gates, intents or knowledge: the tenant's own and those of the project. */
  listStandards(collection: StandardCollection): Promise<StandardList> {
    return this.#call({ path: standard(collection) })
  }

  /** One document of them. */
  getStandard(collection: StandardCollection, id: string): Promise<StandardDocument> {
    return this.#call({ path: standard(collection, id) })
  }

  /** Registers a document under its id, or replaces the one that has it. */
  putStandard(collection: StandardCollection, document: Fields): Promise<StandardInfo> {
    return this.#write(standard(collection), document)
  }

  /** Removes a document that was registered over HTTP. */
  removeStandard(collection: StandardCollection, id: string): Promise<unknown> {
    return this.#call({ method: 'DELETE', path: standard(collection, id) })
  }

  /** How good the judges of a gate have been. */
  getCalibration(gateId: string, query: { since?: string; limit?: number } = {}): Promise<Calibration> {
    return this.#call({ path: `${standard('gates', gateId)}/calibration`, query })
  }

  /** What a gate has said of which results, newest first. */
  listVerdicts(gateId: string, query: { since?: string; limit?: number } = {}): Promise<VerdictList> {
    return this.#call({ path: `${standard('gates', gateId)}/verdicts`, query })
  }

  /**
   * Puts an output to a gate: the run ends with what the gate says, and nothing is made of the output. With `truth`, which
   * must be known beforehand, what the gate says counts towards its licence. `context`: what the gate names of a run, by
   * entry; a trial is no run of the work and has no sources of its own.
   */
  tryGate(
    gateId: string,
    output: NonNullable<RunRequest['inputs']>[string],
    { truth, context }: { truth?: 'good' | 'bad'; context?: NonNullable<RunRequest['inputs']> } = {},
  ): Promise<CreatedRun> {
    const given = { ...(context && { context }), ...(truth && { planted: { truth } }) }
    const tags = truth === undefined ? {} : { tags: [`planted:${gateId}`] }
    return this.createRun({ workflowId: 'assay-judge', inputs: { gateId, output, ...given }, ...tags })
  }

  /** The answer is the only place where the key itself ever appears. */
  createKey(key: NewKey): Promise<CreatedKey> {
    return this.#call({ method: 'POST', path: '/v1/keys', body: key })
  }

  /** Slice by slice: each answer is about the part of the range that was looked at. */
  async *verifyAudit(): AsyncGenerator<AuditSlice, void, undefined> {
    for (let cursor: string | undefined; ; ) {
      const slice = await this.#call<AuditSlice>({
        path: '/v1/audit/verify',
        ...(cursor !== undefined && { query: { cursor } }),
      })
      yield slice
      if (slice.nextCursor === undefined) return
      cursor = slice.nextCursor
    }
  }

  /** Whose key this client uses, and what it may do. */
  ownKey(): Promise<OwnKey> {
    return this.#call({ path: '/v1/host/assay/key' })
  }

  /** The keys of the tenant, without the keys themselves. */
  listKeys(): Promise<KeyList> {
    return this.#call({ path: '/v1/keys' })
  }

  /** From now on the key opens nothing. */
  revokeKey(keyId: string): Promise<unknown> {
    return this.#call({ method: 'DELETE', path: `/v1/keys/${encodeURIComponent(keyId)}` })
  }

  /** Whether a tenant is there, is being erased, or was. */
  getTenant(tenant: string): Promise<Tenant> {
    return this.#call({ path: `/v1/host/assay/tenants/${encodeURIComponent(tenant)}` })
  }

  /** Begins to erase everything of a tenant. There is no way back. */
  eraseTenant(tenant: string): Promise<Tenant> {
    return this.#write(`/v1/host/assay/tenants/${encodeURIComponent(tenant)}/erase`, { tenant })
  }

  #write<T>(path: string, body: unknown): Promise<T> {
    return this.#call({ method: 'POST', path, body, headers: { 'idempotency-key': crypto.randomUUID() } })
  }

  #call<T>(call: Call): Promise<T> {
    return callJson(this.connection, call) as Promise<T>
  }
}

const run = (runId: string): string => `/v1/runs/${encodeURIComponent(runId)}`
const interrupt = (runId: string, nodeId: string): string => `${run(runId)}/interrupts/${encodeURIComponent(nodeId)}`
const standard = (collection: StandardCollection, id?: string): string =>
  `/v1/host/assay/${collection}${id === undefined ? '' : `/${encodeURIComponent(id)}`}`
const webhook = (webhookId: string): string => `/v1/webhooks/${encodeURIComponent(webhookId)}`
