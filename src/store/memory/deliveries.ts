import { present } from '../../core/present.js'
import type { Delivery, DeliveryResult, NewDelivery } from '../../engine/ports/deliveries.js'
import { isAlive, type Lane, type Tables } from './tables.js'

type Place = Pick<Delivery, 'webhookId' | 'runId' | 'sequence'>

const laneKey = ({ webhookId, runId }: Pick<Place, 'webhookId' | 'runId'>): string => JSON.stringify([webhookId, runId])
const deliveryKey = ({ webhookId, runId, sequence }: Place): string => JSON.stringify([webhookId, runId, sequence])

/** A subscription may have been deleted since the commit was made; then there is nobody to tell. */
export function addDelivery(tables: Tables, delivery: NewDelivery): void {
  const { webhookId, runId, tenant, sequence } = delivery
  if (tables.webhooks.get(webhookId)?.tenant !== tenant) return
  const fresh = { state: 'pending', attempts: 0, status: null, error: null, finishedAt: null } as const
  tables.deliveries.set(deliveryKey(delivery), { ...delivery, ...fresh })
  const lane = tables.lanes.get(laneKey(delivery)) ?? { webhookId, runId, dueAt: 0, leaseHost: null, pending: [] }
  tables.lanes.set(laneKey(delivery), { ...lane, pending: [...lane.pending, sequence] })
}

export function deleteWebhook(tables: Tables, tenant: string, webhookId: string): boolean {
  if (tables.webhooks.get(webhookId)?.tenant !== tenant) return false
  tables.webhooks.delete(webhookId)
  for (const lane of lanesOf(tables, webhookId)) {
    for (const sequence of lane.pending) tables.deliveries.delete(deliveryKey({ ...lane, sequence }))
    tables.lanes.delete(laneKey(lane))
  }
  return true
}

/** A host that is not alive has no leases, so it is given none. */
export function claimDeliveries(
  tables: Tables,
  { hostId, now, leaseMs, limit }: { hostId: string; now: number; leaseMs: number; limit: number },
): Delivery[] {
  if (!isAlive(tables, hostId)) return []
  const lanes = [...tables.lanes.values()].filter(
    ({ dueAt, leaseHost }) => dueAt <= now || (leaseHost !== null && !isAlive(tables, leaseHost)),
  )
  const claimed = lanes.sort((a, b) => a.dueAt - b.dueAt).slice(0, limit)
  for (const lane of claimed) replace(tables, { ...lane, dueAt: now + leaseMs, leaseHost: hostId })
  return claimed.map(lane => {
    const sequence = present(lane.pending[0], 'delivery that is due in the lane')
    return present(tables.deliveries.get(deliveryKey({ ...lane, sequence })), `delivery ${sequence} of the lane`)
  })
}

export function finishDelivery(tables: Tables, done: DeliveryResult & { readonly state: Delivery['state'] }): void {
  const lane = record(tables, done, { state: done.state, finishedAt: done.at })
  if (!lane) return
  const pending = lane.pending.filter(sequence => sequence !== done.sequence)
  if (pending.length > 0) replace(tables, { ...lane, pending, dueAt: 0, leaseHost: null })
  else tables.lanes.delete(laneKey(lane))
}

export function retryDelivery(tables: Tables, again: DeliveryResult & { readonly dueAt: number }): void {
  const lane = record(tables, again, {})
  if (lane) replace(tables, { ...lane, dueAt: again.dueAt, leaseHost: null })
}

export function postponeDeliveries(tables: Tables, webhookId: string, until: number): void {
  for (const lane of lanesOf(tables, webhookId)) {
    const dueAt = lane.leaseHost === null ? Math.max(lane.dueAt, until) : until
    replace(tables, { ...lane, dueAt, leaseHost: null })
  }
}

export function listDeliveries(tables: Tables, tenant: string, webhookId: string, limit: number): Delivery[] {
  const found = [...tables.deliveries.values()].filter(one => one.tenant === tenant && one.webhookId === webhookId)
  return found.sort(newestFirst).slice(0, limit)
}

export function purgeDeliveries(tables: Tables, olderThan: number): number {
  const old = [...tables.deliveries].filter(([, { finishedAt }]) => finishedAt !== null && finishedAt < olderThan)
  for (const [key] of old) tables.deliveries.delete(key)
  return old.length
}

/** Notes the outcome of a try; returns the lane if the delivery was pending. */
function record(tables: Tables, result: DeliveryResult, end: Partial<Delivery>): Lane | undefined {
  const delivery = tables.deliveries.get(deliveryKey(result))
  if (delivery?.state !== 'pending') return undefined
  const { attempts, status, error } = result
  tables.deliveries.set(deliveryKey(result), { ...delivery, attempts, status, error, ...end })
  return tables.lanes.get(laneKey(result))
}

const replace = (tables: Tables, lane: Lane): void => {
  tables.lanes.set(laneKey(lane), lane)
}

const lanesOf = (tables: Tables, webhookId: string): Lane[] =>
  [...tables.lanes.values()].filter(lane => lane.webhookId === webhookId)

const newestFirst = (a: Delivery, b: Delivery): number =>
  b.at - a.at || (a.runId === b.runId ? b.sequence - a.sequence : a.runId < b.runId ? 1 : -1)

/** A run that is gone has nothing more to tell. */
export function forgetDeliveries(tables: Tables, runId: string): void {
  for (const [key, delivery] of tables.deliveries) if (delivery.runId === runId) tables.deliveries.delete(key)
  for (const [key, lane] of tables.lanes) if (lane.runId === runId) tables.lanes.delete(key)
}
