import { expect, it } from 'vitest'
import type { Delivery, Webhook } from '../../../../src/engine/ports/deliveries.js'
import type { Store } from '../../../../src/engine/ports/store.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'

const NOW = f.T0 + 10_000
const LEASE = 1000

const fresh = { state: 'pending', attempts: 0, status: null, error: null, finishedAt: null } as const

/** A host, a subscription, and a way to make runs of which every event is to be delivered to it. */
async function subscribed(store: Store, over: Partial<Webhook> = {}) {
  const hostId = await f.host(store)
  const webhook = f.webhook(over)
  await store.putWebhook(webhook)
  const run = async (count: number): Promise<string> => {
    const runId = f.id('run')
    const events = f.events(0, count)
    const deliveries = events.map(event => f.delivery(webhook, runId, event.sequence))
    expect(await store.commit(f.commit(hostId, [f.creation(runId, { events })], { deliveries }))).toEqual({
      kind: 'committed',
    })
    return runId
  }
  return { hostId, webhook, run }
}

const claim = (store: Store, hostId: string, now = NOW, limit = 100): Promise<Delivery[]> =>
  store.claimDeliveries({ hostId, now, leaseMs: LEASE, limit })

const places = (deliveries: readonly Delivery[]) => deliveries.map(one => `${one.runId}:${one.sequence}`).sort()

