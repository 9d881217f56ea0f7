import { hash } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { commit, creation } from '../../contract/store/fixtures.js'
import { type KeyName, startHttp, type TestHost } from '../../http/harness.js'
import { PRIVATE_HOSTS } from './private-urls.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp({ config: { accessLog: true } })
})
afterAll(() => host.close())

const URL = 'https://sink.example/hook?token=CNRY'
const register = (payload: object, key: KeyName = 'alice', headers: { [name: string]: string } = {}) =>
  host.call(key, { method: 'POST', url: '/v1/webhooks', payload, headers })
const list = async (key: KeyName) => (await host.call(key, { url: '/v1/webhooks' })).json.webhooks
const remove = (key: KeyName, id: string, query = '') =>
  host.call(key, { method: 'DELETE', url: `/v1/webhooks/${id}${query}` })

describe('registering a webhook', () => {
  test('R-HOOK-1: 201 with the secret, shown this once', async () => {
    const made = await register({ url: URL, events: ['run.*', 'node.failed'], tags: ['a'] })
    expect(made.status).toBe(201)
    const { webhookId, secret, secretFingerprint, ...rest } = made.json
    expect(webhookId).toMatch(/^wh_[\w-]+$/)
    expect(secret).toMatch(/^[0-9a-f]{64}$/)
    expect(secretFingerprint).toBe(hash('sha256', secret, 'hex').slice(0, 8))
    expect(rest).toEqual({ url: URL, events: ['run.*', 'node.failed'], tags: ['a'], createdAt: expect.any(String) })
    expect(made.headers['cache-control']).toBe('no-store')
    const listed = await host.call('alice', { url: '/v1/webhooks' })
    expect(listed.text).not.toContain(secret)
    expect(listed.json.webhooks.at(-1)).toEqual({
      ...rest,
      webhookId,
      secretFingerprint,
      state: 'active',
      circuit: { state: 'closed', openUntil: null, consecutiveFailures: 0 },
    })
    expect(JSON.stringify(host.lines)).not.toMatch(new RegExp(`${secret}|CNRY`))
  })

  test('a replay makes no second one and leaves the secret out; nothing stored for replays has it', async () => {
    const before = (await list('alice')).length
    const keyed = { 'idempotency-key': 'same' }
    const first = await register({ url: URL, events: ['*'] }, 'alice', keyed)
    const second = await register({ url: URL, events: ['*'] }, 'alice', keyed)
    const { secret, ...shown } = first.json
    expect([second.status, second.json]).toEqual([201, shown])
    expect(await list('alice')).toHaveLength(before + 1)
    const place = { tenant: 'acme', endpoint: 'POST /v1/webhooks', key: 'same' }
    const response = await host.store.getResponse(place)
    expect(response?.body).toContain(shown.webhookId)
    expect(response?.body).not.toContain(secret)
  })

  test.each(PRIVATE_HOSTS)('R-HOOK-2: https://%s/ is 400 webhook_url_rejected', async name => {
    const reply = await register({ url: `https://${name}/`, events: ['*'] })
    expect([reply.status, reply.json.error]).toEqual([400, 'webhook_url_rejected'])
  })

  test.each([
    'http://sink.example/',
    'ftp://sink.example/',
    'file:///etc/passwd',
    'https://user:CNRY@sink.example/',
    'https://sink.example:25/',
    'https://sink.example/#x',
    'https://unknown.invalid/',
  ])('%s is 400 webhook_url_rejected', async url => {
    const reply = await register({ url, events: ['*'] })
    expect([reply.status, reply.json.error, reply.json.details.field]).toEqual([
      400,
      'webhook_url_rejected',
      'body.url',
    ])
    expect(reply.text).not.toContain('CNRY')
  })

  test.each([
    {},
    { url: URL },
    { events: ['*'] },
    { url: URL, events: [] },
    { url: URL, events: ['*'], secret: 'mine' },
    { url: URL, eventTypes: ['*'] },
    { url: URL, events: ['run.*.x'] },
    { url: URL, events: ['**'] },
    { url: URL, events: ['Run started'] },
    { url: URL, events: Array(65).fill('*') },
    { url: URL, events: 'run.started' },
    { url: URL, events: ['*'], tags: [''] },
    { url: URL, events: ['*'], tags: ['a\u0000'] },
    { url: '', events: ['*'] },
    { url: 'not a url', events: ['*'] },
    { url: 'sink.example', events: ['*'] },
    { url: 'https://sink.example/\u0000', events: ['*'] },
    { url: `https://sink.example/${'x'.repeat(2048)}`, events: ['*'] },
    { url: 7, events: ['*'] },
  ])('%j is 400 validation_error', async payload => {
    const reply = await register(payload)
    expect([reply.status, reply.json.error]).toEqual([400, 'validation_error'])
    expect(reply.text).not.toContain('mine')
  })

  test('R-HOOK-1: for another tenant it is 403; naming the own one changes nothing', async () => {
    const foreign = await register({ url: URL, events: ['*'], tenantId: 'beta' })
    expect([foreign.status, foreign.json.error]).toEqual([403, 'tenant_membership_required'])
    expect((await register({ url: URL, events: ['*'], tenantId: 'acme' })).status).toBe(201)
    expect((await register({ url: URL, events: ['*'], tenantId: 'acme' }, 'tester')).status).toBe(201)
    expect(await list('bob')).toEqual([])
  })
})

