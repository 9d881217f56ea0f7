import type { Json } from '../../core/json.js'
import { present } from '../../core/present.js'
import { EQUAL_WEIGHTS, type TenantUsage } from '../../core/quotas.js'
import type { Checkpoint, SealedRun } from '../../engine/ports/audit.js'
import type * as Delivering from '../../engine/ports/deliveries.js'
import type { ClaimResult, EffectClaim } from '../../engine/ports/effect-ledger.js'
import type { Commit, CommitResult, Snapshot, StoredEvent } from '../../engine/ports/event-log.js'
import type { GateRows } from '../../engine/ports/gate-rows.js'
import type { ApiKey } from '../../engine/ports/keys.js'
import type { RememberedResponse, ResponseKey } from '../../engine/ports/remembered-responses.js'
import type { ExpiredRun, ExpiredRuns, PurgedRun, PurgeResult } from '../../engine/ports/retention.js'
import type { ChildRow, DueRun, RunQuery, RunRow, VerdictQuery, VerdictRow } from '../../engine/ports/run-index.js'
import type { NewStandard, Standard } from '../../engine/ports/standards.js'
import type { Store } from '../../engine/ports/store.js'
import type { ErasedEvent, EraseResult, Erasure, ErasureMark, RunToErase } from '../../engine/ports/tenants.js'
import type { WorkflowRecord } from '../../engine/ports/workflows.js'
import { checkCommit } from '../check-commit.js'
import { LocalHints } from '../local-hints.js'
import { countWithin } from '../page-size.js'
import { mayReplace, responseKey } from '../response-rules.js'
import { refuseControls } from '../storable-text.js'
import * as checkpoints from './checkpoints.js'
import { applyCommit, usageOf } from './commit.js'
import * as deliveries from './deliveries.js'
import * as erasures from './erasures.js'
import { gateRowsOf, listVerdicts } from './gates.js'
import * as hosts from './hosts.js'
import * as invocations from './invocations.js'
import { MemoryJournal } from './journal.js'
import { listRuns } from './list-runs.js'
import { readLog, readSnapshot } from './log.js'
import * as purges from './purges.js'
import * as standards from './standards.js'

/**
 * The reference implementation of the Store contract: all of its rules, none of its durability. Several engines may
 * share one instance. `close` keeps the data, so that a test can restart a host on the same instance.
 */
export class MemoryStore extends MemoryJournal implements Store {
  readonly #hints = new LocalHints()

  async commit(commit: Commit): Promise<CommitResult> {
    checkCommit(commit)
    const result = applyCommit(this.tables, commit)
    if (result.kind === 'committed') this.#hints.committed(commit)
    return result
  }

  async readEvents(
    runId: string,
    from: number,
    limit = Number.POSITIVE_INFINITY,
    maxBytes = Number.POSITIVE_INFINITY,
  ): Promise<StoredEvent[]> {
    const events = readLog(this.tables, runId, from, limit)
    const bytes = ({ payload, secret }: StoredEvent) => Buffer.byteLength(payload) + Buffer.byteLength(secret ?? '')
    return maxBytes === Number.POSITIVE_INFINITY ? events : events.slice(0, countWithin(events.map(bytes), maxBytes))
  }

  async readSnapshot(runId: string, upTo: number): Promise<Snapshot | undefined> {
    return readSnapshot(this.tables, runId, upTo)
  }

  async readRun(tenant: string | null, runId: string): Promise<RunRow | undefined> {
    const run = this.tables.purged.has(runId) ? undefined : this.tables.runs.get(runId)
    if (tenant === null) return run
    return run?.tenant === tenant && !this.tables.erasures.has(tenant) ? run : undefined
  }

  async listRuns(query: RunQuery): Promise<RunRow[]> {
    return listRuns(this.tables, query)
  }

  async childrenOf(runId: string, limit: number, except: readonly string[] = []): Promise<ChildRow[]> {
    const children = purges
      .visibleRuns(this.tables)
      .filter(run => run.parentRunId === runId && !except.includes(run.workflowId))
    const latest = children.sort((a, b) => (a.runId < b.runId ? -1 : 1)).slice(-limit)
    return latest.map(child => ({ runId: child.runId, status: child.status }))
  }

