import { createHmac } from 'node:crypto'
import { afterEach, describe, expect, test } from 'vitest'
import { createEgress } from '../../../src/egress/egress.js'
import type { Webhook } from '../../../src/engine/ports/deliveries.js'
import { StoreUnavailable } from '../../../src/engine/ports/event-log.js'
import { MemoryStore } from '../../../src/store/memory/memory-store.js'
import { systemClock } from '../../../src/system.js'
import { settled } from '../../../src/testing/manual-clock.js'
import { HEALTHY, OPEN_MS } from '../../../src/webhooks/circuit.js'
import { renderEvent } from '../../../src/wire/render.js'
import { PRIVATE_HOSTS } from './private-urls.js'
import { overriding, type Rig, type RigOptions, webhookRig } from './rig.js'
import { answering, type Behaviour, type Received, type Sink, startSink } from './sink.js'
import { until } from './until.js'

const rigs: Rig[] = []
const sinks: Sink[] = []
afterEach(async () => {
  await Promise.all(rigs.splice(0).map(rig => rig.webhooks.stop(0)))
  await Promise.all(sinks.splice(0).map(sink => sink.close()))
})

async function rigWith(options: RigOptions = {}): Promise<Rig> {
  const rig = await webhookRig(options)
  rigs.push(rig)
  return rig
}

async function sinkWith(behave: Behaviour = answering(200)): Promise<Sink> {
  const sink = await startSink({ behave })
  sinks.push(sink)
  return sink
}

const parsed = ({ body }: Received) =>
  JSON.parse(body) as { runId: string; workspaceId: string; event: { sequence: number } }
const idOf = ({ headers }: Received) => String(headers['x-openwop-delivery-id'])
const places = (received: readonly Received[]) =>
  received.map(one => `${parsed(one).runId}:${parsed(one).event.sequence}`)
const types = (count: number, type = 'node.started') => Array<string>(count).fill(type)
const outcomes = async (rig: Rig, webhook: Webhook) =>
  (await rig.deliveries(webhook)).map(({ state, error }) => (error === null ? state : `${state} ${error}`))

/** Keeps every request open until told. */
function holding(): { behave: Behaviour; open: () => number; release: () => void } {
  const held: (() => void)[] = []
  let free = false
  const behave: Behaviour = response => {
    if (free) response.end()
    else held.push(() => response.end())
  }
  const release = () => {
    free = true
    for (const end of held.splice(0)) end()
  }
  return { behave, open: () => held.length, release }
}

