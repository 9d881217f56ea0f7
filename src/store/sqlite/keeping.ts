import type { SealedRun } from '../../engine/ports/audit.js'
import { StoreUnavailable } from '../../engine/ports/event-log.js'
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
import { expiredRootsIn, purgedRunIn } from './read-purges.js'
import type { Reader } from './reader.js'
import { SQL } from './statements.js'
import type { TaskInput, TaskName, TaskResult } from './tasks.js'
import type { WriterThread } from './writer-thread.js'

/** The part of the store that says how long things are kept: retention of runs, keys and the erasure of tenants. */
export class SqliteKeeping implements RetentionStore, DataKeyStore, TenantStore {
  constructor(
    protected readonly reader: Reader,
    protected readonly writer: WriterThread,
  ) {}

  async expiredRoots(query: ExpiredRuns): Promise<ExpiredRun[]> {
    return expiredRootsIn(this.reader, query)
  }

  purgeFamily(rootRunId: string, at: number): Promise<PurgeResult> {
    return this.write('purgeFamily', { rootRunId, at })
  }

  async unsealedPurges(limit: number): Promise<SealedRun[]> {
    return this.reader.all(SQL.purges.unsealed, limit).map(row => ({ ...row }) as SealedRun)
  }

  claimPurge(claim: TaskInput<'claimPurge'>): Promise<string | undefined> {
    return this.write('claimPurge', claim)
  }

  deletePurged(rootRunId: string, hostId: string, limit: number): Promise<'more' | 'done' | 'lost'> {
    return this.write('deletePurged', { rootRunId, hostId, limit })
  }

  async readPurged(tenant: string | null, runId: string): Promise<PurgedRun | undefined> {
    return purgedRunIn(this.reader, tenant, runId)
  }

  async readDataKey(tenant: string): Promise<string | undefined> {
    return this.reader.get(SQL.keys.dataKey, tenant)?.wrapped as string | undefined
  }

  putDataKey(tenant: string, wrapped: string): Promise<string> {
    return this.write('putDataKey', { tenant, wrapped })
  }

  eraseTenants(marks: readonly ErasureMark[]): Promise<EraseResult> {
    return this.write('eraseTenants', marks)
  }

  async readErasure(tenant: string): Promise<Erasure | undefined> {
    const row = this.reader.get(SQL.erasures.read, tenant)
    return row && ({ ...row } as Erasure)
  }

  claimErasure(claim: TaskInput<'claimErasure'>): Promise<string | undefined> {
    return this.write('claimErasure', claim)
  }

  async nextToErase(tenant: string): Promise<RunToErase | undefined> {
    const row = this.reader.get(SQL.erasures.nextRun, tenant)
    return row && ({ ...row } as RunToErase)
  }

  eraseEvents(erasing: Erasing & { readonly runId: string }, events: readonly ErasedEvent[]): Promise<boolean> {
    return this.write('eraseEvents', { ...erasing, events })
  }

  eraseRun(erasing: TaskInput<'eraseRun'>): Promise<boolean> {
    return this.write('eraseRun', erasing)
  }

  finishErasure(erasing: TaskInput<'finishErasure'>): Promise<'more' | 'done' | 'lost'> {
    return this.write('finishErasure', erasing)
  }

  protected async write<Name extends TaskName>(name: Name, input: TaskInput<Name>): Promise<TaskResult<Name>> {
    try {
      return await this.writer.run(name, input)
    } catch (error) {
      if (error instanceof StoreUnavailable) this.reader.reopen()
      throw error
    }
  }
}
