import type { Json } from '../../core/json.js'
import { EQUAL_WEIGHTS, type TenantUsage } from '../../core/quotas.js'
import { WAKE_NOW } from '../../core/run/wake-time.js'
import type { Checkpoint, SealedRun } from '../../engine/ports/audit.js'
import type * as Delivering from '../../engine/ports/deliveries.js'
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
import { countWithin } from '../page-size.js'
import { CommitBatches } from './commit-batches.js'
import { Connections, type Settings } from './connections.js'
import { Hints } from './hints.js'
import { PostgresJournal } from './journal.js'
import { migrate } from './migrate.js'
import { probeConnections, probeTables, withSessions } from './probe.js'
import { Queries } from './queries.js'
import { SQL } from './statements.js'
import { responseValues, tryValues } from './values.js'

export type PostgresStoreOptions = {
  /** Holds all of Assay's tables; created if absent. Default `assay`. */
  readonly schema?: string
  /** `url` leads to a pooler in transaction mode, such as PgBouncer. Default false. */
  readonly pooled?: boolean
  /** The server itself, for LISTEN and migrations, where `url` leads to a pooler. */
  readonly directUrl?: string
  /** Connections at most, without the one for hints. Default 10. */
  readonly poolSize?: number
  /** Commit calls under way at once; more may pay off when the database is far away. Default 2. */
  readonly commitCalls?: number
  /** Default 5000. */
  readonly statementTimeoutMs?: number
  /** How long an unknown outcome is looked into before StoreUnavailable. Default 5000. */
  readonly patienceMs?: number
}

/**
 * Connects, creating or migrating the schema first. Rejects when it is newer than this program, and when the database,
 * or the way to it, is not what it must be.
 */
export async function openPostgresStore(url: string, options: PostgresStoreOptions = {}): Promise<PostgresStore> {
  const schema = options.schema ?? 'assay'
  if (!/^[a-z_][a-z0-9_]{0,50}$/.test(schema)) throw new Error(`"${schema}" cannot be the name of a schema`)
  const settings: Settings = {
    url,
    directUrl: options.directUrl,
    pooled: options.pooled ?? false,
    schema,
    poolSize: options.poolSize ?? 10,
    statementTimeoutMs: options.statementTimeoutMs ?? 5_000,
    patienceMs: options.patienceMs ?? 5_000,
  }
  await withSessions(settings, async sessions => {
    await probeConnections(settings, sessions)
    await migrate(settings)
    await probeTables(settings, sessions)
  })
  return new PostgresStore(settings, options.commitCalls ?? 2)
}

/** The store for many hosts: one round trip per append, leases by the database's clock, hints by LISTEN/NOTIFY. */
export class PostgresStore extends PostgresJournal implements Store {
  readonly #connections: Connections
  readonly #batches: CommitBatches
  readonly #hints: Hints
  readonly #tokens = new ClaimTokens()
  #commits = 0

  /** Use `openPostgresStore`; this expects a schema that is up to date. */
  constructor(settings: Settings, commitCalls: number) {
    const connections = new Connections(settings)
    super(new Queries(connections))
    this.#connections = connections
    this.#hints = new Hints(settings)
    this.#batches = new CommitBatches(this.#connections, commitCalls, commits => this.#hints.committed(commits))
  }