describe('a delivery', () => {
  test('R-HOOK-3: says what happened, under the headers and the signature of the contract', async () => {
    const rig = await rigWith()
    const sink = await sinkWith()
    const webhook = await rig.subscribe(sink.url, { events: ['run.started'] })
    await rig.happen('r1', ['run.started', 'node.started'])
    await rig.settle(webhook)
    expect(sink.received).toHaveLength(1)
    const { headers, body } = sink.received[0] as Received
    const [stored] = await rig.store.readEvents('r1', 0, 1)
    const doc = renderEvent('r1', stored!, { engineVersion: '1' })
    expect(body).toBe(`{"runId":"r1","workspaceId":"acme","event":${doc}}`)
    const timestamp = String(rig.clock.now() / 1000)
    const signature = createHmac('sha256', webhook.secret).update(`${timestamp}.${body}`).digest('hex')
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'user-agent': 'openwop-webhook-dispatcher/1.2.3',
      'x-openwop-webhook-id': webhook.webhookId,
      'x-openwop-event-type': 'run.started',
      'x-openwop-timestamp': timestamp,
      'x-openwop-signature': `sha256=${signature}`,
      'x-openwop-signature-algorithm': 'v1',
      'x-openwop-delivery-id': expect.stringMatching(/^[\w-]{43}$/),
      'x-openwop-delivery-attempt': '1',
    })
    expect(webhook.secret).toMatch(/^[0-9a-f]{64}$/)
    expect(await rig.deliveries(webhook)).toMatchObject([{ state: 'delivered', attempts: 1, status: 200, error: null }])
  })

  test('is signed with a secret that stands nowhere in plain text, and was sealed if it did', async () => {
    const store = new MemoryStore()
    const secret = 'ab'.repeat(32)
    const sink = await sinkWith()
    const old = { webhookId: 'wh_old', tenant: 'acme', url: sink.url, events: ['*'], tags: [], secret, createdAt: 1 }
    await store.putWebhook({ ...old, health: HEALTHY })
    const rig = await rigWith({ store })
    const young = await rig.subscribe(sink.url)
    for (const kept of await store.listWebhooks(null)) expect(kept.secret).toMatch(/^sealed:/)
    expect((await rig.webhooks.list('acme')).map(one => one.secret)).toEqual([secret, young.secret])
    await rig.happen('r1', ['run.started'])
    await rig.settle(young)
    await rig.settle({ ...old, health: HEALTHY })
    const signed = sink.received.map(({ headers, body }) => {
      const key = headers['x-openwop-webhook-id'] === 'wh_old' ? secret : young.secret
      const of = `${headers['x-openwop-timestamp']}.${body}`
      return headers['x-openwop-signature'] === `sha256=${createHmac('sha256', key).update(of).digest('hex')}`
    })
    expect(signed).toEqual([true, true])
  })

  test('goes out when it is committed, without time going by', async () => {
    const rig = await rigWith()
    const sink = await sinkWith()
    const webhook = await rig.subscribe(sink.url)
    const before = rig.clock.now()
    await rig.happen('r1', types(20))
    await rig.settle(webhook)
    expect([sink.received.length, rig.clock.now()]).toEqual([20, before])
  })

  test('R-HOOK-5: tenant, type and tags decide who is told; other tenants never are', async () => {
    const rig = await rigWith()
    const [mine, theirs] = [await sinkWith(), await sinkWith()]
    const all = await rig.subscribe(mine.url)
    const some = await rig.subscribe(mine.url, { events: ['run.*', 'node.failed'], tags: ['a', 'b'] })
    const other = await rig.subscribe(theirs.url, { tenant: 'beta' })
    await rig.happen('r1', ['run.started', 'node.started', 'node.failed'], { tags: ['b', 'c'] })
    await rig.happen('r2', ['run.started'], { tags: ['c'] })
    await rig.happen('r3', ['run.started'], { tenant: 'acme~test' })
    await rig.settle(all)
    await rig.settle(some)
    const toldTo = (webhook: Webhook) =>
      places(mine.received.filter(({ headers }) => headers['x-openwop-webhook-id'] === webhook.webhookId)).sort()
    expect(toldTo(all)).toEqual(['r1:0', 'r1:1', 'r1:2', 'r2:0'])
    expect(toldTo(some)).toEqual(['r1:0', 'r1:2'])
    expect([theirs.connections, await rig.deliveries(other)]).toEqual([0, []])
  })

  test('to nobody costs nothing: the same empty list each time', async () => {
    const rig = await rigWith()
    const ask = () => rig.webhooks.deliveriesFor({ tenant: 'acme', runId: 'r', tags: [] }, [])
    expect(ask()).toBe(ask())
    expect(ask()).toEqual([])
  })
})

