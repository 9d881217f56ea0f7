import type { SealedRun } from '../../engine/ports/audit.js'
import type { ExpiredRun, ExpiredRuns, PurgedRun, PurgeResult, RetentionStore } from '../../engine/ports/retention.js'
import type {
  DataKeyStore,
  ErasedEvent,
  EraseResult,
  Erasing,
  Erasure,
  ErasureMark,
  RunToErase,
  TenantStore,
} from '../../engine/ports/tenants.js'
import type { Queries } from './queries.js'
import { SQL } from './statements.js'

type Progress = 'more' | 'done' | 'lost'
type Claim = { readonly hostId: string; readonly now: number; readonly leaseMs: number }

/** The part of the store that says how long things are kept: retention of runs, keys and the erasure of tenants. */
export class PostgresKeeping implements RetentionStore, DataKeyStore, TenantStore {
  constructor(protected readonly queries: Queries) {}

  expiredRoots(query: ExpiredRuns): Promise<ExpiredRun[]> {
    const { tenant, exceptTenants = [], workflowId, exceptWorkflows = [], endedBefore, after, limit } = query
    const from = [after?.endedAt ?? Number.MIN_SAFE_INTEGER, after?.runId ?? '']
    const filters = [tenant ?? null, workflowId ?? null, exceptTenants, exceptWorkflows]
    return this.queries.readAll(SQL.expiredRoots, endedBefore, ...from, ...filters, limit)
  }

  async purgeFamily(rootRunId: string, at: number): Promise<PurgeResult> {
    return (await this.queries.answer<{ result: PurgeResult }>(SQL.purgeFamily, rootRunId, at)).result
  }

  unsealedPurges(limit: number): Promise<SealedRun[]> {
    return this.queries.readAll(SQL.unsealedPurges, limit)
  }

  async claimPurge({ hostId, now, leaseMs }: Claim): Promise<string | undefined> {
    return (await this.queries.answer<{ root: string | null }>(SQL.claimPurge, hostId, now, leaseMs)).root ?? undefined
  }

  async deletePurged(rootRunId: string, hostId: string, limit: number): Promise<Progress> {
    return (await this.queries.answer<{ result: Progress }>(SQL.deletePurged, rootRunId, hostId, limit)).result
  }

  readPurged(tenant: string | null, runId: string): Promise<PurgedRun | undefined> {
    return this.queries.readOne(SQL.readPurged, runId, tenant)
  }

  async readDataKey(tenant: string): Promise<string | undefined> {
    return (await this.queries.readOne<{ wrapped: string }>(SQL.readDataKey, tenant))?.wrapped
  }

  async putDataKey(tenant: string, wrapped: string): Promise<string> {
    await this.queries.all(SQL.putDataKey, tenant, wrapped)
    // Another host may have been first. Gone since: the tenant is being erased, and the next use is refused.
    return (await this.readDataKey(tenant)) ?? wrapped
  }

  async eraseTenants(marks: readonly ErasureMark[]): Promise<EraseResult> {
    const { runs } = await this.queries.answer<{ runs: number }>(
      SQL.eraseTenants,
      marks.map(({ tenant }) => tenant),
      marks.map(({ askedAt }) => askedAt),
      marks.map(({ keyId }) => keyId),
      marks.map(({ signature }) => signature),
    )
    return runs === 0 ? { kind: 'marked' } : { kind: 'open', runs }
  }

  readErasure(tenant: string): Promise<Erasure | undefined> {
    return this.queries.readOne(SQL.readErasure, tenant)
  }

  async claimErasure({ hostId, now, leaseMs }: Claim): Promise<string | undefined> {
    return (
      (await this.queries.answer<{ tenant: string | null }>(SQL.claimErasure, hostId, now, leaseMs)).tenant ?? undefined
    )
  }

  nextToErase(tenant: string): Promise<RunToErase | undefined> {
    return this.queries.readOne(SQL.nextToErase, tenant)
  }

  async eraseEvents(
    { tenant, hostId, runId }: Erasing & { readonly runId: string },
    events: readonly ErasedEvent[],
  ): Promise<boolean> {
    const [sequences, left] = [events.map(event => event.sequence), events.map(event => event.erased)]
    return (await this.queries.answer<{ held: boolean }>(SQL.eraseEvents, tenant, hostId, runId, sequences, left)).held
  }

  async eraseRun({ tenant, hostId, runId }: Erasing & { readonly runId: string }): Promise<boolean> {
    return (await this.queries.answer<{ held: boolean }>(SQL.eraseRun, tenant, hostId, runId)).held
  }

  async finishErasure(erasing: Erasing & { readonly at: number; readonly limit: number }): Promise<Progress> {
    const { tenant, hostId, at, limit } = erasing
    return (await this.queries.answer<{ result: Progress }>(SQL.finishErasure, tenant, hostId, at, limit)).result
  }
}
