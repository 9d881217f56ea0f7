import { type Refusal, refuse } from '../../../core/problem.js'
import { sha256 } from '../../../digest.js'
import type { ListedWebhook, UnreadableSecret } from '../../../engine/api.js'
import type { Delivery, Webhook } from '../../../engine/ports/deliveries.js'
import { circuitOf } from '../../../webhooks/circuit.js'
import {
  CreateWebhookAnswer,
  CreateWebhookBody,
  type DeliveryAnswer,
  ListDeliveriesAnswer,
  ListDeliveriesQuery,
  ListWebhooksAnswer,
  RemoveWebhookQuery,
  type WebhookAnswer,
} from '../../../wire/webhook.js'
import type { Caller } from '../../auth/key-cache.js'
import type { Edge } from '../../deps.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

export const webhookRoutes = (edge: Edge): Route[] => [
  listWebhooks(edge),
  registerWebhook(edge),
  removeWebhook(edge),
  listDeliveries(edge),
]

const listWebhooks = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/webhooks',
    operation: 'listWebhooks',
    summary: "The tenant's subscriptions and how they are doing, without their secrets",
    access: 'webhooks:manage',
    responses: { 200: { description: 'The subscriptions, oldest first', schema: ListWebhooksAnswer } },
    refusals: [],
    async handle({ caller }) {
      const now = edge.clock.now()
      const webhooks = (await edge.webhooks.list(caller.tenant)).map(webhook => renderWebhook(webhook, now))
      return json(200, { webhooks }, NO_STORE)
    },
  })

const registerWebhook = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: '/v1/webhooks',
    operation: 'registerWebhook',
    summary: 'Be told of events; the answer is the only place that shows the signing secret',
    access: 'webhooks:manage',
    body: CreateWebhookBody,
    idempotency: 'lease',
    responses: { 201: { description: 'The subscription', schema: CreateWebhookAnswer } },
    refusals: ['validation_error', 'webhook_url_rejected', 'tenant_membership_required'],
    async handle({ caller, body }) {
      const { url, events, tenantId, tags } = body
      const stranger = membershipRefusal(caller, tenantId, 'body.tenantId')
      if (stranger !== undefined) return problem(stranger)
      const wanted = tags === undefined ? { url, events } : { url, events, tags }
      const answer = await edge.webhooks.register(caller.tenant, wanted)
      if (!answer.ok) {
        if ('refusal' in answer) return problem(answer.refusal)
        throw new Error('a registration gave a remembered response that was not asked for')
      }
      const { secret } = answer.value
      const shown = { ...renderSubscription(answer.value), secretFingerprint: fingerprintOf(secret) }
      return { ...json(201, { ...shown, secret }, NO_STORE), remembered: JSON.stringify(shown) }
    },
  })

const removeWebhook = (edge: Edge): Route =>
  route({
    method: 'DELETE',
    path: '/v1/webhooks/{webhookId}',
    operation: 'removeWebhook',
    summary: 'End a subscription; what was still to be delivered is not',
    access: 'webhooks:manage',
    query: RemoveWebhookQuery,
    idempotency: 'lease',
    responses: { 204: { description: 'Removed' } },
    refusals: ['subscription_not_found', 'tenant_membership_required'],
    async handle({ caller, params, query }) {
      const stranger = membershipRefusal(caller, query.tenantId, 'query.tenantId')
      if (stranger !== undefined) return problem(stranger)
      const removed = await edge.webhooks.remove(caller.tenant, params.webhookId)
      return removed ? { status: 204, body: '' } : problem(UNKNOWN)
    },
  })

const listDeliveries = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/webhooks/{webhookId}/deliveries',
    operation: 'listDeliveries',
    summary: 'What a subscription was told lately and how that went, newest first',
    access: 'webhooks:manage',
    query: ListDeliveriesQuery,
    responses: { 200: { description: 'The deliveries', schema: ListDeliveriesAnswer } },
    refusals: ['validation_error', 'subscription_not_found'],
    async handle({ caller, params, query }) {
      const found = await edge.webhooks.deliveries(caller.tenant, params.webhookId, query.limit ?? 50)
      return found === undefined ? problem(UNKNOWN) : json(200, { deliveries: found.map(renderDelivery) }, NO_STORE)
    },
  })

const NO_STORE = { 'cache-control': 'no-store' }
const UNKNOWN = refuse('subscription_not_found', 'No such subscription, or it is not visible to this key.')

function membershipRefusal(caller: Caller, tenantId: string | undefined, field: string): Refusal | undefined {
  if (tenantId === undefined || tenantId === caller.account || tenantId === caller.tenant) return undefined
  return refuse('tenant_membership_required', `${field} is not the tenant of this key; leave it out.`, { field })
}

const iso = (at: number): string => new Date(at).toISOString()

const fingerprintOf = (secret: string): string => sha256(secret).slice(0, 8)

const renderSubscription = ({ webhookId, url, events, tags, createdAt }: Omit<Webhook, 'secret'>) => ({
  webhookId,
  url,
  events: [...events],
  tags: [...tags],
  createdAt: iso(createdAt),
})

const WHY: { readonly [why in UnreadableSecret]: string } = {
  'data-key-missing':
    'its signing secret was sealed with a data key that this host does not have; start the host with that key (ASSAY_DATA_KEY, or data.key of the data folder), or remove the subscription and make it again',
  'secret-changed':
    'its sealed signing secret was changed in the database and does not open; remove the subscription and make it again',
}

function renderWebhook(webhook: ListedWebhook, now: number): WebhookAnswer {
  const { state, openUntil, consecutiveFailures } = webhook.health
  return {
    ...renderSubscription(webhook),
    ...(webhook.secret === undefined
      ? { secretFingerprint: null, state: 'undeliverable', reason: WHY[webhook.why] }
      : { secretFingerprint: fingerprintOf(webhook.secret), state }),
    circuit: {
      state: circuitOf(webhook.health, now),
      openUntil: openUntil === null ? null : iso(openUntil),
      consecutiveFailures,
    },
  }
}

const renderDelivery = (delivery: Delivery): DeliveryAnswer => ({
  runId: delivery.runId,
  sequence: delivery.sequence,
  eventType: delivery.eventType,
  occurredAt: iso(delivery.at),
  state: delivery.state,
  attempts: delivery.attempts,
  status: delivery.status,
  error: delivery.error,
  finishedAt: delivery.finishedAt === null ? null : iso(delivery.finishedAt),
})
