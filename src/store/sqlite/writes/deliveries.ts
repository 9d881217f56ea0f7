import type { Delivery, DeliveryResult, Webhook, WebhookHealth } from '../../../engine/ports/deliveries.js'
import type { Connection } from '../connection.js'
import type { SqlValue } from '../driver.js'
import { DELIVERY_FIELDS } from '../packed.js'
import { toDelivery } from '../rows.js'
import { isAlive } from './hosts.js'

export function putWebhook(db: Connection, webhook: Webhook): void {
  db.run(
    `INSERT INTO webhooks (webhook_id, tenant, url, events, tags, secret, created_at, health)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (webhook_id) DO UPDATE SET tenant = excluded.tenant, url = excluded.url, events = excluded.events,
       tags = excluded.tags, secret = excluded.secret, created_at = excluded.created_at, health = excluded.health`,
    webhook.webhookId,
    webhook.tenant,
    webhook.url,
    JSON.stringify(webhook.events),
    JSON.stringify(webhook.tags),
    webhook.secret,
    webhook.createdAt,
    JSON.stringify(webhook.health),
  )
}

export function putWebhookHealth(db: Connection, put: { webhookId: string; health: WebhookHealth }): void {
  db.run('UPDATE webhooks SET health = ? WHERE webhook_id = ?', JSON.stringify(put.health), put.webhookId)
}

export function putWebhookSecret(db: Connection, put: { webhookId: string; secret: string }): void {
  db.run('UPDATE webhooks SET secret = ? WHERE webhook_id = ?', put.secret, put.webhookId)
}

/** What was delivered stays on record until it is purged. */
export function deleteWebhook(db: Connection, { tenant, webhookId }: { tenant: string; webhookId: string }): boolean {
  if (!db.get('SELECT 1 FROM webhooks WHERE webhook_id = ? AND tenant = ?', webhookId, tenant)) return false
  db.run('DELETE FROM lanes WHERE webhook_id = ?', webhookId)
  db.run(`DELETE FROM deliveries WHERE webhook_id = ? AND state = 'pending'`, webhookId)
  db.run('DELETE FROM webhooks WHERE webhook_id = ?', webhookId)
  return true
}

/** A subscription may have been deleted since the commit was made; then there is nobody to tell. */
export function insertDeliveries(db: Connection, deliveries: readonly SqlValue[]): void {
  for (let i = 0; i < deliveries.length; i += DELIVERY_FIELDS) {
    const fields = deliveries.slice(i, i + DELIVERY_FIELDS)
    const inserted = db.run(
      `INSERT INTO deliveries (webhook_id, run_id, seq, tenant, event_type, at, state, attempts)
       SELECT ?1, ?2, ?3, ?4, ?5, ?6, 'pending', 0
        WHERE EXISTS (SELECT 1 FROM webhooks WHERE webhook_id = ?1 AND tenant = ?4)`,
      ...fields,
    )
    if (inserted === 0) continue
    db.run(
      'INSERT INTO lanes (webhook_id, run_id, due_at) VALUES (?, ?, 0) ON CONFLICT DO NOTHING',
      fields[0]!,
      fields[1]!,
    )
  }
}

/**
 * A host that is not alive has no leases, so it is given none. When the answer is lost with the writer, the lanes are
 * due again at the end of the lease.
 */
export function claimDeliveries(
  db: Connection,
  { hostId, now, leaseMs, limit }: { hostId: string; now: number; leaseMs: number; limit: number },
): Delivery[] {
  if (!isAlive(db, hostId)) return []
  db.run(`UPDATE lanes SET due_at = 0, lease_host = NULL
           WHERE lease_host IS NOT NULL AND lease_host NOT IN (SELECT host_id FROM hosts WHERE state = 'alive')`)
  const lanes = db.all('SELECT webhook_id, run_id FROM lanes WHERE due_at <= ? ORDER BY due_at LIMIT ?', now, limit)
  return lanes.map(({ webhook_id, run_id }) => {
    db.run(
      'UPDATE lanes SET due_at = ?, lease_host = ? WHERE webhook_id = ? AND run_id = ?',
      now + leaseMs,
      hostId,
      webhook_id!,
      run_id!,
    )
    return toDelivery(firstPending(db, webhook_id as string, run_id as string)!)
  })
}

export function finishDelivery(db: Connection, done: DeliveryResult & { readonly state: Delivery['state'] }): void {
  const { webhookId, runId } = done
  if (!record(db, done, done.state, done.at)) return
  if (firstPending(db, webhookId, runId)) freeLane(db, done, 0)
  else db.run('DELETE FROM lanes WHERE webhook_id = ? AND run_id = ?', webhookId, runId)
}

export function retryDelivery(db: Connection, again: DeliveryResult & { readonly dueAt: number }): void {
  if (record(db, again, 'pending', null)) freeLane(db, again, again.dueAt)
}

export function postponeDeliveries(db: Connection, { webhookId, until }: { webhookId: string; until: number }): void {
  db.run(
    `UPDATE lanes SET due_at = CASE WHEN lease_host IS NULL THEN max(due_at, ?1) ELSE ?1 END, lease_host = NULL
      WHERE webhook_id = ?2`,
    until,
    webhookId,
  )
}

export const purgeDeliveries = (db: Connection, { olderThan, limit }: { olderThan: number; limit: number }): number =>
  db.run(
    `DELETE FROM deliveries WHERE (webhook_id, run_id, seq) IN
       (SELECT webhook_id, run_id, seq FROM deliveries
         WHERE finished_at IS NOT NULL AND finished_at < ? ORDER BY finished_at LIMIT ?)`,
    olderThan,
    limit,
  )

/** INDEXED BY: by its primary key it would first pass by all that the lane has delivered before. */
const firstPending = (db: Connection, webhookId: string, runId: string) =>
  db.get(
    `SELECT * FROM deliveries INDEXED BY deliveries_pending
      WHERE webhook_id = ? AND run_id = ? AND state = 'pending' ORDER BY seq LIMIT 1`,
    webhookId,
    runId,
  )

/** Notes the outcome of a try; false when the delivery is no longer pending. */
const record = (db: Connection, done: DeliveryResult, state: Delivery['state'], finishedAt: number | null): boolean =>
  db.run(
    `UPDATE deliveries SET state = ?, finished_at = ?, attempts = ?, status = ?, error = ?
      WHERE webhook_id = ? AND run_id = ? AND seq = ? AND state = 'pending'`,
    state,
    finishedAt,
    done.attempts,
    done.status,
    done.error,
    done.webhookId,
    done.runId,
    done.sequence,
  ) > 0

function freeLane(db: Connection, { webhookId, runId }: DeliveryResult, dueAt: number): void {
  db.run('UPDATE lanes SET due_at = ?, lease_host = NULL WHERE webhook_id = ? AND run_id = ?', dueAt, webhookId, runId)
}
