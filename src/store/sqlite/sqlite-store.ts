import { resolve } from 'node:path'
import type { Json } from '../../core/json.js'
import { EQUAL_WEIGHTS, type TenantUsage } from '../../core/quotas.js'
import type { Checkpoint, SealedRun } from '../../engine/ports/audit.js'
import type { Delivery, Webhook, WebhookHealth } from '../../engine/ports/deliveries.js'
import type { ClaimResult, EffectClaim } from '../../engine/ports/effect-ledger.js'
import type { Commit, CommitResult, Snapshot, StoredEvent } from '../../engine/ports/event-log.js'
import type { GateRows } from '../../engine/ports/gate-rows.js'
import type { ApiKey } from '../../engine/ports/keys.js'
import type { RememberedResponse, ResponseKey } from '../../engine/ports/remembered-responses.js'
import type { ChildRow, DueRun, RunQuery, RunRow, VerdictQuery, VerdictRow } from '../../engine/ports/run-index.js'
import type { NewStandard, Standard } from '../../engine/ports/standards.js'
import type { Store } from '../../engine/ports/store.js'
import type { TrailQuery, TrailRecord } from '../../engine/ports/audit.js'
import type { WorkflowRecord } from '../../engine/ports/workflows.js'
import { checkCommit } from '../check-commit.js'
import { ClaimTokens, claimToken } from '../claim-tokens.js'
import { LocalHints } from '../local-hints.js'
import { prepareDatabase } from './database-file.js'
import { SqliteJournal } from './journal.js'
import { dueRunsIn, listRunsIn } from './list-runs.js'
import { packCommit } from './packed.js'
import { listVerdicts, readGateRows } from './read-gates.js'
import { readLog } from './read-log.js'
import { Reader } from './reader.js'
import {
  toCheckpoint,
  toDelivery,
  toEvent,
  toKey,
  toOutcome,
  toResponse,
  toRun,
  toStandard,
  toWebhook,
  toWorkflow,
} from './rows.js'
import { SQL } from './statements.js'
import type { TaskInput } from './tasks.js'
import { type SpawnWriter, WriterThread } from './writer-thread.js'
import { usageIn } from './writes/usage.js'

export type SqliteStoreOptions = {
  /** The database is full at this size; unlimited (up to the disk's own end) when absent. */
  readonly maxBytes?: number
  /** Replaces the writer thread, to observe or disturb it in tests. */
  readonly spawnWriter?: SpawnWriter
}

const PURGE_STEP = 2000

/** Opens the database file, creating or migrating it first. Rejects when it is newer than this program. */
export async function openSqliteStore(path: string, options: SqliteStoreOptions = {}): Promise<SqliteStore> {
  const file = resolve(path)
  prepareDatabase(file)
  const store = new SqliteStore(file, options)
  try {
    await store.probe()
  } catch (error) {
    await store.close()
    throw error
  }
  return store
}

/** The embedded store: SQLite in WAL mode with full sync, one writer thread with group commit, reads on the side. */
export class SqliteStore extends SqliteJournal implements Store {
  readonly #hints = new LocalHints()
  readonly #tokens = new ClaimTokens()
  #commits = 0

  /** Use `openSqliteStore`; this expects a file with the current schema. */
  constructor(path: string, { maxBytes, spawnWriter }: SqliteStoreOptions) {
    super(new Reader(path), new WriterThread({ path, maxBytes: maxBytes ?? null }, spawnWriter))
  }