  async dueRuns(hostId: string, now: number, limit: number, weights = EQUAL_WEIGHTS): Promise<DueRun[]> {
    return hosts.dueRuns(this.tables, hostId, now, limit, weights)
  }

  async usageOf(tenant: string): Promise<TenantUsage> {
    return usageOf(this.tables, tenant)
  }

  async registerHost(host: hosts.Registration): Promise<void> {
    refuseControls(host)
    hosts.registerHost(this.tables, host)
    this.#hints.registered(host.hostName, host.hostId)
  }

  async heartbeat(hostId: string, leaseMs: number, now: number): Promise<boolean> {
    return hosts.heartbeat(this.tables, hostId, leaseMs, now)
  }

  async releaseHost(hostId: string): Promise<void> {
    hosts.releaseHost(this.tables, hostId)
    this.#hints.released(hostId)
  }

  async lastingId(wanted: { readonly id: string; readonly given: boolean }): Promise<string> {
    refuseControls(wanted)
    return hosts.lastingId(this.tables, wanted)
  }

  async claimOrphans(hostId: string, now: number, limit: number, weights = EQUAL_WEIGHTS): Promise<number> {
    return hosts.claimOrphans(this.tables, hostId, now, limit, weights)
  }

  async putWorkflow({ definition, ...record }: WorkflowRecord): Promise<void> {
    refuseControls(record)
    erasures.refuseErased(this.tables, record.tenant)
    const { definitions, workflows } = this.tables
    if (!definitions.has(record.digest)) definitions.set(record.digest, definition)
    workflows.set(JSON.stringify([record.tenant, record.workflowId]), record)
  }

  async getWorkflow(tenant: string, workflowId: string): Promise<WorkflowRecord | undefined> {
    return this.#workflow(tenant, workflowId) ?? this.#workflow(null, workflowId)
  }

  async listWorkflows(tenant: string): Promise<WorkflowRecord[]> {
    const rows = [...this.tables.workflows.values()].filter(row => row.tenant === tenant || row.tenant === null)
    const ids = [...new Set(rows.map(row => row.workflowId))].sort()
    return ids.flatMap(id => this.#workflow(tenant, id) ?? this.#workflow(null, id) ?? [])
  }

  async getDefinition(digest: string): Promise<string | undefined> {
    return this.tables.definitions.get(digest)
  }

  #workflow(tenant: string | null, workflowId: string): WorkflowRecord | undefined {
    const row = this.tables.workflows.get(JSON.stringify([tenant, workflowId]))
    return row && { ...row, definition: present(this.tables.definitions.get(row.digest), `definition ${row.digest}`) }
  }

  async putStandard(record: NewStandard): Promise<number> {
    refuseControls(record)
    erasures.refuseErased(this.tables, record.tenant)
    return standards.putStandard(this.tables, record)
  }

  async deleteStandard(standard: Parameters<Store['deleteStandard']>[0]): Promise<boolean> {
    return standards.deleteStandard(this.tables, standard)
  }

  async listStandards(tenant: string): Promise<Standard[]> {
    return standards.listStandards(this.tables, tenant)
  }

  async listVerdicts(query: VerdictQuery): Promise<VerdictRow[]> {
    return listVerdicts(this.tables, query)
  }

  async readGateRows(runId: string): Promise<GateRows> {
    return gateRowsOf(this.tables, runId)
  }

  async getResponse(key: ResponseKey): Promise<RememberedResponse | undefined> {
    return this.tables.responses.get(responseKey(key))
  }

  async claimResponse(
    response: RememberedResponse,
    now: number,
  ): Promise<{ claimed: true } | { claimed: false; response: RememberedResponse }> {
    refuseControls(response)
    const existing = this.tables.responses.get(responseKey(response))
    if (existing && !mayReplace(existing, response.digest, now)) return { claimed: false, response: existing }
    erasures.refuseErased(this.tables, response.tenant)
    this.tables.responses.set(responseKey(response), response)
    return { claimed: true }
  }

  async finishResponse(response: RememberedResponse): Promise<void> {
    refuseControls(response)
    if (this.tables.erasures.has(response.tenant)) return
    const existing = this.tables.responses.get(responseKey(response))
    if (existing?.state === 'pending' && existing.leaseOwner === response.leaseOwner) {
      this.tables.responses.set(responseKey(response), response)
    }
  }

