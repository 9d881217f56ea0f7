import { type Static, Type } from 'typebox'
import { OneOf } from '../core/schema/kinds.js'
import { RunId, Tag, Timestamp } from './ids.js'

const closed = { additionalProperties: false }
const TenantId = Type.Optional(
  Type.String({ minLength: 1, maxLength: 128, description: "The key's own tenant; no other is accepted" }),
)

/** A type, `*` for all of them, or `run.*` for a family. */
const EventFilter = Type.String({
  maxLength: 128,
  pattern: '^(\\*|[a-z][A-Za-z0-9_-]*(\\.[A-Za-z0-9_-]+)*(\\.\\*)?)$',
})

/** There is no `secret`: the host makes it, so that it is never a weak or a shared one (contract core C14). */
export const CreateWebhookBody = Type.Object(
  {
    url: Type.String({ minLength: 1, maxLength: 2048, pattern: '^[^\\u0000-\\u0020\\u007f]+$' }),
    events: Type.Array(EventFilter, { minItems: 1, maxItems: 64 }),
    tenantId: TenantId,
    tags: Type.Optional(
      Type.Array(Tag, {
        maxItems: 100,
        description: 'Only events of runs with one of these tags',
      }),
    ),
  },
  closed,
)

const Subscription = {
  webhookId: Type.String(),
  secretFingerprint: Type.String({ description: 'The first 8 hex digits of the SHA-256 of the secret' }),
  url: Type.String(),
  events: Type.Array(Type.String()),
  tags: Type.Array(Type.String()),
  createdAt: Timestamp,
}

export const CreateWebhookAnswer = Type.Object({
  ...Subscription,
  secret: Type.Optional(
    Type.String({ description: 'Shown in this answer only; a replay under the same Idempotency-Key leaves it out' }),
  ),
})
export type CreateWebhookAnswer = Static<typeof CreateWebhookAnswer>

export const WebhookAnswer = Type.Object({
  ...Subscription,
  state: OneOf(['active', 'failed'], { description: 'After too many failures nothing more is sent' }),
  circuit: Type.Object({
    state: OneOf(['closed', 'open', 'half-open']),
    openUntil: Type.Union([Timestamp, Type.Null()]),
    consecutiveFailures: Type.Integer({ minimum: 0 }),
  }),
})
export type WebhookAnswer = Static<typeof WebhookAnswer>

export const ListWebhooksAnswer = Type.Object({ webhooks: Type.Array(WebhookAnswer) })

export const RemoveWebhookQuery = Type.Object({ tenantId: TenantId })

export const ListDeliveriesQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
})

export const DeliveryAnswer = Type.Object({
  runId: RunId,
  sequence: Type.Integer({ minimum: 0 }),
  eventType: Type.String(),
  occurredAt: Timestamp,
  state: OneOf(['pending', 'delivered', 'failed', 'dropped']),
  attempts: Type.Integer({ minimum: 0 }),
  status: Type.Union([Type.Integer(), Type.Null()], { description: 'HTTP status of the last answer' }),
  error: Type.Union([Type.String(), Type.Null()], { description: 'Why the last try failed' }),
  finishedAt: Type.Union([Timestamp, Type.Null()]),
})
export type DeliveryAnswer = Static<typeof DeliveryAnswer>

export const ListDeliveriesAnswer = Type.Object({ deliveries: Type.Array(DeliveryAnswer) })