describe('E12: receivers that fail', () => {
  test('best effort: one try, and the run goes on to the next event', async () => {
    const rig = await rigWith()
    const sink = await sinkWith((response, n) => response.writeHead(n === 0 ? 500 : 200).end())
    const webhook = await rig.subscribe(sink.url)
    await rig.happen('r1', types(3))
    await rig.settle(webhook)
    expect(places(sink.received)).toEqual(['r1:0', 'r1:1', 'r1:2'])
    expect(await outcomes(rig, webhook)).toEqual(['failed bad-status', 'delivered', 'delivered'])
    expect((await rig.deliveries(webhook))[0]).toMatchObject({ attempts: 1, status: 500 })
  })

  test('durable: every event arrives, in order per run, with id and bytes the same on each try', async () => {
    let faults = 0
    const behave: Behaviour = (response, n) => {
      // Never four in a row, so the circuit stays closed.
      const bad = n % 3 !== 2 && n < 60
      if (bad) faults += 1
      if (n % 7 === 0 && bad) response.destroy()
      else response.writeHead(bad ? (n % 2 === 0 ? 503 : 302) : 200, { location: 'http://127.0.0.1:1/' }).end()
    }
    const rig = await rigWith({ durable: true })
    const sink = await sinkWith(behave)
    const webhook = await rig.subscribe(sink.url)
    const runs = ['r1', 'r2', 'r3', 'r4']
    for (const run of runs) await rig.happen(run, types(10))
    await rig.settle(webhook, 500)
    expect(faults).toBeGreaterThan(30)
    expect(await outcomes(rig, webhook)).toEqual(types(40, 'delivered'))
    for (const run of runs) {
      const sequences = sink.received
        .map(parsed)
        .filter(({ runId }) => runId === run)
        .map(({ event }) => event.sequence)
      expect([...sequences].sort((a, b) => a - b)).toEqual(sequences)
      expect(new Set(sequences).size).toBe(10)
    }
    const tries = new Map<string, Received[]>()
    for (const one of sink.received) tries.set(idOf(one), [...(tries.get(idOf(one)) ?? []), one])
    expect(tries.size).toBe(40)
    for (const same of tries.values()) {
      expect(new Set(same.map(({ body }) => body)).size).toBe(1)
      expect(same.map(({ headers }) => headers['x-openwop-delivery-attempt'])).toEqual(same.map((_, i) => `${i + 1}`))
      for (const { headers, body } of same) {
        const text = `${headers['x-openwop-timestamp']}.${body}`
        const signature = createHmac('sha256', webhook.secret).update(text).digest('hex')
        expect(headers['x-openwop-signature']).toBe(`sha256=${signature}`)
      }
      const [first, last] = [same[0], same.at(-1)].map(one => Number(one?.headers['x-openwop-timestamp']))
      expect(last! - first!).toBeGreaterThanOrEqual(same.length > 1 ? 1 : 0)
    }
  })

  test('durable: 410 Gone ends the delivery at once', async () => {
    const rig = await rigWith({ durable: true })
    const sink = await sinkWith((response, n) => response.writeHead(n === 0 ? 410 : 200).end())
    const webhook = await rig.subscribe(sink.url)
    await rig.happen('r1', types(2))
    await rig.settle(webhook)
    expect(await outcomes(rig, webhook)).toEqual(['failed bad-status', 'delivered'])
  })

  test('best effort: four failures in a row open the circuit; what comes meanwhile is dropped, then one is tried', async () => {
    const rig = await rigWith()
    const sink = await sinkWith(answering(500))
    const webhook = await rig.subscribe(sink.url)
    await rig.happen('r1', types(7))
    await rig.settle(webhook)
    expect(sink.received).toHaveLength(4)
    const dropped = types(3, 'dropped circuit-open')
    expect(await outcomes(rig, webhook)).toEqual([...types(4, 'failed bad-status'), ...dropped])
    expect((await rig.health(webhook))?.openUntil).toBe(rig.clock.now() + OPEN_MS)

    await rig.clock.advance(OPEN_MS)
    await rig.happen('r1', types(2))
    await rig.settle(webhook)
    expect(sink.received).toHaveLength(5)
    expect((await outcomes(rig, webhook)).slice(7)).toEqual(['failed bad-status', 'dropped circuit-open'])

    await rig.clock.advance(OPEN_MS)
    sink.behave = answering(200)
    await rig.happen('r1', types(2))
    await rig.settle(webhook)
    expect((await outcomes(rig, webhook)).slice(9)).toEqual(['delivered', 'delivered'])
    expect(await rig.health(webhook)).toMatchObject({ consecutiveFailures: 0, openUntil: null, state: 'active' })
  })

  test('durable: an open circuit keeps everything back, and all of it arrives in order when the receiver is well', async () => {
    const rig = await rigWith({ durable: true })
    const sink = await sinkWith(answering(500))
    const webhook = await rig.subscribe(sink.url)
    await rig.happen('r1', types(5))
    await until(async () => {
      await rig.clock.advance(500)
      return (await rig.health(webhook))?.openUntil !== null
    })
    expect(sink.received).toHaveLength(4)
    await rig.happen('r2', types(3))
    await rig.clock.advance(OPEN_MS / 2)
    expect(sink.received).toHaveLength(4)
    expect(new Set(await outcomes(rig, webhook)).size).toBe(2)
    sink.behave = answering(200)
    await rig.clock.advance(OPEN_MS / 2)
    await rig.settle(webhook, 500)
    expect(await outcomes(rig, webhook)).toEqual(types(8, 'delivered'))
    const delivered = places(sink.received.slice(4))
    expect(delivered.filter(place => place.startsWith('r1'))).toEqual(['r1:0', 'r1:1', 'r1:2', 'r1:3', 'r1:4'])
    expect(delivered.filter(place => place.startsWith('r2'))).toEqual(['r2:0', 'r2:1', 'r2:2'])
  })

  test('an open circuit also holds for what was already waiting its turn', async () => {
    const rig = await rigWith()
    const sink = await sinkWith(answering(500))
    const webhook = await rig.subscribe(sink.url)
    for (let run = 0; run < 20; run++) await rig.happen(`r${run}`, types(1))
    await rig.settle(webhook)
    // Eight at once, and one more for each of the three failures before the fourth.
    expect(sink.received.length).toBeGreaterThanOrEqual(4)
    expect(sink.received.length).toBeLessThanOrEqual(11)
    const dropped = (await outcomes(rig, webhook)).filter(outcome => outcome === 'dropped circuit-open')
    expect(dropped.length).toBe(20 - sink.received.length)
  })

  test('durable: opening the circuit postpones all lanes at once', async () => {
    const postponed: number[] = []
    const rig = await rigWith({
      durable: true,
      wrapStore: store =>
        overriding(store, {
          postponeDeliveries: (webhookId, at) => {
            postponed.push(at)
            return store.postponeDeliveries(webhookId, at)
          },
        }),
    })
    const sink = await sinkWith(answering(500))
    const webhook = await rig.subscribe(sink.url)
    const openUntil = rig.clock.now() + OPEN_MS
    for (let run = 0; run < 20; run++) await rig.happen(`r${run}`, types(1))
    await until(() => postponed.length > 0)
    await settled()
    expect(postponed).toEqual([openUntil])
    expect(await outcomes(rig, webhook)).not.toContain('dropped circuit-open')
  })

  test('half-open lets one delivery through, however many are due', async () => {
    const rig = await rigWith({ durable: true })
    const { behave, open, release } = holding()
    const sink = await sinkWith(behave)
    const webhook = await rig.subscribe(sink.url)
    const over = { ...HEALTHY, consecutiveFailures: 4, openUntil: rig.clock.now() - 1 }
    await rig.store.putWebhookHealth(webhook.webhookId, over)
    await rig.clock.advance(6000)
    for (let run = 0; run < 6; run++) await rig.happen(`r${run}`, types(1))
    await until(() => open() === 1)
    await settled()
    expect([open(), sink.connections]).toEqual([1, 1])
    release()
    await rig.settle(webhook)
    expect(sink.received).toHaveLength(6)
    expect((await rig.health(webhook))?.openUntil).toBeNull()
  })

  test('the hundredth failure in a week ends the subscription; what is left is dropped and nothing new is owed', async () => {
    const rig = await rigWith()
    const sink = await sinkWith(answering(500))
    const webhook = await rig.subscribe(sink.url)
    const failures = Array.from({ length: 99 }, (_, i) => rig.clock.now() - 1000 + i)
    await rig.store.putWebhookHealth(webhook.webhookId, { ...HEALTHY, failures })
    await rig.clock.advance(6000)
    await rig.happen('r1', types(4))
    await rig.settle(webhook)
    expect(await outcomes(rig, webhook)).toEqual(['failed bad-status', ...types(3, 'dropped subscription-failed')])
    expect((await rig.health(webhook))?.state).toBe('failed')
    expect(await rig.happen('r1', types(1))).toEqual([])
    expect(sink.received).toHaveLength(1)
  })

  test('a slow receiver has at most 8 requests under way, all of them together at most 32', async () => {
    const rig = await rigWith()
    const held = await Promise.all(
      Array.from({ length: 6 }, async () => {
        const hold = holding()
        const sink = await sinkWith(hold.behave)
        return { hold, sink, webhook: await rig.subscribe(sink.url) }
      }),
    )
    for (let run = 0; run < 12; run++) await rig.happen(`r${run}`, types(2))
    const open = () => held.map(({ hold }) => hold.open())
    const sum = () => open().reduce((total, count) => total + count, 0)
    await until(() => sum() === 32)
    await settled()
    expect(sum()).toBe(32)
    expect(Math.max(...open())).toBeLessThanOrEqual(8)
    for (const { hold } of held) hold.release()
    for (const { webhook } of held) await rig.settle(webhook, 200)
    expect(held.map(({ sink }) => sink.received.length)).toEqual(Array(6).fill(24))
  })

  test('one slow receiver does not hold up another', async () => {
    const rig = await rigWith()
    const hold = holding()
    const [slow, quick] = [await sinkWith(hold.behave), await sinkWith()]
    await rig.subscribe(slow.url, { tags: ['slow'] })
    const webhook = await rig.subscribe(quick.url, { tags: ['quick'] })
    for (let run = 0; run < 100; run++) await rig.happen(`s${run}`, types(1), { tags: ['slow'] })
    await until(() => hold.open() === 8)
    await rig.happen('q', types(10), { tags: ['quick'] })
    await rig.settle(webhook)
    expect([quick.received.length, hold.open()]).toEqual([10, 8])
    hold.release()
  })
})