  async deleteResponse(key: ResponseKey): Promise<void> {
    this.tables.responses.delete(responseKey(key))
  }

  async purgeResponses(olderThan: number): Promise<number> {
    const old = [...this.tables.responses].filter(([, response]) => response.at < olderThan)
    for (const [key] of old) this.tables.responses.delete(key)
    return old.length
  }

  async claimEffect(claim: EffectClaim): Promise<ClaimResult> {
    refuseControls(claim)
    erasures.refuseErased(this.tables, claim.tenant)
    return invocations.claimEffect(this.tables, claim)
  }

  async finishEffect(id: string, hostId: string, outcome: Json, cacheKey?: string): Promise<void> {
    invocations.finishEffect(this.tables, id, hostId, { outcome, cacheKey })
  }

  async releaseEffect(id: string, hostId: string): Promise<void> {
    invocations.releaseEffect(this.tables, id, hostId)
  }

  async abandonEffect(id: string, hostId: string): Promise<void> {
    invocations.abandonEffect(this.tables, id, hostId)
  }

  async readEffect(id: string): Promise<Json | undefined> {
    return invocations.readEffect(this.tables, id)
  }

  async findAnswer(tenant: string, cacheKey: string): Promise<Json | undefined> {
    return invocations.findAnswer(this.tables, tenant, cacheKey)
  }

  async purgeEffects(olderThan: number): Promise<number> {
    return invocations.purgeEffects(this.tables, olderThan)
  }

  async putKey(key: ApiKey): Promise<void> {
    refuseControls(key)
    erasures.refuseErased(this.tables, key.tenant)
    const known = await this.findKey(key.hash)
    if (known && known.keyId !== key.keyId) throw new Error('another API key has the same hash')
    this.tables.keys.set(key.keyId, key)
  }

  async listKeys(): Promise<ApiKey[]> {
    return [...this.tables.keys.values()].sort((a, b) => (a.keyId < b.keyId ? -1 : 1))
  }

  async findKey(hash: string): Promise<ApiKey | undefined> {
    return [...this.tables.keys.values()].find(key => key.hash === hash)
  }

  async putWebhook(webhook: Delivering.Webhook): Promise<void> {
    refuseControls(webhook)
    erasures.refuseErased(this.tables, webhook.tenant)
    this.tables.webhooks.set(webhook.webhookId, webhook)
  }

  async deleteWebhook(tenant: string, webhookId: string): Promise<boolean> {
    return deliveries.deleteWebhook(this.tables, tenant, webhookId)
  }

  async listWebhooks(tenant: string | null): Promise<Delivering.Webhook[]> {
    const found = [...this.tables.webhooks.values()].filter(one => tenant === null || one.tenant === tenant)
    return found.sort((a, b) => a.createdAt - b.createdAt || (a.webhookId < b.webhookId ? -1 : 1))
  }

  async putWebhookHealth(webhookId: string, health: Delivering.WebhookHealth): Promise<void> {
    const webhook = this.tables.webhooks.get(webhookId)
    if (webhook) this.tables.webhooks.set(webhookId, { ...webhook, health })
  }

  async putWebhookSecret(webhookId: string, secret: string): Promise<void> {
    refuseControls(secret)
    const webhook = this.tables.webhooks.get(webhookId)
    if (webhook) this.tables.webhooks.set(webhookId, { ...webhook, secret })
  }

  async claimDeliveries(
    claim: Parameters<Delivering.DeliveryQueue['claimDeliveries']>[0],
  ): Promise<Delivering.Delivery[]> {
    return deliveries.claimDeliveries(this.tables, claim)
  }

  async finishDelivery(done: Parameters<Delivering.DeliveryQueue['finishDelivery']>[0]): Promise<void> {
    deliveries.finishDelivery(this.tables, done)
  }

  async retryDelivery(again: Parameters<Delivering.DeliveryQueue['retryDelivery']>[0]): Promise<void> {
    deliveries.retryDelivery(this.tables, again)
  }

