import { STREAM_WORKFLOWS } from '../../../core/standing/stream.js'
import type { ErasedEvent, EraseResult, Erasing, ErasureMark } from '../../../engine/ports/tenants.js'
import type { Connection } from '../connection.js'
import { SQL } from '../statements.js'
import { isAlive } from './hosts.js'
import { eraseJournal, forgetJournal } from './journal.js'
import { deleteRowsOf } from './purges.js'

/** Whether the error says that something was to be stored of a tenant that was erased (S14). */
export const isOfErased = (message: string): boolean => message.includes('the tenant was erased')

export const isErased = (db: Connection, tenant: string): boolean => db.get(SQL.erasures.read, tenant) !== undefined

export function putDataKey(db: Connection, { tenant, wrapped }: { tenant: string; wrapped: string }): string {
  db.run(SQL.keys.putDataKey, tenant, wrapped)
  return db.get(SQL.keys.dataKey, tenant)!.wrapped as string
}

export function eraseTenants(db: Connection, marks: readonly ErasureMark[]): EraseResult {
  const tenants = JSON.stringify(marks.map(({ tenant }) => tenant))
  const open = db.get(SQL.erasures.openRuns, tenants, JSON.stringify(STREAM_WORKFLOWS))?.runs as number
  if (open > 0) return { kind: 'open', runs: open }
  overwriteDeleted(db)
  const { endStreams, mark, deleteLanes, deleteDataKey, deleteApiKeys, deleteWebhooks } = SQL.erasures
  for (const { tenant, askedAt, keyId, signature } of marks) {
    db.run(endStreams, tenant, askedAt)
    db.run(mark, tenant, askedAt, keyId, signature)
    for (const sql of [deleteLanes, deleteDataKey, deleteApiKeys, deleteWebhooks]) db.run(sql, tenant)
  }
  return { kind: 'marked' }
}

/** A host that is not alive has no leases, so it is given none. */
export function claimErasure(
  db: Connection,
  { hostId, now, leaseMs }: { readonly hostId: string; readonly now: number; readonly leaseMs: number },
): string | undefined {
  if (!isAlive(db, hostId)) return undefined
  const free = db.get(SQL.erasures.claimable, now)
  if (!free) return undefined
  db.run(SQL.erasures.lease, hostId, now + leaseMs, free.tenant!)
  return free.tenant as string
}

export function eraseEvents(
  db: Connection,
  { runId, events, ...erasing }: Erasing & { readonly runId: string; readonly events: readonly ErasedEvent[] },
): boolean {
  if (!holdsLease(db, erasing)) return false
  overwriteDeleted(db)
  for (const { sequence, erased } of events) db.run(SQL.erasures.eraseEvent, erased, runId, sequence, erasing.tenant)
  return true
}

export function eraseRun(db: Connection, { runId, ...erasing }: Erasing & { readonly runId: string }): boolean {
  if (!holdsLease(db, erasing)) return false
  overwriteDeleted(db)
  deleteRowsOf(db, runId)
  db.run(SQL.erasures.eraseRun, runId)
  db.run(SQL.erasures.passRun, runId, erasing.tenant)
  return true
}

export function finishErasure(
  db: Connection,
  { at, limit, ...erasing }: Erasing & { readonly at: number; readonly limit: number },
): 'more' | 'done' | 'lost' {
  if (!holdsLease(db, erasing)) return 'lost'
  overwriteDeleted(db)
  const { tenant } = erasing
  const { isRunLeft, deleteResponses, deleteStandards, deleteDeliveries, finish } = SQL.erasures
  if (db.get(isRunLeft, tenant)) return 'more'
  const kinds = [deleteResponses, deleteStandards, deleteDeliveries]
  const deleted = [...kinds.map(sql => db.run(sql, tenant, limit)), ...eraseJournal(db, tenant, limit)]
  if (deleted.includes(limit)) return 'more'
  forgetJournal(db, tenant)
  deleteWorkflows(db, tenant)
  db.run(finish, at, tenant)
  return 'done'
}

/** And the definitions that nobody else has run or may run. */
function deleteWorkflows(db: Connection, tenant: string): void {
  const digests = db.all(SQL.erasures.digests, tenant).map(({ digest }) => digest)
  db.run(SQL.erasures.deleteWorkflows, tenant)
  db.run(SQL.erasures.deleteDefinitions, JSON.stringify(digests), tenant)
}

const holdsLease = (db: Connection, { tenant, hostId }: Erasing): boolean =>
  db.get(SQL.erasures.holder, tenant)?.lease_host === hostId

/** From here on this connection leaves zeros where rows were, save in pages that are put together anew. */
const overwriteDeleted = (db: Connection): void => db.exec('PRAGMA secure_delete = ON')