  /** Commits asked for, and the calls that carried them. */
  get counters(): { readonly commits: number; readonly transactions: number } {
    return { commits: this.#commits, transactions: this.#batches.calls }
  }

  async commit(commit: Commit): Promise<CommitResult> {
    checkCommit(commit)
    this.#commits += 1
    return this.#batches.run(commit)
  }

  async readEvents(runId: string, from: number, limit?: number, maxBytes?: number): Promise<StoredEvent[]> {
    if (maxBytes === undefined) return this.queries.readAll(SQL.readEvents, runId, from, limit ?? null)
    const rows = await this.queries.readAll<{ readonly bytes: number }>(SQL.readEventSizes, runId, from, limit ?? null)
    const fitting = countWithin(
      rows.map(({ bytes }) => bytes),
      maxBytes,
    )
    return this.queries.readAll(SQL.readEvents, runId, from, fitting)
  }

  readSnapshot(runId: string, upTo: number): Promise<Snapshot | undefined> {
    return this.queries.readOne(SQL.readSnapshot, runId, upTo)
  }

  readRun(tenant: string | null, runId: string): Promise<RunRow | undefined> {
    return this.queries.readOne(SQL.readRun, tenant, runId)
  }

  listRuns({ tenant, before, workflowId, parentRunId, status, tag, except, limit }: RunQuery): Promise<RunRow[]> {
    const filters = [before, workflowId, parentRunId, status, tag, except].map(value => value ?? null)
    return this.queries.readAll(SQL.listRuns, tenant, ...filters, limit)
  }

  async childrenOf(runId: string, limit: number, except: readonly string[] = []): Promise<ChildRow[]> {
    return (await this.queries.readAll<ChildRow>(SQL.childrenOf, runId, except, limit)).reverse()
  }

  dueRuns(hostId: string, now: number, limit: number, weights = EQUAL_WEIGHTS): Promise<DueRun[]> {
    return this.queries.readAll(SQL.dueRuns, hostId, now, limit, JSON.stringify(weights))
  }

  usageOf(tenant: string): Promise<TenantUsage> {
    return this.queries.answer(SQL.usageOf, tenant)
  }

  async registerHost({ hostId, hostName, leaseMs }: Parameters<Store['registerHost']>[0]): Promise<void> {
    const { state } = await this.queries.answer<{ state: string }>(SQL.registerHost, hostId, hostName, leaseMs)
    if (state !== 'alive') throw new Error(`host ${hostId} was ${state}: register under a new id`)
  }

  async heartbeat(hostId: string, leaseMs: number): Promise<boolean> {
    return (await this.queries.one(SQL.heartbeat, hostId, leaseMs)) !== undefined
  }

  async releaseHost(hostId: string): Promise<void> {
    await this.queries.all(SQL.releaseHost, hostId)
  }

  async lastingId({ id, given }: Parameters<Store['lastingId']>[0]): Promise<string> {
    return (await this.queries.answer<{ hostId: string }>(SQL.lastingId, id, given)).hostId
  }

  async claimOrphans(hostId: string, _now: number, limit: number, weights = EQUAL_WEIGHTS): Promise<number> {
    await this.queries.all(SQL.foldUsage)
    await this.queries.all(SQL.fenceExpired, hostId)
    const values = [hostId, WAKE_NOW, limit, JSON.stringify(weights)]
    return (await this.queries.answer<{ claimed: number }>(SQL.claimOrphans, ...values)).claimed
  }

  async putWorkflow({ tenant, workflowId, digest, definition, updatedAt }: WorkflowRecord): Promise<void> {
    await this.queries.all(SQL.putWorkflow, tenant ?? '', workflowId, digest, definition, updatedAt)
  }

  getWorkflow(tenant: string, workflowId: string): Promise<WorkflowRecord | undefined> {
    return this.queries.readOne(SQL.getWorkflow, tenant, workflowId)
  }

  listWorkflows(tenant: string): Promise<WorkflowRecord[]> {
    return this.queries.readAll(SQL.listWorkflows, tenant)
  }

  async getDefinition(digest: string): Promise<string | undefined> {
    return (await this.queries.readOne<{ definition: string }>(SQL.getDefinition, digest))?.definition
  }

  async putStandard({ tenant, kind, id, hash, body, updatedAt }: NewStandard): Promise<number> {
    const values = [tenant ?? '', kind, id, hash, body, updatedAt]
    return (await this.queries.answer<{ version: number }>(SQL.putStandard, ...values)).version
  }

  async deleteStandard({ tenant, kind, id, now }: Parameters<Store['deleteStandard']>[0]): Promise<boolean> {
    return (await this.queries.one(SQL.deleteStandard, tenant ?? '', kind, id, now)) !== undefined
  }

  listStandards(tenant: string): Promise<Standard[]> {
    return this.queries.readAll(SQL.listStandards, tenant)
  }

  listVerdicts({ tenant, gateId, since = 0, limit }: VerdictQuery): Promise<VerdictRow[]> {
    return gateId === undefined
      ? this.queries.readAll(SQL.listVerdicts, tenant, since, limit)
      : this.queries.readAll(SQL.listVerdictsOfGate, tenant, since, limit, gateId)
  }

  async readGateRows(runId: string): Promise<GateRows> {
    return {
      gated: await this.queries.readAll(SQL.readGated, runId),
      staged: await this.queries.readAll(SQL.readStaged, runId),
      verdicts: await this.queries.readAll(SQL.readJudged, runId),
      merges: await this.queries.readAll(SQL.readMerges, runId),
    }
  }

  getResponse({ tenant, endpoint, key }: ResponseKey): Promise<RememberedResponse | undefined> {
    return this.queries.readOne(SQL.getResponse, tenant, endpoint, key)
  }

  async claimResponse(
    response: RememberedResponse,
    now: number,
  ): Promise<{ claimed: true } | { claimed: false; response: RememberedResponse }> {
    const claim = claimToken()
    for (;;) {
      const claimed = await this.queries.one(SQL.claimResponse, ...responseValues(response), claim, now)
      if (claimed) return { claimed: true }
      const existing = await this.getResponse(response)
      // Absent: deleted since, so the claim is free again.
      if (existing) return { claimed: false, response: existing }
    }
  }

  async finishResponse(response: RememberedResponse): Promise<void> {
    await this.queries.all(SQL.finishResponse, ...responseValues(response))
  }

  async deleteResponse({ tenant, endpoint, key }: ResponseKey): Promise<void> {
    await this.queries.all(SQL.deleteResponse, tenant, endpoint, key)
  }

  purgeResponses(olderThan: number): Promise<number> {
    return this.queries.purge(SQL.purgeResponses, olderThan)
  }

  purgeEffects(olderThan: number): Promise<number> {
    return this.queries.purge(SQL.purgeEffects, olderThan)
  }

  async releaseEffect(id: string, hostId: string): Promise<void> {
    await this.queries.all(SQL.releaseEffect, id, hostId)
  }

  async abandonEffect(id: string, hostId: string): Promise<void> {
    await this.queries.all(SQL.abandonEffect, id, hostId)
  }

  async claimEffect(claim: EffectClaim): Promise<ClaimResult> {
    const { id, tenant, runId, nodeId, ordinal, provider, attempt, hostId, at } = claim
    const values = [id, tenant, runId, nodeId, ordinal, provider, attempt, hostId, at]
    const claimed = await this.#tokens.use(id, token =>
      this.queries.one<{ again: boolean }>(SQL.claimEffect, ...values, token),
    )
    if (claimed) return { kind: 'claimed', again: claimed.again }
    const outcome = await this.readEffect(id)
    return outcome === undefined ? { kind: 'in-flight' } : { kind: 'done', outcome }
  }

