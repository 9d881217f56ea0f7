import { get } from 'node:http'
import { afterEach, describe, expect, test } from 'vitest'
import { noQuotas, type QuotasOf, type TenantQuotas } from '../../src/core/quotas.js'
import { Admission } from '../../src/http/admission.js'
import { overriding } from './fake-engine.js'
import { type KeyName, secretOf, startHttp, type TestHost } from './harness.js'
import { listen, openStream, type Stream } from './sockets.js'

let host: TestHost
const open: Stream[] = []
afterEach(async () => {
  for (const stream of open.splice(0)) stream.close()
  await host?.close()
})

const all =
  (given: Partial<TenantQuotas>): QuotasOf =>
  tenant => ({ ...noQuotas(tenant), ...given })

const list = { url: '/v1/runs' } as const
const slowRun = async (name: KeyName) =>
  (await host.call(name, { method: 'POST', url: '/v1/runs', payload: { workflowId: 'slow' } })).json.eventsUrl as string

async function openStreams(port: number, path: string, key: KeyName, times: number): Promise<Stream[]> {
  const streams: Stream[] = []
  for (let i = 0; i < times; i += 1) streams.push(await openStream(port, path, { key }))
  open.push(...streams)
  return streams
}

const REFUSED = { error: 'quota_exceeded', details: { scope: 'tenant', raisedBy: 'operator' } }

describe('Q1: requests in flight', () => {
  test('Q1: as many as the quota says and not one more; nobody else is refused; then all works again', async () => {
    host = await startHttp({ config: { limits: { maxInflightRequests: 4 }, quotas: all({ requestsInFlight: 3 }) } })
    const path = await slowRun('alice')
    const port = await listen(host.app)
    const streams = await openStreams(port, path, 'alice', 3)
    expect(streams.map(({ status }) => status)).toEqual([200, 200, 200])
    const refused = await host.call('alice', list)
    expect(refused.status).toBe(429)
    expect(refused.json).toMatchObject(REFUSED)
    expect(refused.json.details).toMatchObject({
      quota: 'requestsInFlight',
      limit: 3,
      setting: 'quotas.requestsInFlight',
    })
    expect(refused.json.message).toMatch(/3 requests in progress.*operates this host can raise it with quotas/)
    expect(refused.headers['retry-after']).toBe('1')
    // Another key of the same tenant is the same tenant; another tenant is not.
    expect((await host.call('reader', list)).status).toBe(429)
    expect((await host.call('bob', list)).status).toBe(200)
    for (const stream of streams) stream.close()
    await expect.poll(async () => (await host.call('alice', list)).status, { timeout: 5000 }).toBe(200)
  })

  test('Q1: a key that manages tenants gets in although its tenant, or the host, is full', async () => {
    host = await startHttp({ config: { limits: { maxInflightRequests: 2 }, quotas: all({ requestsInFlight: 2 }) } })
    const port = await listen(host.app)
    await openStreams(port, await slowRun('alice'), 'alice', 2)
    expect((await host.call('bob', list)).status).toBe(503)
    expect((await host.call('operator', list)).status).toBe(200)
  })

  test('Q1: a place is given back once, however the request ends', async () => {
    host = await startHttp({
      config: { quotas: all({ requestsInFlight: 1 }) },
      wrap: overriding(() => ({ list: () => Promise.reject(new Error('a bug')) })),
    })
    for (let i = 0; i < 3; i += 1) expect((await host.call('alice', list)).status).toBe(500)
    expect((await host.call('alice', { url: '/v1/runs?limit=no' })).status).toBe(400)
    expect((await host.call('alice', { url: '/v1/workflows' })).status).toBe(200)
  })

  test('Q1: nothing is remembered of tenants that have left, and leaving twice counts once', () => {
    const admission = new Admission(10, noQuotas, { code: 'service_unavailable', message: 'full' })
    const caller = (tenant: string) => ({ tenant, scopes: new Set<never>() })
    const leave = [1, 2, 3].map(n => admission.enter(caller(`t${n}`)) as () => void)
    expect(admission.load).toEqual({ requests: 3, tenants: 3 })
    for (const go of [...leave, ...leave]) go()
    expect(admission.load).toEqual({ requests: 0, tenants: 0 })
  })

  test('Q1: what is kept for keys that manage tenants has an end too', () => {
    const admission = new Admission(0, noQuotas, { code: 'service_unavailable', message: 'full' })
    const caller = { tenant: 'ops', scopes: new Set(['tenants:manage'] as const) }
    const places = Array.from({ length: 40 }, () => admission.enter(caller))
    const taken = places.filter(place => typeof place === 'function')
    expect(taken).toHaveLength(32)
    for (const leave of taken) leave()
    expect(typeof admission.enter(caller)).toBe('function')
  })
})