describe('subscriptions of a tenant', () => {
  test('R-HOOK-6: are removed once; then, and for others, they are unknown', async () => {
    const { webhookId } = (await register({ url: URL, events: ['*'] })).json
    const unknown = [404, 'subscription_not_found']
    for (const [key, id] of [
      ['bob', webhookId],
      ['tester', webhookId],
      ['alice', 'wh_none'],
    ] as const) {
      const reply = await remove(key, id)
      expect([reply.status, reply.json.error]).toEqual(unknown)
      const deliveries = await host.call(key, { url: `/v1/webhooks/${id}/deliveries` })
      expect([deliveries.status, deliveries.json.error]).toEqual(unknown)
    }
    const foreign = await remove('alice', webhookId, '?tenantId=beta')
    expect([foreign.status, foreign.json.error]).toEqual([403, 'tenant_membership_required'])
    expect((await remove('alice', webhookId, '?tenantId=acme')).status).toBe(204)
    expect((await remove('alice', webhookId)).json.error).toBe('subscription_not_found')
  })

  test('live and test keys do not see each other’s', async () => {
    const { webhookId } = (await register({ url: URL, events: ['*'] }, 'tester')).json
    const ids = async (key: KeyName) => (await list(key)).map((one: { webhookId: string }) => one.webhookId)
    expect(await ids('tester')).toContain(webhookId)
    expect(await ids('alice')).not.toContain(webhookId)
  })

  test('show their circuit and their deliveries, newest first', async () => {
    const { webhookId } = (await register({ url: URL, events: ['*'] }, 'bob')).json
    const { store } = host
    await store.registerHost({ hostId: 'writer', hostName: 'writer', leaseMs: 60_000, now: 1 })
    const at = Date.UTC(2026, 0, 1)
    const place = { webhookId, tenant: 'beta', runId: 'run-1' }
    const owed = [0, 1].map(sequence => ({ ...place, sequence, eventType: 'node.started', at: at + sequence }))
    await store.commit(commit('writer', [creation('run-1', {}, { tenant: 'beta' })], { deliveries: owed }))
    const result = { webhookId, runId: 'run-1', sequence: 0, attempts: 1, status: 500, error: 'bad-status', at }
    await store.finishDelivery({ ...result, state: 'failed' })
    const openUntil = Date.UTC(2100, 0, 1)
    const health = { state: 'active', consecutiveFailures: 4, openUntil, failures: [at] } as const
    await store.putWebhookHealth(webhookId, health)
    expect((await list('bob'))[0]).toMatchObject({
      state: 'active',
      circuit: { state: 'open', openUntil: '2100-01-01T00:00:00.000Z', consecutiveFailures: 4 },
    })
    const url = `/v1/webhooks/${webhookId}/deliveries`
    const { deliveries } = (await host.call('bob', { url })).json
    const common = { runId: 'run-1', eventType: 'node.started' }
    expect(deliveries).toMatchObject([
      { ...common, sequence: 1, state: 'pending', attempts: 0, status: null, error: null, finishedAt: null },
      { ...common, sequence: 0, state: 'failed', attempts: 1, status: 500, error: 'bad-status' },
    ])
    expect((await host.call('bob', { url: `${url}?limit=1` })).json.deliveries).toHaveLength(1)
    expect((await host.call('bob', { url: `${url}?limit=0` })).json.error).toBe('validation_error')
  })
})