  async finishEffect(id: string, hostId: string, outcome: Json, cacheKey?: string): Promise<void> {
    await this.queries.all(SQL.finishEffect, id, hostId, JSON.stringify(outcome), cacheKey ?? null)
  }

  readEffect(id: string): Promise<Json | undefined> {
    return this.queries.outcome(SQL.readEffect, id)
  }

  findAnswer(tenant: string, cacheKey: string): Promise<Json | undefined> {
    return this.queries.outcome(SQL.findAnswer, tenant, cacheKey)
  }

  async putKey(key: ApiKey): Promise<void> {
    const { keyId, hash, tenant, principal, scopes, test, createdAt, expiresAt, revokedAt } = key
    const times = [createdAt, expiresAt, revokedAt]
    await this.queries.all(
      SQL.putKey,
      keyId,
      hash,
      tenant,
      principal,
      scopes,
      test,
      ...times,
      JSON.stringify(key.madeBy),
    )
  }

  listKeys(): Promise<ApiKey[]> {
    return this.queries.readAll(SQL.listKeys)
  }

  findKey(hash: string): Promise<ApiKey | undefined> {
    return this.queries.readOne(SQL.findKey, hash)
  }

  async appendTrail(record: TrailRecord): Promise<boolean> {
    const { tenant, seq, at, principal, credential, action, object, outcome, previous, hash } = record
    const what = [principal, credential, action, object, outcome, previous, hash]
    return (await this.queries.one(SQL.appendTrail, tenant, seq, at, ...what)) !== undefined
  }