  async postponeDeliveries(webhookId: string, until: number): Promise<void> {
    deliveries.postponeDeliveries(this.tables, webhookId, until)
  }

  async nextDeliveryAt(): Promise<number | null> {
    let next: number | null = null
    for (const { dueAt } of this.tables.lanes.values()) next = Math.min(next ?? dueAt, dueAt)
    return next
  }

  async listDeliveries(tenant: string, webhookId: string, limit: number): Promise<Delivering.Delivery[]> {
    return deliveries.listDeliveries(this.tables, tenant, webhookId, limit)
  }

  async purgeDeliveries(olderThan: number): Promise<number> {
    return deliveries.purgeDeliveries(this.tables, olderThan)
  }

  async unsealedRuns(limit: number): Promise<SealedRun[]> {
    return checkpoints.unsealedRuns(this.tables, limit)
  }

  async putCheckpoint(checkpoint: Checkpoint): Promise<boolean> {
    return checkpoints.putCheckpoint(this.tables, checkpoint)
  }

  async listCheckpoints(from: number, limit: number): Promise<Checkpoint[]> {
    return checkpoints.checkpointsFrom(this.tables, from).slice(0, limit)
  }

  async latestCheckpoint(): Promise<Checkpoint | undefined> {
    return checkpoints.checkpointsFrom(this.tables, 0).at(-1)
  }

  async expiredRoots(query: ExpiredRuns): Promise<ExpiredRun[]> {
    return purges.expiredRoots(this.tables, query)
  }

  async purgeFamily(rootRunId: string, at: number): Promise<PurgeResult> {
    return purges.purgeFamily(this.tables, rootRunId, at)
  }

  async unsealedPurges(limit: number): Promise<SealedRun[]> {
    return purges.unsealedPurges(this.tables, limit)
  }

  async claimPurge(claim: { hostId: string; now: number; leaseMs: number }): Promise<string | undefined> {
    return purges.claimPurge(this.tables, claim)
  }

  async deletePurged(rootRunId: string, hostId: string, limit: number): Promise<'more' | 'done' | 'lost'> {
    return purges.deletePurged(this.tables, rootRunId, hostId, limit)
  }

  async readPurged(tenant: string | null, runId: string): Promise<PurgedRun | undefined> {
    return purges.readPurged(this.tables, tenant, runId)
  }

  async readDataKey(tenant: string): Promise<string | undefined> {
    return this.tables.dataKeys.get(tenant)
  }

  async putDataKey(tenant: string, wrapped: string): Promise<string> {
    refuseControls([tenant, wrapped])
    return erasures.putDataKey(this.tables, tenant, wrapped)
  }

  async eraseTenants(marks: readonly ErasureMark[]): Promise<EraseResult> {
    refuseControls(marks.map(({ tenant }) => tenant))
    return erasures.eraseTenants(this.tables, marks)
  }

  async readErasure(name: string): Promise<Erasure | undefined> {
    const row = this.tables.erasures.get(name)
    if (row === undefined) return undefined
    const { tenant, askedAt, erasedAt, keyId, signature } = row
    return { tenant, askedAt, erasedAt, keyId, signature }
  }

  async claimErasure(claim: Parameters<Store['claimErasure']>[0]): Promise<string | undefined> {
    return erasures.claimErasure(this.tables, claim)
  }

  async nextToErase(tenant: string): Promise<RunToErase | undefined> {
    return erasures.nextToErase(this.tables, tenant)
  }

  async eraseEvents(erasing: Parameters<Store['eraseRun']>[0], events: readonly ErasedEvent[]): Promise<boolean> {
    return erasures.eraseEvents(this.tables, erasing, events)
  }

  async eraseRun(erasing: Parameters<Store['eraseRun']>[0]): Promise<boolean> {
    return erasures.eraseRun(this.tables, erasing)
  }

  async finishErasure(erasing: Parameters<Store['finishErasure']>[0]): Promise<'more' | 'done' | 'lost'> {
    return erasures.finishErasure(this.tables, erasing)
  }

  onHint(listener: (runId: string) => void): () => void {
    return this.#hints.on(listener)
  }

  async ping(): Promise<void> {
    // A map is always reachable.
  }

  async close(): Promise<void> {
    // Nothing to give back; see the class comment.
  }
}