describe('E12: hosts and stores that fail', () => {
  test('a host that dies between answer and record: the next one repeats it under the same id', async () => {
    let faults = 0
    const first = await rigWith({
      durable: true,
      hostId: 'first',
      wrapStore: store =>
        overriding(store, {
          finishDelivery: async () => {
            faults += 1
            throw new StoreUnavailable('died')
          },
        }),
    })
    const sink = await sinkWith()
    const webhook = await first.subscribe(sink.url)
    await first.happen('r1', types(3))
    await until(() => faults === 1)
    await first.webhooks.stop(0)
    const { store, clock } = first
    const second = await rigWith({ durable: true, store, clock })
    await clock.advance(10_000)
    expect(sink.received).toHaveLength(1)
    // The first host is fenced by a successor of its name; its lease ends with it.
    await store.registerHost({ hostId: 'first-again', hostName: 'first', leaseMs: 10 ** 12, now: clock.now() })
    await second.settle(webhook, 1000)
    expect(faults).toBe(1)
    expect(places(sink.received)).toEqual(['r1:0', 'r1:0', 'r1:1', 'r1:2'])
    expect(idOf(sink.received[0]!)).toBe(idOf(sink.received[1]!))
    expect(new Set(sink.received.map(idOf)).size).toBe(3)
  })

  test('an outcome that could not be recorded is repeated when the lease is over, not before', async () => {
    let faults = 0
    const rig = await rigWith({
      wrapStore: store =>
        overriding(store, {
          finishDelivery: done => {
            if (faults > 0) return store.finishDelivery(done)
            faults += 1
            return Promise.reject(new StoreUnavailable('lost'))
          },
        }),
    })
    const sink = await sinkWith()
    const webhook = await rig.subscribe(sink.url)
    await rig.happen('r1', types(2))
    await until(() => faults === 1)
    await rig.clock.advance(59_000)
    expect(sink.received).toHaveLength(1)
    await rig.settle(webhook, 1000)
    expect(places(sink.received)).toEqual(['r1:0', 'r1:0', 'r1:1'])
    expect(rig.lines.join()).toContain('was not recorded')
  })

  test('a store that fails at every kind of call delays deliveries and loses none', async () => {
    const faults = new Map<string, number>()
    const flaky = [
      'claimDeliveries',
      'nextDeliveryAt',
      'readEvents',
      'retryDelivery',
      'finishDelivery',
      'listWebhooks',
    ] as const
    let calm = true
    const rig = await rigWith({
      durable: true,
      wrapStore: store =>
        new Proxy(store, {
          get(target, name) {
            const value = Reflect.get(target, name)
            if (typeof value !== 'function') return value
            return (...args: unknown[]) => {
              const count = faults.get(String(name)) ?? 0
              if (calm || count >= 3 || !flaky.some(one => one === name)) return Reflect.apply(value, target, args)
              faults.set(String(name), count + 1)
              return Promise.reject(new StoreUnavailable('not now'))
            }
          },
        }),
    })
    const sink = await sinkWith((response, n) => response.writeHead(n % 3 === 0 ? 500 : 200).end())
    const webhook = await rig.subscribe(sink.url)
    calm = false
    for (const run of ['r1', 'r2', 'r3']) await rig.happen(run, types(4))
    await rig.settle(webhook, 1000)
    expect([...faults.keys()].sort()).toEqual([...flaky].sort())
    expect([...faults.values()]).toEqual(Array(flaky.length).fill(3))
    expect(await outcomes(rig, webhook)).toEqual(types(12, 'delivered'))
  })

  test('what has waited its turn too long is left to its lease, which another host may have by then', async () => {
    const rig = await rigWith()
    const hold = holding()
    const sink = await sinkWith(hold.behave)
    const webhook = await rig.subscribe(sink.url)
    for (let run = 0; run < 12; run++) await rig.happen(`r${run}`, types(1))
    await until(() => hold.open() === 8)
    await rig.clock.advance(51_000)
    hold.release()
    await until(async () => (await outcomes(rig, webhook)).filter(state => state === 'delivered').length === 8)
    await settled()
    expect(sink.received).toHaveLength(8)
    await rig.settle(webhook, 1000)
    expect(new Set(sink.received.map(idOf)).size).toBe(12)
    expect(sink.received).toHaveLength(12)
  })

  test('stopping waits for what is under way and gives the rest back', async () => {
    const rig = await rigWith()
    const hold = holding()
    const sink = await sinkWith(hold.behave)
    const webhook = await rig.subscribe(sink.url)
    for (let run = 0; run < 10; run++) await rig.happen(`r${run}`, types(1))
    await until(() => hold.open() === 8)
    const stopped = rig.webhooks.stop(5000)
    await settled()
    hold.release()
    await stopped
    expect((await outcomes(rig, webhook)).sort()).toEqual([...types(8, 'delivered'), ...types(2, 'pending')])
    const next = await rigWith({ store: rig.store, clock: rig.clock })
    await next.settle(webhook)
    expect(sink.received).toHaveLength(10)
  })

  test('what is cut when the time to stop is over counts as no try, and is not held against the receiver', async () => {
    const rig = await rigWith()
    const hold = holding()
    const sink = await sinkWith(hold.behave)
    const webhook = await rig.subscribe(sink.url)
    await rig.happen('r1', types(1))
    await until(() => hold.open() === 1)
    await rig.webhooks.stop(0)
    expect(await rig.deliveries(webhook)).toMatchObject([{ state: 'pending', attempts: 0, error: null }])
    expect(await rig.health(webhook)).toEqual(HEALTHY)
    expect(await rig.store.nextDeliveryAt()).toBeLessThanOrEqual(rig.clock.now())
  })
})

