import { present } from '../../core/present.js'
import type { SealedRun } from '../../engine/ports/audit.js'
import type { ExpiredRun, ExpiredRuns, PurgedRun, PurgeResult, RetentionStore } from '../../engine/ports/retention.js'
import type {
  DataKeyStore,
  ErasedEvent,
  EraseResult,
  Erasing,
  Erasure,
  RunToErase,
  TenantStore,
} from '../../engine/ports/tenants.js'
import { foundBy } from '../storable-text.js'
import type { Connections, Row, Statement } from './connections.js'
import { SQL } from './statements.js'

type Progress = 'more' | 'done' | 'lost'
type Claim = { readonly hostId: string; readonly now: number; readonly leaseMs: number }

/** The part of the store that says how long things are kept: retention of runs, keys and the erasure of tenants. */
export class PostgresKeeping implements RetentionStore, DataKeyStore, TenantStore {
  constructor(protected readonly connections: Connections) {}

  expiredRoots(query: ExpiredRuns): Promise<ExpiredRun[]> {
    const { tenant, exceptTenants = [], workflowId, exceptWorkflows = [], endedBefore, after, limit } = query
    const from = [after?.endedAt ?? Number.MIN_SAFE_INTEGER, after?.runId ?? '']
    const filters = [tenant ?? null, workflowId ?? null, exceptTenants, exceptWorkflows]
    return this.readAll(SQL.expiredRoots, endedBefore, ...from, ...filters, limit)
  }

  async purgeFamily(rootRunId: string, at: number): Promise<PurgeResult> {
    return (await this.answer<{ result: PurgeResult }>(SQL.purgeFamily, rootRunId, at)).result
  }

  unsealedPurges(limit: number): Promise<SealedRun[]> {
    return this.readAll(SQL.unsealedPurges, limit)
  }

  async claimPurge({ hostId, now, leaseMs }: Claim): Promise<string | undefined> {
    return (await this.answer<{ root: string | null }>(SQL.claimPurge, hostId, now, leaseMs)).root ?? undefined
  }

  async deletePurged(rootRunId: string, hostId: string, limit: number): Promise<Progress> {
    return (await this.answer<{ result: Progress }>(SQL.deletePurged, rootRunId, hostId, limit)).result
  }

  readPurged(tenant: string | null, runId: string): Promise<PurgedRun | undefined> {
    return this.readOne(SQL.readPurged, runId, tenant)
  }

  async readDataKey(tenant: string): Promise<string | undefined> {
    return (await this.readOne<{ wrapped: string }>(SQL.readDataKey, tenant))?.wrapped
  }

  async putDataKey(tenant: string, wrapped: string): Promise<string> {
    await this.all(SQL.putDataKey, tenant, wrapped)
    // Another host may have been first. Gone since: the tenant is being erased, and the next use is refused.
    return (await this.readDataKey(tenant)) ?? wrapped
  }

  async eraseTenants(tenants: readonly string[], at: number): Promise<EraseResult> {
    const { runs } = await this.answer<{ runs: number }>(SQL.eraseTenants, tenants, at)
    return runs === 0 ? { kind: 'marked' } : { kind: 'open', runs }
  }

  readErasure(tenant: string): Promise<Erasure | undefined> {
    return this.readOne(SQL.readErasure, tenant)
  }

  async claimErasure({ hostId, now, leaseMs }: Claim): Promise<string | undefined> {
    return (await this.answer<{ tenant: string | null }>(SQL.claimErasure, hostId, now, leaseMs)).tenant ?? undefined
  }

  nextToErase(tenant: string): Promise<RunToErase | undefined> {
    return this.readOne(SQL.nextToErase, tenant)
  }

  async eraseEvents(
    { tenant, hostId, runId }: Erasing & { readonly runId: string },
    events: readonly ErasedEvent[],
  ): Promise<boolean> {
    const [sequences, left] = [events.map(event => event.sequence), events.map(event => event.erased)]
    return (await this.answer<{ held: boolean }>(SQL.eraseEvents, tenant, hostId, runId, sequences, left)).held
  }

  async eraseRun({ tenant, hostId, runId }: Erasing & { readonly runId: string }): Promise<boolean> {
    return (await this.answer<{ held: boolean }>(SQL.eraseRun, tenant, hostId, runId)).held
  }

  async finishErasure(erasing: Erasing & { readonly at: number; readonly limit: number }): Promise<Progress> {
    const { tenant, hostId, at, limit } = erasing
    return (await this.answer<{ result: Progress }>(SQL.finishErasure, tenant, hostId, at, limit)).result
  }

  /** By a text that cannot be stored nothing is found (S11). */
  protected readAll<T>(statement: Statement, ...values: unknown[]): Promise<T[]> {
    return foundBy(() => this.all<T>(statement, ...values), [])
  }

  protected async readOne<T>(statement: Statement, ...values: unknown[]): Promise<T | undefined> {
    return (await this.readAll<T>(statement, ...values))[0]
  }

  protected all<T>(statement: Statement, ...values: unknown[]): Promise<T[]> {
    return this.connections.query<T & Row>(statement, values)
  }

  /** Of a statement that always gives a row. */
  protected async answer<T>(statement: Statement, ...values: unknown[]): Promise<T> {
    return present(await this.one<T>(statement, ...values), 'row of a statement that always gives one')
  }

  protected async one<T>(statement: Statement, ...values: unknown[]): Promise<T | undefined> {
    return (await this.all<T>(statement, ...values))[0]
  }
}
