import { randomBytes } from 'node:crypto'
import { type Refusal, refuse } from '../core/problem.js'
import type { Egress } from '../egress/egress.js'
import type { UrlProblem } from '../egress/target.js'
import type { Answer, ListedWebhook, NewWebhook, WebhookAdmin } from '../engine/api.js'
import type { Announcer } from '../engine/ports/announcer.js'
import type { Clock, Ids } from '../engine/ports/clock.js'
import type { Delivery, NewDelivery, Webhook } from '../engine/ports/deliveries.js'
import type { StoredEvent } from '../engine/ports/event-log.js'
import type { Log } from '../engine/ports/log.js'
import type { DataVault } from '../vault/vault.js'
import { HEALTHY } from './circuit.js'
import { type DeliverySource, Dispatcher, type DispatcherOptions } from './dispatcher.js'
import { wants, watches } from './match.js'
import { isSealed, openedSecret, sealedSecret } from './signing-secret.js'
import { Subscriptions } from './subscriptions.js'

export type WebhooksDeps = {
  readonly store: DeliverySource
  readonly egress: Egress
  readonly clock: Clock
  readonly ids: Ids
  readonly log: Log
  /** Seals signing secrets at rest. */
  readonly vault: DataVault
  /** This host's present incarnation, under which deliveries are claimed. */
  readonly hostId: () => string
}

export const MAX_SUBSCRIPTIONS = 100

const NOBODY: readonly NewDelivery[] = []

/** Who wants to be told of events, and the telling. */
export class Webhooks implements WebhookAdmin, Announcer {
  readonly #subscriptions: Subscriptions
  readonly #dispatcher: Dispatcher

  constructor(
    private readonly deps: WebhooksDeps,
    options: DispatcherOptions,
  ) {
    this.#subscriptions = new Subscriptions(deps.store, deps.clock, deps.log)
    this.#dispatcher = new Dispatcher({ ...deps, subscriptions: this.#subscriptions }, options)
  }

  /** Before the first commit, which must know the subscriptions there are. */
  async load(): Promise<void> {
    const { store, vault } = this.deps
    for (const webhook of await store.listWebhooks(null))
      if (!isSealed(webhook)) await store.putWebhookSecret(webhook.webhookId, sealedSecret(vault, webhook))
    await this.#subscriptions.refresh()
  }

  /** Once this host is registered with the store. */
  start(): void {
    this.#dispatcher.start()
  }

  /** Claims nothing more, waits so long for what is under way, cuts the rest and gives it back. */
  stop(drainMs: number): Promise<void> {
    return this.#dispatcher.stop(drainMs)
  }

  deliveriesFor(
    run: { readonly tenant: string; readonly runId: string; readonly tags: readonly string[] },
    events: readonly StoredEvent[],
  ): readonly NewDelivery[] {
    const { tenant, runId } = run
    const watching = this.#subscriptions.of(tenant)?.filter(webhook => watches(webhook, run)) ?? []
    if (watching.length === 0) return NOBODY
    return events.flatMap(({ type, sequence, at }) =>
      watching
        .filter(webhook => wants(webhook, type))
        .map(({ webhookId }) => ({ webhookId, tenant, runId, sequence, eventType: type, at })),
    )
  }

  committed(deliveries: readonly NewDelivery[]): void {
    if (deliveries.length > 0) this.#dispatcher.wake()
  }

  async register(tenant: string, wanted: NewWebhook): Promise<Answer<Webhook>> {
    const { store, egress, clock, ids, vault } = this.deps
    const problem = await egress.check(wanted.url)
    if (problem !== undefined) return { ok: false, refusal: urlRefusal(problem) }
    if ((await store.listWebhooks(tenant)).length >= MAX_SUBSCRIPTIONS) return { ok: false, refusal: TOO_MANY }
    const webhook: Webhook = {
      webhookId: `wh_${ids.unique()}`,
      tenant,
      url: wanted.url,
      events: [...new Set(wanted.events)],
      tags: [...new Set(wanted.tags ?? [])],
      secret: randomBytes(32).toString('hex'),
      createdAt: clock.now(),
      health: HEALTHY,
    }
    const kept = { ...webhook, secret: sealedSecret(vault, webhook) }
    await store.putWebhook(kept)
    this.#subscriptions.put(kept)
    return { ok: true, value: webhook }
  }

  async remove(tenant: string, webhookId: string): Promise<boolean> {
    const removed = await this.deps.store.deleteWebhook(tenant, webhookId)
    if (removed) this.#subscriptions.remove(webhookId)
    return removed
  }

  async list(tenant: string): Promise<ListedWebhook[]> {
    const { store, vault } = this.deps
    return (await store.listWebhooks(tenant)).map(webhook => ({ ...webhook, ...openedSecret(vault, webhook) }))
  }

  async deliveries(tenant: string, webhookId: string, limit: number): Promise<Delivery[] | undefined> {
    const own = await this.deps.store.listWebhooks(tenant)
    if (!own.some(webhook => webhook.webhookId === webhookId)) return undefined
    return this.deps.store.listDeliveries(tenant, webhookId, limit)
  }
}

const TOO_MANY = refuse(
  'validation_error',
  `A tenant may have ${MAX_SUBSCRIPTIONS} subscriptions; remove one that is no longer needed.`,
  { limit: MAX_SUBSCRIPTIONS },
)

const urlRefusal = ({ code, message }: UrlProblem): Refusal =>
  refuse(
    code === 'malformed-url' ? 'validation_error' : 'webhook_url_rejected',
    `body.url cannot be delivered to: ${message}.`,
    { field: 'body.url', reason: code },
  )
