import { resolve } from 'node:path'
import type { Json } from '../../core/json.js'
import { EQUAL_WEIGHTS, type TenantUsage } from '../../core/quotas.js'
import type { Checkpoint, SealedRun } from '../../engine/ports/audit.js'
import type { Delivery, Webhook, WebhookHealth } from '../../engine/ports/deliveries.js'
import type { ClaimResult, EffectClaim } from '../../engine/ports/effect-ledger.js'
import type { Commit, CommitResult, Snapshot, StoredEvent } from '../../engine/ports/event-log.js'
import type { GateRows } from '../../engine/ports/gate-rows.js'
import type { ApiKey } from '../../engine/ports/keys.js'
import type { Receipt, ReceiptKey } from '../../engine/ports/receipts.js'
import type { ChildRow, DueRun, RunQuery, RunRow, VerdictQuery, VerdictRow } from '../../engine/ports/run-index.js'
import type { NewStandard, Standard } from '../../engine/ports/standards.js'
import type { Store } from '../../engine/ports/store.js'
import type { WorkflowRecord } from '../../engine/ports/workflows.js'
import { checkCommit } from '../check-commit.js'
import { ClaimTokens, claimToken } from '../claim-tokens.js'
import { LocalHints } from '../local-hints.js'
import { prepareDatabase } from './database-file.js'
import { SqliteKeeping } from './keeping.js'
import { dueRunsIn, listRunsQuery, NOT_PURGED, OF_TENANT, usageIn } from './list-runs.js'
import { listVerdictsQuery } from './list-verdicts.js'
import { packCommit } from './packed.js'
import { readGateRows } from './read-gates.js'
import { readLog, readSnapshot } from './read-log.js'
import { Reader } from './reader.js'
import {
  toCheckpoint,
  toDelivery,
  toEvent,
  toKey,
  toOutcome,
  toReceipt,
  toRun,
  toStandard,
  toWebhook,
  toWorkflow,
} from './rows.js'
import type { TaskInput } from './tasks.js'
import { type SpawnWriter, WriterThread } from './writer-thread.js'

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
export class SqliteStore extends SqliteKeeping implements Store {
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
    const row = readSnapshot(this.reader, runId, upTo)
    return row && { length: row.length as number, state: row.state as string }
  }

  async readRun(tenant: string | null, runId: string): Promise<RunRow | undefined> {
    const sql = `SELECT * FROM runs WHERE run_id = ? AND ${NOT_PURGED}`
    const row =
      tenant === null ? this.reader.get(sql, runId) : this.reader.get(`${sql} AND ${OF_TENANT}`, runId, tenant)
    return row && toRun(row)
  }

  async listRuns(query: RunQuery): Promise<RunRow[]> {
    const { sql, parameters } = listRunsQuery(query)
    return this.reader.all(sql, ...parameters).map(toRun)
  }

  async childrenOf(runId: string, limit: number, except: readonly string[] = []): Promise<ChildRow[]> {
    const sql = `SELECT run_id AS runId, status FROM runs WHERE parent_run_id = ? AND ${NOT_PURGED}
      AND workflow_id NOT IN (SELECT value FROM json_each(?)) ORDER BY run_id DESC LIMIT ?`
    return (this.reader.all(sql, runId, JSON.stringify(except), limit) as ChildRow[]).reverse()
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

  claimOrphans(hostId: string, now: number, limit: number, weights = EQUAL_WEIGHTS): Promise<number> {
    return this.write('claimOrphans', { hostId, now, limit, weights })
  }

  putWorkflow(record: WorkflowRecord): Promise<void> {
    return this.write('putWorkflow', record)
  }

  async getWorkflow(tenant: string, workflowId: string): Promise<WorkflowRecord | undefined> {
    const sql = `SELECT w.*, d.definition FROM workflows w JOIN definitions d USING (digest)
                  WHERE w.tenant IN (?, '') AND w.workflow_id = ? ORDER BY w.tenant DESC LIMIT 1`
    const row = this.reader.get(sql, tenant, workflowId)
    return row && toWorkflow(row)
  }

  async listWorkflows(tenant: string): Promise<WorkflowRecord[]> {
    const sql = `SELECT w.*, d.definition FROM workflows w JOIN definitions d USING (digest)
                  WHERE w.tenant = ?1 OR (w.tenant = '' AND NOT EXISTS (
                    SELECT 1 FROM workflows own WHERE own.tenant = ?1 AND own.workflow_id = w.workflow_id))
                  ORDER BY w.workflow_id`
    return this.reader.all(sql, tenant).map(toWorkflow)
  }

  async getDefinition(digest: string): Promise<string | undefined> {
    return this.reader.get('SELECT definition FROM definitions WHERE digest = ?', digest)?.definition as
      | string
      | undefined
  }

  putStandard(record: NewStandard): Promise<number> {
    return this.write('putStandard', record)
  }

  deleteStandard(standard: TaskInput<'deleteStandard'>): Promise<boolean> {
    return this.write('deleteStandard', standard)
  }

  async listStandards(tenant: string): Promise<Standard[]> {
    const sql = `SELECT * FROM standards s WHERE tenant IN (?, '') AND deleted_at IS NULL AND version = (
                    SELECT max(version) FROM standards
                     WHERE tenant = s.tenant AND kind = s.kind AND id = s.id)
                  ORDER BY kind, id, tenant`
    return this.reader.all(sql, tenant).map(toStandard)
  }

  async readGateRows(runId: string): Promise<GateRows> {
    return readGateRows(this.reader, runId)
  }

  async listVerdicts(query: VerdictQuery): Promise<VerdictRow[]> {
    const { sql, parameters } = listVerdictsQuery(query)
    return this.reader.all(sql, ...parameters).map(row => ({ ...row }) as VerdictRow)
  }

  async getReceipt({ tenant, endpoint, key }: ReceiptKey): Promise<Receipt | undefined> {
    const sql = 'SELECT * FROM receipts WHERE tenant = ? AND endpoint = ? AND key = ?'
    const row = this.reader.get(sql, tenant, endpoint, key)
    return row && toReceipt(row)
  }

  async claimReceipt(receipt: Receipt, now: number): Promise<{ claimed: true } | { claimed: false; receipt: Receipt }> {
    const existing = await this.write('claimReceipt', { receipt, now, claim: claimToken() })
    return existing ? { claimed: false, receipt: existing } : { claimed: true }
  }

  finishReceipt(receipt: Receipt): Promise<void> {
    return this.write('finishReceipt', receipt)
  }

  deleteReceipt(key: ReceiptKey): Promise<void> {
    return this.write('deleteReceipt', key)
  }

  purgeReceipts(olderThan: number): Promise<number> {
    return this.#purge('purgeReceipts', olderThan)
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
    return toOutcome(this.reader.get('SELECT outcome FROM invocations WHERE id = ?', id))
  }

  async findAnswer(tenant: string, cacheKey: string): Promise<Json | undefined> {
    const sql = `SELECT outcome FROM invocations WHERE tenant = ? AND cache_key = ? ORDER BY at DESC, id DESC LIMIT 1`
    return toOutcome(this.reader.get(sql, tenant, cacheKey))
  }

  putKey(key: ApiKey): Promise<void> {
    return this.write('putKey', key)
  }

  async listKeys(): Promise<ApiKey[]> {
    return this.reader.all('SELECT * FROM api_keys ORDER BY key_id').map(toKey)
  }

  async findKey(hash: string): Promise<ApiKey | undefined> {
    const row = this.reader.get('SELECT * FROM api_keys WHERE hash = ?', hash)
    return row && toKey(row)
  }

  putWebhook(webhook: Webhook): Promise<void> {
    return this.write('putWebhook', webhook)
  }

  deleteWebhook(tenant: string, webhookId: string): Promise<boolean> {
    return this.write('deleteWebhook', { tenant, webhookId })
  }

  async listWebhooks(tenant: string | null): Promise<Webhook[]> {
    const sql = 'SELECT * FROM webhooks WHERE ?1 IS NULL OR tenant = ?1 ORDER BY created_at, webhook_id'
    return this.reader.all(sql, tenant).map(toWebhook)
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
    return this.reader.get('SELECT min(due_at) AS at FROM lanes')?.at as number | null
  }

  async listDeliveries(tenant: string, webhookId: string, limit: number): Promise<Delivery[]> {
    const sql = `SELECT * FROM deliveries WHERE webhook_id = ? AND tenant = ?
                  ORDER BY at DESC, run_id DESC, seq DESC LIMIT ?`
    return this.reader.all(sql, webhookId, tenant, limit).map(toDelivery)
  }

  purgeDeliveries(olderThan: number): Promise<number> {
    return this.#purge('purgeDeliveries', olderThan)
  }

  async unsealedRuns(limit: number): Promise<SealedRun[]> {
    const sql = `SELECT run_id AS runId, length, head FROM runs
                  WHERE ended_at IS NOT NULL AND checkpoint IS NULL AND head <> '' ORDER BY ended_at, run_id LIMIT ?`
    return this.reader.all(sql, limit).map(row => ({ ...row }) as SealedRun)
  }

  putCheckpoint(checkpoint: Checkpoint): Promise<boolean> {
    return this.write('putCheckpoint', checkpoint)
  }

  async listCheckpoints(from: number, limit: number): Promise<Checkpoint[]> {
    const sql = 'SELECT * FROM checkpoints WHERE seq >= ? ORDER BY seq LIMIT ?'
    return this.reader.all(sql, from, limit).map(toCheckpoint)
  }

  async latestCheckpoint(): Promise<Checkpoint | undefined> {
    const row = this.reader.get('SELECT * FROM checkpoints ORDER BY seq DESC LIMIT 1')
    return row && toCheckpoint(row)
  }

  onHint(listener: (runId: string) => void): () => void {
    return this.#hints.on(listener)
  }

  async ping(): Promise<void> {
    this.reader.get('SELECT max(version) FROM migrations')
  }

  /** The writer last: the last connection to leave folds the write-ahead log into the database. */
  async close(): Promise<void> {
    this.reader.close()
    await this.writer.close()
  }

  /** In steps, so that a large purge does not hold up appends. */
  async #purge(task: 'purgeReceipts' | 'purgeEffects' | 'purgeDeliveries', olderThan: number): Promise<number> {
    let purged = 0
    for (let step = PURGE_STEP; step === PURGE_STEP; purged += step) {
      step = await this.write(task, { olderThan, limit: PURGE_STEP })
    }
    return purged
  }
}
