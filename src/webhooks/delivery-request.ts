import { createHmac } from 'node:crypto'
import { sha256 } from '../digest.js'
import type { Delivery, Webhook } from '../engine/ports/deliveries.js'
import type { StoredEvent } from '../engine/ports/event-log.js'
import { traceparentFor } from '../trace.js'
import { renderEvent } from '../wire/render.js'

/** What one try of a delivery sends (contract core §11.2). Body and delivery id are the same on every try. */
export function deliveryRequest(
  webhook: Pick<Webhook, 'webhookId' | 'secret'>,
  delivery: Delivery,
  event: StoredEvent,
  options: {
    readonly version: string
    readonly engineVersion: string
    readonly now: number
    /** What the run has recorded of its trace. */
    readonly trace: string | undefined
  },
): { readonly headers: { readonly [name: string]: string }; readonly body: string } {
  const { runId } = delivery
  const doc = renderEvent(runId, event, options)
  const body = `{"runId":${JSON.stringify(runId)},"workspaceId":${JSON.stringify(delivery.tenant)},"event":${doc}}`
  const timestamp = String(Math.floor(options.now / 1000))
  return {
    body,
    headers: {
      'Content-Type': 'application/json',
      'User-Agent': `openwop-webhook-dispatcher/${options.version}`,
      'X-openwop-Webhook-Id': webhook.webhookId,
      'X-openwop-Event-Type': event.type,
      'X-openwop-Delivery-Id': deliveryId(delivery),
      'X-openwop-Delivery-Attempt': String(delivery.attempts + 1),
      'X-openwop-Timestamp': timestamp,
      'X-openwop-Signature': `sha256=${sign(webhook.secret, timestamp, body)}`,
      'X-openwop-Signature-Algorithm': 'v1',
      traceparent: traceparentFor(runId, options.trace, deliveryId(delivery)),
    },
  }
}

/** By which a receiver knows a repetition. */
export const deliveryId = ({
  webhookId,
  runId,
  sequence,
}: Pick<Delivery, 'webhookId' | 'runId' | 'sequence'>): string =>
  sha256(JSON.stringify([webhookId, runId, sequence]), 'base64url')

const sign = (secret: string, timestamp: string, body: string): string =>
  createHmac('sha256', secret).update(`${timestamp}.${body}`).digest('hex')