  readTrail(tenant: string, { before = Number.MAX_SAFE_INTEGER, limit }: TrailQuery): Promise<TrailRecord[]> {
    return this.queries.readAll(SQL.readTrail, tenant, before, limit)
  }

  async putWebhook(webhook: Delivering.Webhook): Promise<void> {
    const { webhookId, tenant, url, events, tags, secret, createdAt, health } = webhook
    await this.queries.all(
      SQL.putWebhook,
      webhookId,
      tenant,
      url,
      events,
      tags,
      secret,
      createdAt,
      JSON.stringify(health),
    )
  }

  async deleteWebhook(tenant: string, webhookId: string): Promise<boolean> {
    return (await this.queries.answer<{ deleted: boolean }>(SQL.deleteWebhook, tenant, webhookId)).deleted
  }

  listWebhooks(tenant: string | null): Promise<Delivering.Webhook[]> {
    return this.queries.readAll(SQL.listWebhooks, tenant)
  }

  async putWebhookHealth(webhookId: string, health: Delivering.WebhookHealth): Promise<void> {
    await this.queries.all(SQL.putWebhookHealth, webhookId, JSON.stringify(health))
  }

  async putWebhookSecret(webhookId: string, secret: string): Promise<void> {
    await this.queries.all(SQL.putWebhookSecret, webhookId, secret)
  }

  claimDeliveries(claim: Parameters<Store['claimDeliveries']>[0]): Promise<Delivering.Delivery[]> {
    return this.queries.all(SQL.claimDeliveries, claim.hostId, claimToken(), claim.now, claim.leaseMs, claim.limit)
  }

  async finishDelivery(done: Parameters<Store['finishDelivery']>[0]): Promise<void> {
    await this.queries.all(SQL.finishDelivery, ...tryValues(done), done.state, done.at)
  }

  async retryDelivery(again: Parameters<Store['retryDelivery']>[0]): Promise<void> {
    await this.queries.all(SQL.retryDelivery, ...tryValues(again), again.dueAt)
  }

  async postponeDeliveries(webhookId: string, until: number): Promise<void> {
    await this.queries.all(SQL.postponeDeliveries, webhookId, until)
  }

  async nextDeliveryAt(): Promise<number | null> {
    return (await this.queries.readOne<{ at: number }>(SQL.nextDeliveryAt))?.at ?? null
  }

  listDeliveries(tenant: string, webhookId: string, limit: number): Promise<Delivering.Delivery[]> {
    return this.queries.readAll(SQL.listDeliveries, tenant, webhookId, limit)
  }

  purgeDeliveries(olderThan: number): Promise<number> {
    return this.queries.purge(SQL.purgeDeliveries, olderThan)
  }

  unsealedRuns(limit: number): Promise<SealedRun[]> {
    return this.queries.readAll(SQL.unsealedRuns, limit)
  }

  async putCheckpoint({ seq, at, keyId, prev, runs, purged, hash, signature }: Checkpoint): Promise<boolean> {
    const runIds = runs.map(({ runId }) => runId)
    const values = [seq, at, keyId, prev, JSON.stringify(runs), hash, signature, runIds, JSON.stringify(purged)]
    return (await this.queries.answer<{ stored: boolean }>(SQL.putCheckpoint, ...values)).stored
  }

  listCheckpoints(from: number, limit: number): Promise<Checkpoint[]> {
    return this.queries.readAll(SQL.listCheckpoints, from, limit)
  }

  latestCheckpoint(): Promise<Checkpoint | undefined> {
    return this.queries.readOne(SQL.latestCheckpoint)
  }

  onHint(listener: (runId: string) => void): () => void {
    return this.#hints.on(listener)
  }

  async ping(): Promise<void> {
    await this.queries.all(SQL.ping)
  }

  async close(): Promise<void> {
    await this.#batches.close()
    await this.#hints.close()
    await this.#connections.close()
  }
}
