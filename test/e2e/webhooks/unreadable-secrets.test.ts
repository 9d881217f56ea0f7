import { randomBytes } from 'node:crypto'
import { afterEach, expect, test } from 'vitest'
import { MemoryStore } from '../../../src/store/memory/memory-store.js'
import { ManualClock } from '../../../src/testing/manual-clock.js'
import { createVault } from '../../../src/vault/vault.js'
import { startHttp } from '../../http/harness.js'
import { type RigOptions, webhookRig } from './rig.js'
import { answering, startSink } from './sink.js'
import { until } from './until.js'

const [had, other] = [createVault([randomBytes(32)]), createVault([randomBytes(32)])]

const closing: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close()
})

/** Well before the end, where every bit of a letter counts. */
const withAnotherLetter = (sealed: string) =>
  `${sealed.slice(0, -8)}${sealed.at(-8) === 'A' ? 'B' : 'A'}${sealed.slice(-7)}`

const rigWith = async (options: RigOptions) => {
  const rig = await webhookRig(options)
  closing.push(() => rig.webhooks.stop(0))
  return rig
}

test('a list of subscriptions is shown whatever state their secrets are in, and says what to do', async () => {
  const store = new MemoryStore()
  const [before, now] = [await rigWith({ store, vault: had }), await rigWith({ store, vault: other })]
  const lost = await before.subscribe('http://127.0.0.1:9/lost')
  const changed = await now.subscribe('http://127.0.0.1:9/changed')
  const good = await now.subscribe('http://127.0.0.1:9/good')
  const kept = (await store.listWebhooks('acme')).find(({ webhookId }) => webhookId === changed.webhookId)
  await store.putWebhookSecret(changed.webhookId, withAnotherLetter(kept!.secret))
  const host = await startHttp({ store, deps: { webhooks: now.webhooks } })
  closing.push(() => host.close())
  const { status, json, text } = await host.call('alice', { url: '/v1/webhooks' })
  expect(status).toBe(200)
  const circuit = { state: 'closed', openUntil: null, consecutiveFailures: 0 }
  const undeliverable = { state: 'undeliverable', secretFingerprint: null, circuit }
  const shown = [lost, changed, good].map(({ webhookId }) =>
    json.webhooks.find((one: { webhookId: string }) => one.webhookId === webhookId),
  )
  expect(shown).toMatchObject([
    { webhookId: lost.webhookId, ...undeliverable, reason: expect.stringMatching(/ASSAY_DATA_KEY.*make it again/) },
    { webhookId: changed.webhookId, ...undeliverable, reason: expect.stringMatching(/changed.*make it again/) },
    { webhookId: good.webhookId, state: 'active', secretFingerprint: expect.stringMatching(/^[0-9a-f]{8}$/), circuit },
  ])
  expect(shown[2]).not.toHaveProperty('reason')
  expect(text).not.toContain('sealed:')
  expect(host.lines.filter(({ level }) => level === 'error')).toEqual([])
  for (const { webhookId } of [lost, changed]) {
    expect((await host.call('alice', { url: `/v1/webhooks/${webhookId}/deliveries` })).status).toBe(200)
    expect((await host.call('alice', { method: 'DELETE', url: `/v1/webhooks/${webhookId}` })).status).toBe(204)
  }
  expect((await host.call('alice', { url: '/v1/webhooks' })).json.webhooks).toHaveLength(1)
})

test('nothing is sent unsigned: deliveries wait for a host that has the key', async () => {
  const [store, clock] = [new MemoryStore(), new ManualClock()]
  const sink = await startSink({ behave: answering(200) })
  closing.push(() => sink.close())
  const webhook = await (await rigWith({ store, clock, vault: had })).subscribe(sink.url)
  for (const close of closing.splice(1)) await close()
  const without = await rigWith({ store, clock, vault: other })
  await without.happen('r1', ['run.started'])
  await until(async () => without.lines.some(line => line.includes('a delivery was not recorded')), 10_000)
  await without.webhooks.stop(0)
  expect([sink.received.length, (await without.deliveries(webhook))[0]?.state]).toEqual([0, 'pending'])
  const again = await rigWith({ store, clock, vault: had })
  await again.settle(webhook, 10_000)
  expect([sink.received.length, (await again.deliveries(webhook))[0]?.state]).toEqual([1, 'delivered'])
})