describe('subscriptions', () => {
  test('nothing more is sent to one that was removed, though it was owed', async () => {
    const rig = await rigWith()
    const hold = holding()
    const sink = await sinkWith(hold.behave)
    const webhook = await rig.subscribe(sink.url)
    await rig.happen('r1', types(5))
    for (let run = 0; run < 20; run++) await rig.happen(`s${run}`, types(1))
    await until(() => hold.open() === 8)
    expect(await rig.webhooks.remove('beta', webhook.webhookId)).toBe(false)
    expect(await rig.webhooks.remove('acme', webhook.webhookId)).toBe(true)
    hold.release()
    await rig.clock.advance(120_000)
    expect(sink.received).toHaveLength(8)
    expect(await rig.happen('r1', types(1))).toEqual([])
    expect(await rig.webhooks.deliveries('acme', webhook.webhookId, 10)).toBeUndefined()
  })

  test('one made or removed at another host is known here within seconds', async () => {
    const rig = await rigWith()
    const sink = await sinkWith()
    const peer = await rigWith({ store: rig.store, clock: rig.clock })
    const webhook = await peer.subscribe(sink.url)
    await rig.clock.advance(6000)
    expect(await rig.happen('r1', types(1))).toHaveLength(1)
    await rig.settle(webhook)
    await peer.webhooks.remove('acme', webhook.webhookId)
    await rig.clock.advance(6000)
    expect(await rig.happen('r1', types(1))).toEqual([])
  })

  test('a delivery for one that a peer has made this moment is not taken for a leftover', async () => {
    const rig = await rigWith()
    const sink = await sinkWith()
    const peer = await rigWith({ store: rig.store, clock: rig.clock })
    await peer.webhooks.stop(0)
    const webhook = await peer.subscribe(sink.url)
    rig.webhooks.committed(await peer.happen('r1', types(1)))
    await rig.settle(webhook)
    expect(await outcomes(rig, webhook)).toEqual(['delivered'])
  })

  test('a tenant may have a hundred', async () => {
    const rig = await rigWith()
    for (let n = 0; n < 100; n++) await rig.subscribe('https://sink.example/')
    const refused = await rig.webhooks.register('acme', { url: 'https://sink.example/', events: ['*'] })
    expect(refused).toMatchObject({ ok: false, refusal: { code: 'validation_error', details: { limit: 100 } } })
    await rig.subscribe('https://sink.example/', { tenant: 'beta' })
  })

  test('none can be made for a private address, and one that is there all the same is not delivered to', async () => {
    const egress = createEgress({ allowPrivate: false, clock: systemClock, resolve: async () => ['93.184.216.34'] })
    const rig = await rigWith({ egress })
    const sink = await sinkWith()
    const urls = PRIVATE_HOSTS.map(host => `https://${host}:${sink.port}/`)
    const webhooks: Webhook[] = []
    for (const [n, url] of urls.entries()) {
      const answer = await rig.webhooks.register('acme', { url, events: ['*'] })
      expect(answer).toMatchObject({ ok: false, refusal: { code: 'webhook_url_rejected' } })
      const webhook = { webhookId: `wh_${n}`, tenant: `t${n}`, url, events: ['*'], tags: [], secret: 's', createdAt: 0 }
      webhooks.push({ ...webhook, health: HEALTHY })
    }
    for (const webhook of webhooks) await rig.store.putWebhook(webhook)
    await rig.clock.advance(6000)
    for (const { tenant } of webhooks) await rig.happen(`run-${tenant}`, types(1), { tenant })
    for (const webhook of webhooks) {
      await rig.settle(webhook)
      expect([webhook.url, await outcomes(rig, webhook)]).toEqual([webhook.url, ['failed blocked-address']])
    }
    expect(sink.connections).toBe(0)
  })

  test('R-HOOK-2: a name that turns private after registration is not delivered to', async () => {
    const sink = await sinkWith()
    let address = '93.184.216.34'
    const egress = createEgress({ allowPrivate: false, clock: systemClock, resolve: async () => [address] })
    const rig = await rigWith({ egress, durable: true })
    const webhook = await rig.subscribe(`https://rebinding.example:${sink.port}/`)
    address = '127.0.0.1'
    await rig.happen('r1', types(1))
    await until(async () => (await rig.deliveries(webhook))[0]?.error === 'blocked-address')
    expect(sink.connections).toBe(0)
  })

  test('deliveries are forgotten a week after they ended', async () => {
    const rig = await rigWith()
    const sink = await sinkWith()
    const webhook = await rig.subscribe(sink.url)
    await rig.happen('r1', types(2))
    await rig.settle(webhook)
    const old = rig.clock.now()
    await rig.webhooks.stop(0)
    await rig.clock.advance(7 * 24 * 3_600_000 + 1)
    const next = await rigWith({ store: rig.store, clock: rig.clock })
    await until(async () => (await next.deliveries(webhook)).length === 0)
    expect(next.clock.now()).toBeGreaterThan(old)
  })

  test('logs name neither URL, secret nor contents', async () => {
    const rig = await rigWith({ durable: true })
    const sink = await sinkWith(answering(500))
    const webhook = await rig.subscribe(`${sink.url}?token=CNRY`)
    await rig.happen('r1', types(3))
    await until(async () => {
      await rig.clock.advance(1000)
      return (await rig.health(webhook))?.openUntil !== null
    })
    const text = rig.lines.join('\n')
    expect(rig.lines.length).toBeGreaterThanOrEqual(4)
    for (const secret of ['CNRY', webhook.secret, '127.0.0.1', '"n":']) expect(text).not.toContain(secret)
  })
})