  /** Commits asked for, and the transactions that carried them and all other writes. */
  get counters(): { readonly commits: number; readonly transactions: number } {
    return { commits: this.#commits, transactions: this.writer.transactions }
  }

  async probe(): Promise<void> {
    await this.write('probe', null)
  }

  async commit(commit: Commit): Promise<CommitResult> {
    checkCommit(commit)
    this.#commits += 1
    const refused = await this.write('commit', packCommit(commit))
    if (refused) return refused
    this.#hints.committed(commit)
    return { kind: 'committed' }
  }

  async readEvents(runId: string, from: number, limit = -1, maxBytes?: number): Promise<StoredEvent[]> {
    return readLog(this.reader, runId, from, limit, maxBytes).map(toEvent)
  }

  async readSnapshot(runId: string, upTo: number): Promise<Snapshot | undefined> {
    const row = this.reader.get(SQL.events.snapshot, runId, upTo)
    return row && { length: row.length as number, state: row.state as string }
  }

  async readRun(tenant: string | null, runId: string): Promise<RunRow | undefined> {
    const row = this.reader.get(SQL.runs.read, runId, tenant)
    return row && toRun(row)
  }

  async listRuns(query: RunQuery): Promise<RunRow[]> {
    return listRunsIn(this.reader, query).map(toRun)
  }

  async childrenOf(runId: string, limit: number, except: readonly string[] = []): Promise<ChildRow[]> {
    const rows = this.reader.all(SQL.runs.children, runId, JSON.stringify(except), limit)
    return (rows as ChildRow[]).reverse()
  }

  async dueRuns(hostId: string, now: number, limit: number, weights = EQUAL_WEIGHTS): Promise<DueRun[]> {
    return dueRunsIn(this.reader, hostId, now, limit, weights)
  }

  async usageOf(tenant: string): Promise<TenantUsage> {
    return usageIn(this.reader, tenant)
  }

  async registerHost(host: TaskInput<'registerHost'>): Promise<void> {
    await this.write('registerHost', host)
    this.#hints.registered(host.hostName, host.hostId)
  }

  heartbeat(hostId: string, leaseMs: number, now: number): Promise<boolean> {
    return this.write('heartbeat', { hostId, leaseMs, now })
  }

  async releaseHost(hostId: string): Promise<void> {
    await this.write('releaseHost', hostId)
    this.#hints.released(hostId)
  }

  lastingId(wanted: TaskInput<'lastingId'>): Promise<string> {
    return this.write('lastingId', wanted)
  }

  claimOrphans(hostId: string, now: number, limit: number, weights = EQUAL_WEIGHTS): Promise<number> {
    return this.write('claimOrphans', { hostId, now, limit, weights })
  }

  putWorkflow(record: WorkflowRecord): Promise<void> {
    return this.write('putWorkflow', record)
  }

  async getWorkflow(tenant: string, workflowId: string): Promise<WorkflowRecord | undefined> {
    const row = this.reader.get(SQL.workflows.get, tenant, workflowId)
    return row && toWorkflow(row)
  }

  async listWorkflows(tenant: string): Promise<WorkflowRecord[]> {
    return this.reader.all(SQL.workflows.list, tenant).map(toWorkflow)
  }

  async getDefinition(digest: string): Promise<string | undefined> {
    return this.reader.get(SQL.workflows.definition, digest)?.definition as string | undefined
  }

  putStandard(record: NewStandard): Promise<number> {
    return this.write('putStandard', record)
  }

  deleteStandard(standard: TaskInput<'deleteStandard'>): Promise<boolean> {
    return this.write('deleteStandard', standard)
  }

  async listStandards(tenant: string): Promise<Standard[]> {
    return this.reader.all(SQL.standards.list, tenant).map(toStandard)
  }

  async readGateRows(runId: string): Promise<GateRows> {
    return readGateRows(this.reader, runId)
  }

  async listVerdicts(query: VerdictQuery): Promise<VerdictRow[]> {
    return listVerdicts(this.reader, query)
  }

  async getResponse({ tenant, endpoint, key }: ResponseKey): Promise<RememberedResponse | undefined> {
    const row = this.reader.get(SQL.responses.get, tenant, endpoint, key)
    return row && toResponse(row)
  }

  async claimResponse(
    response: RememberedResponse,
    now: number,
  ): Promise<{ claimed: true } | { claimed: false; response: RememberedResponse }> {
    const existing = await this.write('claimResponse', { response, now, claim: claimToken() })
    return existing ? { claimed: false, response: existing } : { claimed: true }
  }

  finishResponse(response: RememberedResponse): Promise<void> {
    return this.write('finishResponse', response)
  }

  deleteResponse(key: ResponseKey): Promise<void> {
    return this.write('deleteResponse', key)
  }

  purgeResponses(olderThan: number): Promise<number> {
    return this.#purge('purgeResponses', olderThan)
  }

  purgeEffects(olderThan: number): Promise<number> {
    return this.#purge('purgeEffects', olderThan)
  }

  releaseEffect(id: string, hostId: string): Promise<void> {
    return this.write('releaseEffect', { id, hostId })
  }

  abandonEffect(id: string, hostId: string): Promise<void> {
    return this.write('abandonEffect', { id, hostId })
  }

  async claimEffect(claim: EffectClaim): Promise<ClaimResult> {
    const state = await this.#tokens.use(claim.id, token => this.write('claimEffect', { claim, token }))
    return state.kind === 'done' ? { kind: 'done', outcome: JSON.parse(state.outcome) as Json } : state
  }

  finishEffect(id: string, hostId: string, outcome: Json, cacheKey?: string): Promise<void> {
    const done = { id, hostId, outcome: JSON.stringify(outcome), cacheKey: cacheKey ?? null }
    return this.write('finishEffect', done)
  }

  async readEffect(id: string): Promise<Json | undefined> {
    return toOutcome(this.reader.get(SQL.invocations.outcome, id))
  }

  async findAnswer(tenant: string, cacheKey: string): Promise<Json | undefined> {
    return toOutcome(this.reader.get(SQL.invocations.answer, tenant, cacheKey))
  }

  putKey(key: ApiKey): Promise<void> {
    return this.write('putKey', key)
  }

  async listKeys(): Promise<ApiKey[]> {
    return this.reader.all(SQL.keys.list).map(toKey)
  }

  async findKey(hash: string): Promise<ApiKey | undefined> {
    const row = this.reader.get(SQL.keys.find, hash)
    return row && toKey(row)
  }

  appendTrail(record: TrailRecord): Promise<boolean> {
    return this.write('appendTrail', record)
  }

  async readTrail(tenant: string, { before = Number.MAX_SAFE_INTEGER, limit }: TrailQuery): Promise<TrailRecord[]> {
    return this.reader.all(SQL.trail.list, tenant, before, limit) as unknown as TrailRecord[]
  }

  putWebhook(webhook: Webhook): Promise<void> {
    return this.write('putWebhook', webhook)
  }

  deleteWebhook(tenant: string, webhookId: string): Promise<boolean> {
    return this.write('deleteWebhook', { tenant, webhookId })
  }

  async listWebhooks(tenant: string | null): Promise<Webhook[]> {
    return this.reader.all(SQL.webhooks.list, tenant).map(toWebhook)
  }

  putWebhookHealth(webhookId: string, health: WebhookHealth): Promise<void> {
    return this.write('putWebhookHealth', { webhookId, health })
  }

  putWebhookSecret(webhookId: string, secret: string): Promise<void> {
    return this.write('putWebhookSecret', { webhookId, secret })
  }

  claimDeliveries(claim: TaskInput<'claimDeliveries'>): Promise<Delivery[]> {
    return this.write('claimDeliveries', claim)
  }

  finishDelivery(done: TaskInput<'finishDelivery'>): Promise<void> {
    return this.write('finishDelivery', done)
  }

  retryDelivery(again: TaskInput<'retryDelivery'>): Promise<void> {
    return this.write('retryDelivery', again)
  }

  postponeDeliveries(webhookId: string, until: number): Promise<void> {
    return this.write('postponeDeliveries', { webhookId, until })
  }

  async nextDeliveryAt(): Promise<number | null> {
    return this.reader.get(SQL.deliveries.nextDue)?.at as number | null
  }

  async listDeliveries(tenant: string, webhookId: string, limit: number): Promise<Delivery[]> {
    return this.reader.all(SQL.deliveries.list, webhookId, tenant, limit).map(toDelivery)
  }

  purgeDeliveries(olderThan: number): Promise<number> {
    return this.#purge('purgeDeliveries', olderThan)
  }

  async unsealedRuns(limit: number): Promise<SealedRun[]> {
    return this.reader.all(SQL.runs.unsealed, limit).map(row => ({ ...row }) as SealedRun)
  }

  putCheckpoint(checkpoint: Checkpoint): Promise<boolean> {
    return this.write('putCheckpoint', checkpoint)
  }

  async listCheckpoints(from: number, limit: number): Promise<Checkpoint[]> {
    return this.reader.all(SQL.checkpoints.list, from, limit).map(toCheckpoint)
  }

  async latestCheckpoint(): Promise<Checkpoint | undefined> {
    const row = this.reader.get(SQL.checkpoints.latest)
    return row && toCheckpoint(row)
  }

  onHint(listener: (runId: string) => void): () => void {
    return this.#hints.on(listener)
  }

  async ping(): Promise<void> {
    this.reader.get(SQL.migrations.list)
  }

  /** The writer last: the last connection to leave folds the write-ahead log into the database. */
  async close(): Promise<void> {
    this.reader.close()
    await this.writer.close()
  }

  /** In steps, so that a large purge does not hold up appends. */
  async #purge(task: 'purgeResponses' | 'purgeEffects' | 'purgeDeliveries', olderThan: number): Promise<number> {
    let purged = 0
    for (let step = PURGE_STEP; step === PURGE_STEP; purged += step) {
      step = await this.write(task, { olderThan, limit: PURGE_STEP })
    }
    return purged
  }
}
