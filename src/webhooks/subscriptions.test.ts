import { describe, expect, it } from 'vitest'
import type { Webhook, WebhookHealth } from '../engine/ports/deliveries.js'
import { ManualClock, settled } from '../testing/manual-clock.js'
import { afterFailure, HEALTHY } from './circuit.js'
import { Subscriptions } from './subscriptions.js'

const webhook = (webhookId: string): Webhook => ({
  webhookId,
  tenant: 'acme',
  url: 'https://sink.example/',
  events: ['*'],
  tags: [],
  secret: 's',
  createdAt: 0,
  health: HEALTHY,
})

/** A store whose answers wait until they are let go; a read tells what was there when it was asked for. */
class SlowStore {
  readonly rows = new Map<string, Webhook>()
  readonly waiting: (() => void)[] = []
  reads = 0

  async listWebhooks(): Promise<Webhook[]> {
    this.reads += 1
    const found = [...this.rows.values()]
    await new Promise<void>(resolve => this.waiting.push(resolve))
    return found
  }

  async putWebhookHealth(webhookId: string, health: WebhookHealth): Promise<void> {
    await new Promise<void>(resolve => this.waiting.push(resolve))
    this.rows.set(webhookId, { ...this.rows.get(webhookId)!, health })
  }

  async letGo(): Promise<void> {
    for (const go of this.waiting.splice(0)) go()
    await settled()
  }
}

function slow() {
  const store = new SlowStore()
  const clock = new ManualClock()
  const lines: string[] = []
  const note = (_: object, message: string) => void lines.push(message)
  return { store, clock, lines, known: new Subscriptions(store, clock, { info: note, warn: note, error: note }) }
}

describe('subscriptions in memory', () => {
  it('a read that began before a change made here does not undo it', async () => {
    const { store, known } = slow()
    const reading = known.refresh()
    await settled()
    store.rows.set('a', webhook('a'))
    known.put(webhook('a'))
    await store.letGo()
    expect(known.find('a')).toBeDefined()
    await store.letGo()
    await reading
    expect([known.find('a')?.webhookId, known.of('acme')?.length, store.reads]).toEqual(['a', 1, 2])
  })

  it('a read waits for health that is being written', async () => {
    const { store, known } = slow()
    store.rows.set('a', webhook('a'))
    known.put(webhook('a'))
    const worse = afterFailure(HEALTHY, 1)
    const written = known.record('a', worse)
    const reading = known.refresh()
    await settled()
    expect(store.reads).toBe(0)
    await store.letGo()
    await store.letGo()
    await Promise.all([written, reading])
    expect(known.find('a')?.health).toEqual(worse)
  })

  it('looks again after a second, once, without making anybody wait', async () => {
    const { store, clock, known } = slow()
    expect([known.of('acme'), known.of('acme')]).toEqual([undefined, undefined])
    await settled()
    expect(store.reads).toBe(1)
    await store.letGo()
    await clock.advance(999)
    known.of('acme')
    await settled()
    expect(store.reads).toBe(1)
    await clock.advance(1)
    known.of('acme')
    await settled()
    expect(store.reads).toBe(2)
    await store.letGo()
  })

  it('what cannot be read stays as it was, and is said', async () => {
    const { clock, known, store, lines } = slow()
    known.put(webhook('a'))
    store.listWebhooks = () => Promise.reject(new Error('down'))
    await clock.advance(1000)
    expect(known.of('acme')).toHaveLength(1)
    await settled()
    expect(lines).toEqual(['subscriptions could not be read'])
    expect(known.of('acme')).toHaveLength(1)
  })
})
