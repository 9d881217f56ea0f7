import { randomUUID } from 'node:crypto'
import { createEgress, type Egress } from '../../../src/egress/egress.js'
import type { Delivery, Webhook } from '../../../src/engine/ports/deliveries.js'
import type { StoredEvent } from '../../../src/engine/ports/event-log.js'
import type { Log } from '../../../src/engine/ports/log.js'
import { MemoryStore } from '../../../src/store/memory/memory-store.js'
import { systemClock, systemIds } from '../../../src/system.js'
import { glassHostVault } from '../../../src/testing/agents.js'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import type { DataVault } from '../../../src/vault/vault.js'
import type { DeliverySource } from '../../../src/webhooks/dispatcher.js'
import { Webhooks } from '../../../src/webhooks/webhooks.js'
import { creation, event, extension } from '../../contract/store/fixtures.js'
import { until } from './until.js'

export type RigOptions = {
  readonly durable?: boolean
  readonly egress?: Egress
  /** What the dispatcher sees of the store. */
  readonly wrapStore?: (store: DeliverySource) => DeliverySource
  readonly hostId?: string
  /** Share these to be a second host on the same data. */
  readonly store?: MemoryStore
  readonly clock?: ManualClock
  readonly vault?: DataVault
}

export type Rig = Awaited<ReturnType<typeof webhookRig>>

/** Webhooks over the memory store and a manual clock; requests go over real loopback sockets in real time. */
export async function webhookRig(options: RigOptions = {}) {
  const {
    durable = false,
    store = new MemoryStore(),
    clock = new ManualClock(),
    hostId = `host-${randomUUID()}`,
    vault = glassHostVault,
  } = options
  const lines: string[] = []
  const note = (fields: object, message: string) => void lines.push(JSON.stringify({ ...fields, message }))
  const log: Log = { info: note, warn: note, error: note }
  const egress = options.egress ?? createEgress({ allowPrivate: true, clock: systemClock })
  const seen = options.wrapStore?.(store) ?? store
  const webhooks = new Webhooks(
    { store: seen, egress, clock, ids: systemIds, log, vault, hostId: () => hostId },
    { durable, version: '1.2.3', engineVersion: '1' },
  )
  await store.registerHost({ hostId, hostName: hostId, leaseMs: 10 ** 12, now: clock.now() })
  await webhooks.load()
  webhooks.start()

  const subscribe = async (url: string, more: { tenant?: string; events?: string[]; tags?: string[] } = {}) => {
    const { tenant = 'acme', events = ['*'], tags = [] } = more
    const answer = await webhooks.register(tenant, { url, events, tags })
    if (!answer.ok) throw new Error(JSON.stringify(answer))
    return answer.value
  }

  /** Commits events of these types as the engine does: to a new run, or to the end of one. */
  const happen = async (runId: string, types: readonly string[], run: { tenant?: string; tags?: string[] } = {}) => {
    const { tenant = 'acme', tags = [] } = run
    const from = (await store.readRun(null, runId))?.length ?? 0
    const events: StoredEvent[] = types.map((type, i) => event(from + i, { type, at: clock.now() }))
    const deliveries = webhooks.deliveriesFor({ tenant, runId, tags }, events)
    const stream = from === 0 ? creation(runId, { events }, { tenant, tags }) : extension(runId, from, { events })
    const commit = { appendId: randomUUID(), hostId, streams: [stream], wakes: [], deliveries }
    const result = await store.commit(commit)
    if (result.kind !== 'committed') throw new Error(result.kind)
    webhooks.committed(deliveries)
    return deliveries
  }

  const deliveries = async ({ tenant, webhookId }: Webhook): Promise<Delivery[]> =>
    (await store.listDeliveries(tenant, webhookId, 10_000)).reverse()

  return {
    store,
    clock,
    lines,
    webhooks,
    hostId,
    subscribe,
    happen,
    deliveries,
    health: async ({ tenant, webhookId }: Webhook) =>
      (await store.listWebhooks(tenant)).find(one => one.webhookId === webhookId)?.health,
    /** Resolves when no delivery of the subscription is pending; time goes by in steps meanwhile. */
    async settle(webhook: Webhook, stepMs = 0) {
      await until(async () => {
        if (stepMs > 0) await clock.advance(stepMs)
        return (await deliveries(webhook)).every(({ state }) => state !== 'pending')
      }, 30_000)
    },
  }
}

/** The same object with some methods replaced. */
export const overriding = <T extends object>(target: T, own: Partial<T>): T =>
  new Proxy(target, {
    get(whole, name) {
      const value = Reflect.get(Object.hasOwn(own, name) ? own : whole, name)
      return typeof value === 'function' ? value.bind(whole) : value
    },
  })
