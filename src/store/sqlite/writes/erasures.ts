import type { ErasedEvent, EraseResult, Erasing } from '../../../engine/ports/tenants.js'
import type { Connection } from '../connection.js'
import { isAlive } from './hosts.js'

/** Whether the error says that something was to be stored of a tenant that was erased (S14). */
export const isOfErased = (message: string): boolean => message.includes('the tenant was erased')

export const isErased = (db: Connection, tenant: string): boolean =>
  db.get('SELECT 1 FROM erasures WHERE tenant = ?', tenant) !== undefined

export function putDataKey(db: Connection, { tenant, wrapped }: { tenant: string; wrapped: string }): string {
  db.run('INSERT INTO tenant_keys (tenant, wrapped) VALUES (?, ?) ON CONFLICT DO NOTHING', tenant, wrapped)
  return db.get('SELECT wrapped FROM tenant_keys WHERE tenant = ?', tenant)!.wrapped as string
}

export function eraseTenants(
  db: Connection,
  { tenants, at }: { readonly tenants: readonly string[]; readonly at: number },
): EraseResult {
  const names = JSON.stringify(tenants)
  const open = db.get(
    'SELECT count(*) AS runs FROM runs WHERE tenant IN (SELECT value FROM json_each(?)) AND ended_at IS NULL',
    names,
  )?.runs as number
  if (open > 0) return { kind: 'open', runs: open }
  overwriteDeleted(db)
  for (const tenant of tenants) {
    db.run('INSERT INTO erasures (tenant, asked_at) VALUES (?, ?) ON CONFLICT DO NOTHING', tenant, at)
    db.run('DELETE FROM lanes WHERE webhook_id IN (SELECT webhook_id FROM webhooks WHERE tenant = ?)', tenant)
    for (const table of ['tenant_keys', 'api_keys', 'webhooks']) db.run(`DELETE FROM ${table} WHERE tenant = ?`, tenant)
  }
  return { kind: 'marked' }
}

/** A host that is not alive has no leases, so it is given none. */
export function claimErasure(
  db: Connection,
  { hostId, now, leaseMs }: { readonly hostId: string; readonly now: number; readonly leaseMs: number },
): string | undefined {
  if (!isAlive(db, hostId)) return undefined
  const free = db.get(
    `SELECT tenant FROM erasures
      WHERE erased_at IS NULL
        AND (lease_host IS NULL OR lease_until <= ?
             OR NOT EXISTS (SELECT 1 FROM hosts WHERE host_id = lease_host AND state = 'alive'))
      ORDER BY asked_at, tenant LIMIT 1`,
    now,
  )
  if (!free) return undefined
  db.run('UPDATE erasures SET lease_host = ?, lease_until = ? WHERE tenant = ?', hostId, now + leaseMs, free.tenant!)
  return free.tenant as string
}

export function eraseEvents(
  db: Connection,
  { runId, events, ...erasing }: Erasing & { readonly runId: string; readonly events: readonly ErasedEvent[] },
): boolean {
  if (!holdsLease(db, erasing)) return false
  overwriteDeleted(db)
  for (const { sequence, erased } of events) {
    db.run(
      `UPDATE events SET payload = '{}', secret = NULL, input = NULL, salt = NULL, erased = ?
        WHERE run_id = ? AND seq = ? AND erased IS NULL
          AND EXISTS (SELECT 1 FROM runs r WHERE r.run_id = events.run_id AND r.tenant = ?)`,
      erased,
      runId,
      sequence,
      erasing.tenant,
    )
  }
  return true
}

/** What refers to a run stands before what it refers to. */
const OF_A_RUN = ['snapshots', 'merges', 'verdicts', 'staged', 'gated', 'invocations'] as const

export function eraseRun(db: Connection, { runId, ...erasing }: Erasing & { readonly runId: string }): boolean {
  if (!holdsLease(db, erasing)) return false
  overwriteDeleted(db)
  for (const table of OF_A_RUN) db.run(`DELETE FROM ${table} WHERE run_id = ?`, runId)
  db.run(`UPDATE runs SET tags = '[]', scope_id = NULL WHERE run_id = ?`, runId)
  db.run('UPDATE erasures SET upto_run = ? WHERE tenant = ?', runId, erasing.tenant)
  return true
}

export function finishErasure(
  db: Connection,
  { at, limit, ...erasing }: Erasing & { readonly at: number; readonly limit: number },
): 'more' | 'done' | 'lost' {
  if (!holdsLease(db, erasing)) return 'lost'
  overwriteDeleted(db)
  const { tenant } = erasing
  const left = db.get(
    'SELECT 1 FROM runs WHERE tenant = ?1 AND run_id > (SELECT upto_run FROM erasures WHERE tenant = ?1) LIMIT 1',
    tenant,
  )
  if (left) return 'more'
  const deleted = Object.entries(KEYS).map(([table, key]) =>
    db.run(
      `DELETE FROM ${table} WHERE (${key}) IN (SELECT ${key} FROM ${table} WHERE tenant = ? LIMIT ?)`,
      tenant,
      limit,
    ),
  )
  if (deleted.includes(limit)) return 'more'
  deleteWorkflows(db, tenant)
  db.run('UPDATE erasures SET erased_at = ?, lease_host = NULL WHERE tenant = ?', at, tenant)
  return 'done'
}

/** Tables with many rows of one tenant, and what their rows are known by. */
const KEYS = {
  receipts: 'tenant, endpoint, key',
  standards: 'tenant, kind, id, version',
  deliveries: 'webhook_id, run_id, seq',
} as const

/** And the definitions that nobody else has run or may run. A tenant that is not erased to its end yet is somebody. */
function deleteWorkflows(db: Connection, tenant: string): void {
  const digests = db.all(
    'SELECT workflow_digest AS digest FROM runs WHERE tenant = ?1 UNION SELECT digest FROM workflows WHERE tenant = ?1',
    tenant,
  )
  db.run('DELETE FROM workflows WHERE tenant = ?', tenant)
  const others = `tenant <> ?2 AND tenant NOT IN (SELECT tenant FROM erasures WHERE erased_at IS NOT NULL)`
  db.run(
    `DELETE FROM definitions WHERE digest IN (SELECT value FROM json_each(?1))
        AND digest NOT IN (SELECT digest FROM workflows)
        AND digest NOT IN (SELECT workflow_digest FROM runs WHERE ${others})`,
    JSON.stringify(digests.map(({ digest }) => digest)),
    tenant,
  )
}

const holdsLease = (db: Connection, { tenant, hostId }: Erasing): boolean =>
  db.get('SELECT lease_host FROM erasures WHERE tenant = ? AND erased_at IS NULL', tenant)?.lease_host === hostId

/** From here on this connection leaves zeros where rows were, save in pages that are put together anew. */
const overwriteDeleted = (db: Connection): void => db.exec('PRAGMA secure_delete = ON')
