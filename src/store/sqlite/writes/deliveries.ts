import type { Delivery, DeliveryResult, NewDelivery, Webhook, WebhookHealth } from '../../../engine/ports/deliveries.js'
import type { Connection } from '../connection.js'
import { toDelivery } from '../rows.js'
import { SQL } from '../statements.js'
import { isAlive } from './hosts.js'

export function putWebhook(db: Connection, webhook: Webhook): void {
  db.run(
    SQL.webhooks.put,
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
  db.run(SQL.webhooks.putHealth, JSON.stringify(put.health), put.webhookId)
}

export function putWebhookSecret(db: Connection, put: { webhookId: string; secret: string }): void {
  db.run(SQL.webhooks.putSecret, put.secret, put.webhookId)
}

export function deleteWebhook(db: Connection, { tenant, webhookId }: { tenant: string; webhookId: string }): boolean {
  if (!db.get(SQL.webhooks.isOfTenant, webhookId, tenant)) return false
  db.run(SQL.webhooks.deleteLanes, webhookId)
  db.run(SQL.webhooks.deletePending, webhookId)
  db.run(SQL.webhooks.delete, webhookId)
  return true
}

export function addDelivery(db: Connection, delivery: NewDelivery): void {
  const { webhookId, runId, sequence, tenant, eventType, at } = delivery
  const added = db.run(SQL.deliveries.add, webhookId, runId, sequence, tenant, eventType, at)
  if (added > 0) db.run(SQL.deliveries.openLane, webhookId, runId)
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
  db.run(SQL.deliveries.freeLanesOfGone)
  return db.all(SQL.deliveries.dueLanes, now, limit).map(({ webhook_id, run_id }) => {
    db.run(SQL.deliveries.leaseLane, now + leaseMs, hostId, webhook_id!, run_id!)
    return toDelivery(db.get(SQL.deliveries.firstPending, webhook_id!, run_id!)!)
  })
}

export function finishDelivery(db: Connection, done: DeliveryResult & { readonly state: Delivery['state'] }): void {
  const { webhookId, runId } = done
  if (!record(db, done, done.state, done.at)) return
  if (db.get(SQL.deliveries.firstPending, webhookId, runId)) db.run(SQL.deliveries.freeLane, 0, webhookId, runId)
  else db.run(SQL.deliveries.closeLane, webhookId, runId)
}

export function retryDelivery(db: Connection, again: DeliveryResult & { readonly dueAt: number }): void {
  if (record(db, again, 'pending', null)) db.run(SQL.deliveries.freeLane, again.dueAt, again.webhookId, again.runId)
}

export function postponeDeliveries(db: Connection, { webhookId, until }: { webhookId: string; until: number }): void {
  db.run(SQL.deliveries.postpone, until, webhookId)
}

export const purgeDeliveries = (db: Connection, { olderThan, limit }: { olderThan: number; limit: number }): number =>
  db.run(SQL.deliveries.purge, olderThan, limit)

/** Notes the outcome of a try; false when the delivery is no longer pending. */
const record = (db: Connection, done: DeliveryResult, state: Delivery['state'], finishedAt: number | null): boolean =>
  db.run(
    SQL.deliveries.record,
    state,
    finishedAt,
    done.attempts,
    done.status,
    done.error,
    done.webhookId,
    done.runId,
    done.sequence,
  ) > 0
