import type { Egress, EgressAnswer } from '../egress/egress.js'
import type { Clock } from '../engine/ports/clock.js'
import type { Delivery, DeliveryQueue, DeliveryResult, Webhook, WebhookStore } from '../engine/ports/deliveries.js'
import type { EventLog } from '../engine/ports/event-log.js'
import type { Log } from '../engine/ports/log.js'
import type { RunIndex } from '../engine/ports/run-index.js'
import { sleep } from '../timing/sleep.js'
import type { DataVault } from '../vault/vault.js'
import { afterFailure, afterSuccess, circuitOf } from './circuit.js'
import { deliveryRequest } from './delivery-request.js'
import { nextTry } from './retry-schedule.js'
import { RunTraces } from './run-trace.js'
import { openSecret } from './signing-secret.js'
import type { Subscriptions } from './subscriptions.js'
import { WaitingLine } from './waiting-line.js'

/**
 * Tells subscribers what the store says they are owed.
 *
 *  D1  At least once: an outcome is recorded after the answer, so a host that dies in between lets the next one repeat
 *      the delivery, under the same delivery id.
 *  D2  In order within a run: the store hands out one delivery per lane, and the next when that one has ended.
 *  D3  Nothing but a recorded outcome ends a delivery. What is not recorded comes back when its lease is over.
 *  D4  A store that fails delays; it never stops this.
 *  D5  Logs name ids and codes; never a URL, a secret or a body.
 */
export type DispatcherOptions = {
  /** Failed tries are repeated for up to a day; otherwise there is one try. */
  readonly durable: boolean
  /** This package's version, for the User-Agent. */
  readonly version: string
  readonly engineVersion: string
}

/** The part of the store that deliveries live in, and the events they tell of. */
export type DeliverySource = WebhookStore & DeliveryQueue & Pick<EventLog, 'readEvents'> & Pick<RunIndex, 'readRun'>

export type DispatcherDeps = {
  readonly store: DeliverySource
  readonly egress: Egress
  readonly clock: Clock
  readonly log: Log
  readonly vault: DataVault
  readonly hostId: () => string
  readonly subscriptions: Subscriptions
}

const TIMEOUT_MS = 5_000
const MAX_RESPONSE_BYTES = 16 * 1024
/** Longer than everything that is claimed at once takes, each at its timeout. */
const LEASE_MS = 60_000
const MAX_CLAIMED = 64
const MAX_SENDING = 32
const MAX_SENDING_EACH = 8
/** Further lanes of one subscription are put back for a moment, so that they do not keep others out. */
const MAX_CLAIMED_EACH = 24
const PUT_BACK_MS = 1_000
/** How long to sleep when nothing is known to be due: other hosts may have left something. */
const IDLE_MS = 5_000
const MIN_SLEEP_MS = 100
const AFTER_TROUBLE_MS = 1_000
const PURGE_EVERY_MS = 60 * 60 * 1000
const KEEP_MS = 7 * 24 * 60 * 60 * 1000

type Claimed = { readonly delivery: Delivery; readonly startBy: number }

export class Dispatcher {
  readonly #line = new WaitingLine<Claimed>()
  readonly #sending = new Map<string, number>()
  readonly #underWay = new Set<Promise<void>>()
  readonly #cut = new AbortController()
  readonly #traces: RunTraces
  #purgedAt = Number.NEGATIVE_INFINITY
  #loop: Promise<void> | undefined
  #stopped = false
  #woken = false
  #rouse: () => void = () => undefined

  constructor(
    private readonly deps: DispatcherDeps,
    private readonly options: DispatcherOptions,
  ) {
    this.#traces = new RunTraces(deps.store)
  }

  start(): void {
    this.#loop ??= this.#run()
  }

  /** Something has become due. */
  wake(): void {
    this.#woken = true
    this.#rouse()
  }

  async stop(drainMs: number): Promise<void> {
    this.#stopped = true
    this.wake()
    await this.#loop
    for (const { delivery } of this.#line.takeAll()) await this.#safely(delivery, () => this.#putBack(delivery, 0))
    if (drainMs <= 0) this.#cut.abort()
    const disarm = this.deps.clock.after(drainMs, () => this.#cut.abort())
    await Promise.all(this.#underWay)
    disarm()
  }

  async #run(): Promise<void> {
    while (!this.#stopped) {
      this.#woken = false
      const pause = await this.#round().catch(error => {
        this.deps.log.warn({ error: String(error) }, 'deliveries could not be looked up; trying again')
        return AFTER_TROUBLE_MS
      })
      await this.#sleep(pause)
    }
  }

