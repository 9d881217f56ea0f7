import type { DeliveryResult } from '../../engine/ports/deliveries.js'
import type { Receipt } from '../../engine/ports/receipts.js'

/** In the order in which `sql/records.sql` numbers them. */
export const receiptValues = (receipt: Receipt): unknown[] => [
  receipt.tenant,
  receipt.endpoint,
  receipt.key,
  receipt.digest,
  receipt.state,
  receipt.leaseOwner,
  receipt.leaseUntil,
  receipt.status,
  JSON.stringify(receipt.headers),
  receipt.body,
  receipt.at,
]

export const tryValues = (result: DeliveryResult): unknown[] => [
  result.webhookId,
  result.runId,
  result.sequence,
  result.attempts,
  result.status,
  result.error,
]