describe('Q2: streams', () => {
  test('Q2: as many as the quota says and not one more, held polls included, over all keys of a tenant', async () => {
    host = await startHttp({ config: { quotas: all({ streams: 2 }) } })
    const path = await slowRun('alice')
    const port = await listen(host.app)
    const [first] = await openStreams(port, path, 'alice', 1)
    await openStreams(port, path, 'reader', 1)
    const [refused] = await openStreams(port, path, 'approver', 1)
    expect(refused?.status).toBe(429)
    expect(JSON.parse((await refused?.ended) ?? '')).toMatchObject({
      ...REFUSED,
      details: { quota: 'streams', limit: 2 },
    })
    const poll = await host.call('alice', { url: `${path}/poll?lastSequence=1000&timeout=1` })
    expect(poll.json).toMatchObject({ error: 'quota_exceeded', details: { quota: 'streams' } })
    // Reading is not streaming, and another tenant has streams of its own.
    expect((await host.call('alice', list)).status).toBe(200)
    const [others] = await openStreams(port, await slowRun('bob'), 'bob', 1)
    expect(others?.status).toBe(200)
    first?.close()
    await expect.poll(async () => (await openStreams(port, path, 'alice', 1))[0]?.status, { timeout: 5000 }).toBe(200)
  })

  test('Q2: a reader that leaves before its stream has begun leaves no stream behind', async () => {
    let release: () => void = () => undefined
    const inspecting = new Promise<void>(resolve => {
      release = resolve
    })
    let asked: () => void = () => undefined
    const wasAsked = new Promise<void>(resolve => {
      asked = resolve
    })
    let slow = false
    host = await startHttp({
      config: { quotas: all({ streams: 1, requestsInFlight: 1 }) },
      wrap: overriding(engine => ({
        async inspect(tenant, runId) {
          if (slow) {
            asked()
            await inspecting
          }
          return engine.inspect(tenant, runId)
        },
      })),
    })
    const path = await slowRun('alice')
    const port = await listen(host.app)
    slow = true
    const headers = { authorization: `Bearer ${secretOf('alice')}` }
    const request = get({ port, path, host: '127.0.0.1', agent: false, headers })
    request.on('error', () => undefined)
    await wasAsked
    const gone = new Promise(resolve => request.on('close', resolve))
    request.destroy()
    await gone
    slow = false
    // The server has seen the connection close before it goes on.
    await expect.poll(() => new Promise(resolve => host.app.server.getConnections((_, n) => resolve(n)))).toBe(0)
    release()
    await expect.poll(async () => (await host.call('alice', list)).status, { timeout: 5000 }).toBe(200)
    expect((await openStreams(port, path, 'alice', 1))[0]?.status).toBe(200)
  })
})

describe('GET /v1/quotas', () => {
  test('Q2 Q3 Q6: tells a tenant what it may have, and what it has', async () => {
    const quotas = all({ streams: 5, activeRuns: 3, storedBytes: 10_000_000, weight: 2 })
    host = await startHttp({ config: { quotas } })
    const port = await listen(host.app)
    await openStreams(port, await slowRun('alice'), 'alice', 1)
    const { status, json } = await host.call('alice', { url: '/v1/quotas' })
    expect(status).toBe(200)
    expect(json).toMatchObject({ tenant: 'acme', quotas: { streams: 5, activeRuns: 3, weight: 2 } })
    expect(json.used).toMatchObject({ streams: 1, activeRuns: 1 })
    expect(json.used.storedBytes).toBeGreaterThan(100)
    expect((await host.call('bob', { url: '/v1/quotas' })).json.used).toEqual({
      streams: 0,
      activeRuns: 0,
      storedBytes: 0,
    })
  })

  test('Q3: a run too many is 429 over HTTP, with which quota, its size and who can raise it', async () => {
    host = await startHttp({ config: { quotas: all({ activeRuns: 1 }) } })
    await slowRun('alice')
    const request = { method: 'POST', url: '/v1/runs', payload: { workflowId: 'slow' } } as const
    const { status, json, headers } = await host.call('alice', request)
    expect([status, headers['retry-after']]).toEqual([429, '1'])
    expect(json).toMatchObject({ ...REFUSED, details: { quota: 'activeRuns', limit: 1, setting: 'quotas.activeRuns' } })
    expect((await host.call('bob', request)).status).toBe(201)
  })
})