  #sleep(ms: number): Promise<void> {
    if (this.#woken || this.#stopped || ms <= 0) return Promise.resolve()
    const waking = new AbortController()
    this.#rouse = () => waking.abort()
    return sleep(this.deps.clock, ms, waking.signal)
  }

  /** Claims what is due and there is room for; returns how long to sleep. */
  async #round(): Promise<number> {
    const { store, clock, hostId, subscriptions } = this.deps
    await subscriptions.refreshIfOld()
    await this.#purge()
    const limit = MAX_CLAIMED - this.#line.size - this.#underWay.size
    if (limit <= 0) return IDLE_MS
    const startBy = clock.monotonic() + LEASE_MS - 2 * TIMEOUT_MS
    const claimed = await store.claimDeliveries({ hostId: hostId(), now: clock.now(), leaseMs: LEASE_MS, limit })
    // A peer may have made a subscription, and committed for it, since the last look.
    if (claimed.some(({ webhookId }) => subscriptions.find(webhookId) === undefined)) await subscriptions.refresh()
    for (const delivery of claimed) await this.#safely(delivery, () => this.#accept({ delivery, startBy }))
    this.#pump()
    if (claimed.length === limit) return 0
    const next = await store.nextDeliveryAt()
    if (next === null) return IDLE_MS
    const least = claimed.length === 0 ? MIN_SLEEP_MS : 0
    return Math.min(Math.max(next - clock.now(), least), IDLE_MS)
  }

  async #purge(): Promise<void> {
    const { store, clock } = this.deps
    if (clock.monotonic() - this.#purgedAt < PURGE_EVERY_MS) return
    this.#purgedAt = clock.monotonic()
    await store.purgeDeliveries(clock.now() - KEEP_MS)
  }

  /** Takes a claimed delivery into the line, unless it will not be sent from there. */
  async #accept(claimed: Claimed): Promise<void> {
    const { delivery } = claimed
    const { webhookId } = delivery
    const webhook = this.deps.subscriptions.find(webhookId)
    if (webhook === undefined) return this.#drop(delivery, 'subscription-gone')
    if (webhook.health.state === 'failed') return this.#drop(delivery, 'subscription-failed')
    if (circuitOf(webhook.health, this.deps.clock.now()) === 'open') return this.#keepOff(webhook, delivery)
    const mine = this.#line.sizeOf(webhookId) + (this.#sending.get(webhookId) ?? 0)
    if (mine >= MAX_CLAIMED_EACH) return this.#putBack(delivery, this.deps.clock.now() + PUT_BACK_MS)
    this.#line.add(webhookId, claimed)
  }

  /** Starts as many as may be under way; subscriptions take turns. */
  #pump(): void {
    while (!this.#stopped && this.#underWay.size < MAX_SENDING) {
      const claimed = this.#line.take(webhookId => this.#hasRoom(webhookId))
      if (claimed === undefined) return
      this.#begin(claimed)
    }
  }

  /** Half-open lets one through and the others wait for what becomes of it. */
  #hasRoom(webhookId: string): boolean {
    const webhook = this.deps.subscriptions.find(webhookId)
    const halfOpen = webhook !== undefined && circuitOf(webhook.health, this.deps.clock.now()) === 'half-open'
    return (this.#sending.get(webhookId) ?? 0) < (halfOpen ? 1 : MAX_SENDING_EACH)
  }

  #begin(claimed: Claimed): void {
    const { delivery } = claimed
    const { webhookId } = delivery
    this.#sending.set(webhookId, (this.#sending.get(webhookId) ?? 0) + 1)
    const work = this.#safely(delivery, () => this.#deliver(claimed)).then(() => {
      this.#underWay.delete(work)
      const left = (this.#sending.get(webhookId) ?? 1) - 1
      if (left === 0) this.#sending.delete(webhookId)
      else this.#sending.set(webhookId, left)
      this.#pump()
      this.wake()
    })
    this.#underWay.add(work)
  }

  async #deliver({ delivery, startBy }: Claimed): Promise<void> {
    const { store, clock, egress, subscriptions, vault } = this.deps
    const { webhookId, runId, sequence } = delivery
    if (clock.monotonic() > startBy) return
    const [event] = await store.readEvents(runId, sequence, 1)
    const trace = await this.#traces.of(runId)
    // Looked up after the last wait before the request: it may have been removed, or its circuit opened, in the line.
    const webhook = subscriptions.find(webhookId)
    if (event === undefined) return this.#drop(delivery, 'event-gone')
    if (webhook === undefined) return this.#drop(delivery, 'subscription-gone')
    if (webhook.health.state === 'failed') return this.#drop(delivery, 'subscription-failed')
    if (circuitOf(webhook.health, clock.now()) === 'open') return this.#keepOff(webhook, delivery)
    // Where it cannot be opened the delivery is not sent, and comes again when its lease is over (D3).
    const secret = openSecret(vault, webhook)
    const answer = await egress.send({
      method: 'POST',
      url: webhook.url,
      ...deliveryRequest({ webhookId, secret }, delivery, event, { ...this.options, trace, now: clock.now() }),
      timeoutMs: TIMEOUT_MS,
      maxResponseBytes: MAX_RESPONSE_BYTES,
      signal: this.#cut.signal,
    })
    await this.#record(delivery, answer)
  }

  async #record(delivery: Delivery, answer: EgressAnswer): Promise<void> {
    const { store, clock, log } = this.deps
    const { webhookId, runId, sequence } = delivery
    // Cut by this host itself, which says nothing about the receiver.
    if (!answer.ok && answer.code === 'aborted') return this.#putBack(delivery, 0)
    const now = clock.now()
    const attempts = delivery.attempts + 1
    const status = answer.ok ? answer.status : null
    const result = { webhookId, runId, sequence, attempts, status, at: now }
    if (status !== null && status >= 200 && status < 300) {
      await store.finishDelivery({ ...result, state: 'delivered', error: null })
      return this.#note(webhookId, true)
    }
    const error = answer.ok ? 'bad-status' : answer.code
    log.warn({ webhookId, runId, sequence, attempts, status, error }, 'a delivery failed')
    const dueAt = this.options.durable && status !== GONE ? nextTry(delivery, attempts, now) : undefined
    if (dueAt === undefined) await store.finishDelivery({ ...result, state: 'failed', error })
    else await store.retryDelivery({ ...result, error, dueAt })
    return this.#note(webhookId, false)
  }

  /** What an outcome means for the subscription as a whole. */
  async #note(webhookId: string, success: boolean): Promise<void> {
    const { store, clock, log, subscriptions } = this.deps
    const before = subscriptions.find(webhookId)?.health
    if (before === undefined) return
    const after = success ? afterSuccess(before) : afterFailure(before, clock.now())
    await subscriptions.record(webhookId, after)
    if (before.state !== after.state) log.warn({ webhookId }, 'a subscription failed too often and has been ended')
    if (after.openUntil === null || after.openUntil === before.openUntil) return
    log.warn({ webhookId, until: after.openUntil }, 'a receiver keeps failing; its deliveries wait')
    if (!this.options.durable || after.state === 'failed') return
    await store.postponeDeliveries(webhookId, after.openUntil)
  }

  /** The circuit is open. */
  #keepOff({ health }: Webhook, delivery: Delivery): Promise<void> {
    if (!this.options.durable) return this.#drop(delivery, 'circuit-open')
    return this.#putBack(delivery, health.openUntil ?? this.deps.clock.now())
  }

  #drop(delivery: Delivery, error: string): Promise<void> {
    return this.deps.store.finishDelivery({ ...this.#untried(delivery), error, state: 'dropped' })
  }

  /** As if it had not been claimed; its lane waits until `dueAt`. */
  #putBack(delivery: Delivery, dueAt: number): Promise<void> {
    return this.deps.store.retryDelivery({ ...this.#untried(delivery), dueAt })
  }

  #untried({ webhookId, runId, sequence, attempts, status, error }: Delivery): DeliveryResult {
    return { webhookId, runId, sequence, attempts, status, error, at: this.deps.clock.now() }
  }

  /** D3, D4. */
  async #safely({ webhookId, runId, sequence }: Delivery, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      const where = { webhookId, runId, sequence, error: String(error) }
      this.deps.log.warn(where, 'a delivery was not recorded; it is repeated when its lease is over')
    }
  }
}

/** The receiver says that it will never want this again. */
const GONE = 410