export function deliveryContract(open: () => Promise<Opened>): void {
  it('stores, lists, changes and deletes subscriptions, each for its tenant', async () => {
    const { store } = await open()
    const [old, young, foreign] = [
      f.webhook({ createdAt: f.T0, tags: ['a"b'], events: ['*', 'run.*'] }),
      f.webhook({ createdAt: f.T0 + 1 }),
      f.webhook({ createdAt: f.T0 + 2, tenant: 'other' }),
    ]
    for (const webhook of [foreign, young, old]) await store.putWebhook(webhook)
    expect(await store.listWebhooks('acme')).toEqual([old, young])
    expect(await store.listWebhooks('other')).toEqual([foreign])
    expect(await store.listWebhooks('')).toEqual([])
    expect(await store.listWebhooks(null)).toEqual([old, young, foreign])
    const together = ['whk-b', 'whk-c', 'whk-a'].map(webhookId =>
      f.webhook({ webhookId, tenant: 'same', createdAt: f.T0 }),
    )
    for (const webhook of together) await store.putWebhook(webhook)
    expect((await store.listWebhooks('same')).map(one => one.webhookId)).toEqual(['whk-a', 'whk-b', 'whk-c'])
    for (const { webhookId } of together) await store.deleteWebhook('same', webhookId)

    const health = { state: 'failed', consecutiveFailures: 3, openUntil: f.T0, failures: [f.T0, f.T0 + 1] } as const
    await store.putWebhookHealth(old.webhookId, health)
    await store.putWebhookHealth('no-such-webhook', health)
    await store.putWebhook({ ...young, url: 'https://example.com/other' })
    await store.putWebhookSecret(old.webhookId, 'sealed:1')
    await store.putWebhookSecret('no-such-webhook', 'sealed:2')
    expect(await store.listWebhooks('acme')).toEqual([
      { ...old, health, secret: 'sealed:1' },
      { ...young, url: 'https://example.com/other' },
    ])

    expect(await store.deleteWebhook('other', old.webhookId)).toBe(false)
    expect(await store.deleteWebhook('acme', old.webhookId)).toBe(true)
    expect(await store.deleteWebhook('acme', old.webhookId)).toBe(false)
    expect((await store.listWebhooks(null)).map(one => one.webhookId)).toEqual([young.webhookId, foreign.webhookId])
  })

  it('S1 writes deliveries with their events, and none when the commit is refused', async () => {
    const { store } = await open()
    const { hostId, webhook, run } = await subscribed(store)
    expect(await store.nextDeliveryAt()).toBeNull()
    const runId = await run(2)
    const deliveries = [f.delivery(webhook, runId, 5)]
    const stale = f.commit(hostId, [f.extension(runId, 5)], { deliveries })
    expect((await store.commit(stale)).kind).toBe('conflict')
    const listed = await store.listDeliveries('acme', webhook.webhookId, 10)
    expect(listed).toEqual([1, 0].map(sequence => ({ ...f.delivery(webhook, runId, sequence), ...fresh })))
    expect(await store.nextDeliveryAt()).toBeLessThanOrEqual(NOW)
  })

  it('rejects a delivery of an event that the commit does not write', async () => {
    const { store } = await open()
    const { hostId, webhook, run } = await subscribed(store)
    const runId = await run(2)
    for (const delivery of [
      f.delivery(webhook, runId, 1),
      f.delivery(webhook, runId, 3),
      f.delivery(webhook, 'x', 2),
    ]) {
      const commit = f.commit(hostId, [f.extension(runId, 2)], { deliveries: [delivery] })
      await expect(store.commit(commit)).rejects.toThrow(/delivery/)
    }
    expect((await store.readRun(null, runId))?.length).toBe(2)
  })

  it('S4 a repeated append doubles no delivery and revives none', async () => {
    const { store } = await open()
    const { hostId, webhook } = await subscribed(store)
    const runId = f.id('run')
    const append = f.commit(hostId, [f.creation(runId)], { deliveries: [f.delivery(webhook, runId, 1)] })
    expect(f.kinds(await Promise.all([store.commit(append), store.commit(append)]))).toEqual({ committed: 2 })
    const [only, ...more] = await claim(store, hostId)
    expect(more).toEqual([])
    await store.finishDelivery({ ...f.tried(only!), state: 'delivered' })
    expect(await store.commit(append)).toEqual({ kind: 'committed' })
    expect(await claim(store, hostId)).toEqual([])
    expect(await store.listDeliveries('acme', webhook.webhookId, 10)).toHaveLength(1)
  })

  it('drops deliveries for a subscription that is gone, and writes the events all the same', async () => {
    const { store } = await open()
    const { hostId, webhook, run } = await subscribed(store)
    await store.deleteWebhook('acme', webhook.webhookId)
    const runId = await run(2)
    expect(await store.readEvents(runId, 0)).toHaveLength(2)
    expect(await store.listDeliveries('acme', webhook.webhookId, 10)).toEqual([])
    expect(await claim(store, hostId)).toEqual([])
    expect(await store.nextDeliveryAt()).toBeNull()
  })

  it('hands out the earliest event of each lane, in order, one at a time', async () => {
    const { store } = await open()
    const { hostId, webhook, run } = await subscribed(store)
    const [a, b] = [await run(3), await run(2)]
    const first = await claim(store, hostId)
    expect(places(first)).toEqual([`${a}:0`, `${b}:0`].sort())
    expect(first).toContainEqual({ ...f.delivery(webhook, a, 0), ...fresh })
    expect(await claim(store, hostId)).toEqual([])
    const of = (runId: string, list: Delivery[]) => list.find(one => one.runId === runId)!
    await store.finishDelivery({ ...f.tried(of(a, first)), state: 'delivered' })
    const second = await claim(store, hostId)
    expect(places(second)).toEqual([`${a}:1`])
    await store.finishDelivery({ ...f.tried(second[0]!), state: 'dropped' })
    await store.finishDelivery({ ...f.tried(of(b, first)), state: 'failed' })
    const third = await claim(store, hostId)
    expect(places(third)).toEqual([`${a}:2`, `${b}:1`].sort())
    for (const one of third) await store.finishDelivery({ ...f.tried(one), state: 'delivered' })
    expect(await store.nextDeliveryAt()).toBeNull()
    expect(await claim(store, hostId, NOW + 10 * LEASE)).toEqual([])

    await store.commit(f.commit(hostId, [f.extension(a, 3)], { deliveries: [f.delivery(webhook, a, 3)] }))
    expect(places(await claim(store, hostId))).toEqual([`${a}:3`])
  })

  it('claims at most `limit`, and gives each lane to exactly one of several claimers', async () => {
    const { store, peer } = await open()
    const { hostId, run } = await subscribed(store)
    const second = await peer()
    const other = await f.host(second)
    await Promise.all(Array.from({ length: 20 }, () => run(2)))
    expect(await claim(store, hostId, NOW, 3)).toHaveLength(3)
    const claims = await Promise.all(
      Array.from({ length: 10 }, (_, i) => (i % 2 ? claim(second, other, NOW, 2) : claim(store, hostId, NOW, 2))),
    )
    const rest = await claim(store, hostId)
    const all = [...claims.flat(), ...rest].map(one => one.runId)
    expect(all).toHaveLength(17)
    expect(new Set(all).size).toBe(17)
  })

  it('hands a lane out again when its lease is over, not before', async () => {
    const { store } = await open()
    const { hostId, run } = await subscribed(store)
    const [peer, runId] = [await f.host(store), await run(2)]
    expect(await claim(store, hostId)).toHaveLength(1)
    expect(await store.nextDeliveryAt()).toBe(NOW + LEASE)
    expect(await claim(store, peer, NOW + LEASE - 1)).toEqual([])
    expect(places(await claim(store, peer, NOW + LEASE))).toEqual([`${runId}:0`])
    expect(await claim(store, hostId, NOW + LEASE)).toEqual([])
  })

  it('hands out the lanes of a fenced host at once, and none to a host that is not alive', async () => {
    const { store } = await open()
    const { webhook, run } = await subscribed(store)
    const name = f.id('name')
    const [zombie, runId] = [await f.host(store, name), await run(1)]
    expect(await claim(store, zombie)).toHaveLength(1)
    const successor = await f.fence(store, name)
    expect(await claim(store, zombie)).toEqual([])
    expect(await claim(store, 'nobody')).toEqual([])
    expect(places(await claim(store, successor))).toEqual([`${runId}:0`])
    await store.finishDelivery({ ...f.tried({ ...webhook, runId, sequence: 0 }), state: 'delivered' })
    expect(await store.nextDeliveryAt()).toBeNull()
  })

  it('records a failed try and waits with the lane until it is due again', async () => {
    const { store } = await open()
    const { hostId, webhook, run } = await subscribed(store)
    const runId = await run(2)
    const [first] = await claim(store, hostId)
    const failed = { attempts: 3, status: 503, error: 'http_503' }
    await store.retryDelivery({ ...f.tried(first!, failed), dueAt: NOW + 50 })
    expect(await store.nextDeliveryAt()).toBe(NOW + 50)
    expect(await claim(store, hostId, NOW + 49)).toEqual([])
    expect(await claim(store, hostId, NOW + 50)).toEqual([{ ...f.delivery(webhook, runId, 0), ...fresh, ...failed }])
  })

  it('ignores what is told of a delivery that is no longer pending', async () => {
    const { store } = await open()
    const { hostId, webhook, run } = await subscribed(store)
    const runId = await run(2)
    const [first] = await claim(store, hostId)
    await store.finishDelivery({ ...f.tried(first!, { attempts: 2, at: NOW }), state: 'delivered' })
    expect(places(await claim(store, hostId))).toEqual([`${runId}:1`])
    await store.finishDelivery({ ...f.tried(first!, { attempts: 9 }), state: 'failed' })
    await store.retryDelivery({ ...f.tried(first!, { attempts: 9 }), dueAt: 0 })
    await store.finishDelivery({ ...f.tried({ ...first!, sequence: 7 }), state: 'failed' })
    expect(await claim(store, hostId)).toEqual([])
    const told = (await store.listDeliveries('acme', webhook.webhookId, 10)).find(one => one.sequence === 0)
    expect(told).toMatchObject({ state: 'delivered', attempts: 2, status: 200, error: null, finishedAt: NOW })
  })

  it('postpones all lanes of one subscription, and gives their leases back', async () => {
    const { store } = await open()
    const { hostId, webhook, run } = await subscribed(store)
    const other = await subscribed(store)
    const [leased, waiting, late] = [await run(1), await run(1), await run(1)]
    const held = await claim(store, hostId)
    const of = (runId: string) => held.find(one => one.runId === runId)!
    await store.retryDelivery({ ...f.tried(of(waiting)), dueAt: NOW + 1 })
    await store.retryDelivery({ ...f.tried(of(late)), dueAt: NOW + 900 })
    await store.postponeDeliveries(webhook.webhookId, NOW + 500)
    const elsewhere = await other.run(1)
    await store.postponeDeliveries('no-such-webhook', NOW + 500)
    expect(places(await claim(store, hostId, NOW + 499))).toEqual([`${elsewhere}:0`])
    expect(await store.nextDeliveryAt()).toBe(NOW + 500)
    expect(places(await claim(store, hostId, NOW + 500))).toEqual([`${leased}:0`, `${waiting}:0`].sort())
    expect(places(await claim(store, hostId, NOW + 900))).toEqual([`${late}:0`])
  })

  it('deletes with a subscription all that is pending for it, and for it only', async () => {
    const { store } = await open()
    const { hostId, webhook, run } = await subscribed(store)
    const other = await subscribed(store)
    const [gone, kept] = [await run(2), await other.run(1)]
    const held = await claim(store, hostId)
    expect(await store.deleteWebhook('acme', webhook.webhookId)).toBe(true)
    const late = held.find(one => one.runId === gone)!
    await store.retryDelivery({ ...f.tried(late), dueAt: 0 })
    await store.finishDelivery({ ...f.tried(late), state: 'delivered' })
    expect(await store.listDeliveries('acme', webhook.webhookId, 10)).toEqual([])
    expect(places(await claim(store, hostId, NOW + LEASE))).toEqual([`${kept}:0`])
  })

  it('lists deliveries newest first, to their tenant only', async () => {
    const { store } = await open()
    const { webhook, run } = await subscribed(store)
    const runId = await run(5)
    const listed = await store.listDeliveries('acme', webhook.webhookId, 3)
    expect(places(listed)).toEqual([2, 3, 4].map(sequence => `${runId}:${sequence}`))
    expect(listed.map(one => one.sequence)).toEqual([4, 3, 2])
    expect(await store.listDeliveries('other', webhook.webhookId, 3)).toEqual([])
  })

  it('purges finished deliveries by age, never pending ones', async () => {
    const { store } = await open()
    const { hostId, webhook, run } = await subscribed(store)
    await run(4)
    for (const at of [NOW, NOW + 1, NOW + 2]) {
      const [next] = await claim(store, hostId)
      await store.finishDelivery({ ...f.tried(next!, { at }), state: 'delivered' })
    }
    expect(await store.purgeDeliveries(NOW + 2)).toBe(2)
    expect(await store.purgeDeliveries(NOW + 2)).toBe(0)
    expect(await store.purgeDeliveries(Number.MAX_SAFE_INTEGER)).toBe(1)
    expect(await store.listDeliveries('acme', webhook.webhookId, 10)).toMatchObject([{ sequence: 3, state: 'pending' }])
    expect(await claim(store, hostId)).toHaveLength(1)
  })
}
