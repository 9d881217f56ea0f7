import type { Clock } from '../engine/ports/clock.js'
import type { Webhook, WebhookHealth, WebhookStore } from '../engine/ports/deliveries.js'
import type { Log } from '../engine/ports/log.js'

const TRUST_MS = 1_000

/**
 * All tenants' subscriptions in memory, so that a commit need not wait to learn who is to be told. What this host
 * changes is seen at once, what another host changes within `TRUST_MS` of the next look or the dispatcher's next round.
 */
export class Subscriptions {
  #byTenant: ReadonlyMap<string, readonly Webhook[]> = new Map()
  #byId = new Map<string, Webhook>()
  #readAt = Number.NEGATIVE_INFINITY
  #reading: Promise<void> | undefined
  /** Rises with every change made here: a read that began before one is out of date. */
  #changes = 0
  /** Health is written in the order in which it came about. */
  #writes: Promise<void> = Promise.resolve()

  constructor(
    private readonly store: Pick<WebhookStore, 'listWebhooks' | 'putWebhookHealth'>,
    private readonly clock: Clock,
    private readonly log: Log,
  ) {}

  /** Never waits; looks again behind the scenes when it has not for a while. */
  of(tenant: string): readonly Webhook[] | undefined {
    if (this.#isOld() && this.#reading === undefined) {
      this.refresh().catch(error => this.log.warn({ error: String(error) }, 'subscriptions could not be read'))
    }
    return this.#byTenant.get(tenant)
  }

  find(webhookId: string): Webhook | undefined {
    return this.#byId.get(webhookId)
  }

  async refreshIfOld(): Promise<void> {
    if (this.#isOld()) await this.refresh()
  }

  /** Resolves when what is in memory is no older than this call. */
  async refresh(): Promise<void> {
    // One that is under way may have read before this call.
    await this.#reading?.catch(error => this.log.warn({ error: String(error) }, 'subscriptions could not be read'))
    this.#reading ??= this.#read().finally(() => {
      this.#reading = undefined
    })
    return this.#reading
  }

  put(webhook: Webhook): void {
    this.#byId.set(webhook.webhookId, webhook)
    this.#changed()
  }

  remove(webhookId: string): void {
    this.#byId.delete(webhookId)
    this.#changed()
  }

  /** Resolves when it is durable, or could not be made so: health is worth no more than a warning. */
  record(webhookId: string, health: WebhookHealth): Promise<void> {
    const webhook = this.#byId.get(webhookId)
    if (webhook === undefined || webhook.health === health) return Promise.resolve()
    this.put({ ...webhook, health })
    this.#writes = this.#writes
      .then(() => this.store.putWebhookHealth(webhookId, health))
      .catch(error => this.log.warn({ webhookId, error: String(error) }, 'health of a subscription was not stored'))
    return this.#writes
  }

  #isOld(): boolean {
    return this.clock.monotonic() - this.#readAt >= TRUST_MS
  }

  async #read(): Promise<void> {
    for (;;) {
      const before = this.#changes
      const at = this.clock.monotonic()
      await this.#writes
      const webhooks = await this.store.listWebhooks(null)
      if (before !== this.#changes) continue
      this.#byId = new Map(webhooks.map(webhook => [webhook.webhookId, webhook]))
      this.#readAt = at
      return this.#index()
    }
  }

  #changed(): void {
    this.#changes += 1
    this.#index()
  }

  #index(): void {
    const byTenant = new Map<string, Webhook[]>()
    for (const webhook of this.#byId.values()) {
      const known = byTenant.get(webhook.tenant)
      if (known === undefined) byTenant.set(webhook.tenant, [webhook])
      else known.push(webhook)
    }
    this.#byTenant = byTenant
  }
}
