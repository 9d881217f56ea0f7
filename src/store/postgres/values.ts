import type { DeliveryResult } from '../../engine/ports/deliveries.js'
import type { RememberedResponse } from '../../engine/ports/remembered-responses.js'

/** In the order in which `sql/records.sql` numbers them. */
export const responseValues = (response: RememberedResponse): unknown[] => [
  response.tenant,
  response.endpoint,
  response.key,
  response.digest,
  response.state,
  response.leaseOwner,
  response.leaseUntil,
  response.status,
  JSON.stringify(response.headers),
  response.body,
  response.at,
]

export const tryValues = (result: DeliveryResult): unknown[] => [
  result.webhookId,
  result.runId,
  result.sequence,
  result.attempts,
  result.status,
  result.error,
]
