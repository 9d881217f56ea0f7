/** Who wants to be told of events. */
export interface WebhookStore {
  putWebhook(webhook: Webhook): Promise<void>
  /** Removes the subscription with everything that is still to be delivered to it; false when the tenant has none. */
  deleteWebhook(tenant: string, webhookId: string): Promise<boolean>
  /** `tenant: null` lists every tenant's: for the host itself. Oldest first. */
  listWebhooks(tenant: string | null): Promise<Webhook[]>
  putWebhookHealth(webhookId: string, health: WebhookHealth): Promise<void>
  /** Another spelling of the same secret, such as a sealed one. Nothing happens where there is no such subscription. */
  putWebhookSecret(webhookId: string, secret: string): Promise<void>
}

/** What they are still to be told, and how far that has got. */
export interface DeliveryQueue {
  /**
   * Leases up to `limit` deliveries that are due: of each lane (one subscription, one run) only the earliest event that
   * is still pending, so a lane is delivered in order. A lane that is leased is not handed out again before the lease
   * is over or its host was fenced.
   */
  claimDeliveries(claim: { hostId: string; now: number; leaseMs: number; limit: number }): Promise<Delivery[]>
  /** Records how a delivery ended and frees its lane for the next one. Ignored when it is no longer pending. */
  finishDelivery(done: DeliveryResult & { readonly state: 'delivered' | 'failed' | 'dropped' }): Promise<void>
  /** Records a failed try; the lane waits until `dueAt`. Ignored when the delivery is no longer pending. */
  retryDelivery(again: DeliveryResult & { readonly dueAt: number }): Promise<void>
  /** No lane of this subscription is due before `until`; leases are given back. */
  postponeDeliveries(webhookId: string, until: number): Promise<void>
  /** The earliest moment at which a lane is due, or null when nothing is pending. */
  nextDeliveryAt(): Promise<number | null>
  /** Newest first. */
  listDeliveries(tenant: string, webhookId: string, limit: number): Promise<Delivery[]>
  /** Forgets finished deliveries that are older, and tells how many. */
  purgeDeliveries(olderThan: number): Promise<number>
}

export type Webhook = {
  readonly webhookId: string
  readonly tenant: string
  readonly url: string
  /** Event types; `*` is all of them, `run.*` those of a family. */
  readonly events: readonly string[]
  /** Runs with one of these tags; empty means all runs. */
  readonly tags: readonly string[]
  /** Signs the deliveries; shown once, when the subscription is made. */
  readonly secret: string
  readonly createdAt: number
  readonly health: WebhookHealth
}

export type WebhookHealth = {
  /** `failed` when too many deliveries failed in a week: nothing more is sent. */
  readonly state: 'active' | 'failed'
  readonly consecutiveFailures: number
  /** The circuit is open until then; null when it is closed. */
  readonly openUntil: number | null
  /** When deliveries failed lately, oldest first. */
  readonly failures: readonly number[]
}

/** One event for one subscription; written in the transaction of the event. */
export type NewDelivery = {
  readonly webhookId: string
  readonly tenant: string
  readonly runId: string
  readonly sequence: number
  readonly eventType: string
  readonly at: number
}

export type Delivery = NewDelivery & {
  readonly state: 'pending' | 'delivered' | 'failed' | 'dropped'
  /** Tries so far. */
  readonly attempts: number
  /** HTTP status of the last answer, if there was one. */
  readonly status: number | null
  /** Why the last try failed; a code, never content. */
  readonly error: string | null
  readonly finishedAt: number | null
}

export type DeliveryResult = {
  readonly webhookId: string
  readonly runId: string
  readonly sequence: number
  readonly attempts: number
  readonly status: number | null
  readonly error: string | null
  readonly at: number
}
