import { afterEach, describe, expect, test } from 'vitest'
import { StoreUnavailable } from '../../src/engine/ports/event-log.js'
import { overriding } from './fake-engine.js'
import { startHttp, type TestHost } from './harness.js'
import { listen, openStream } from './sockets.js'

let host: TestHost
afterEach(() => host.close())

const create = { method: 'POST', url: '/v1/runs', payload: { workflowId: 'noop' } } as const

describe('E62: rate limits', () => {
  const slowly = { requestsPerSecond: 1, burst: 3 }

  test('R-AUTH-7 R-ERR-3: a key over its rate is 429 with Retry-After, before its scope is looked at; others are not affected', async () => {
    host = await startHttp({ config: { rateLimit: { key: slowly } } })
    for (let i = 0; i < 3; i++) expect((await host.call('reader', create)).status).toBe(403)
    const reply = await host.call('reader', create)
    expect([reply.status, reply.json.error, reply.json.details.scope]).toEqual([429, 'rate_limited', 'key'])
    expect(reply.headers['retry-after']).toBe(String(Math.ceil(reply.json.details.retryAfterMs / 1000)))
    expect((await host.call('alice', create)).status).toBe(201)
  })

  test('requests without a valid key share one bucket, which valid keys do not draw from', async () => {
    host = await startHttp({ config: { rateLimit: { anonymous: slowly } } })
    for (let i = 0; i < 3; i++) expect((await host.call(null, create)).status).toBe(401)
    expect((await host.call(null, create)).json).toMatchObject({ error: 'rate_limited', details: { scope: 'global' } })
    expect((await host.call(null, { url: '/.well-known/openwop' })).status).toBe(429)
    expect((await host.call(null, { url: '/healthz' })).status).toBe(200)
    expect((await host.call('alice', create)).status).toBe(201)
  })
})

describe('E62: capacity', () => {
  const expectBusy = (reply: {
    status: number
    json: { error: string; details: { retryAfter: number } }
    headers: { [n: string]: unknown }
  }) => {
    expect([reply.status, reply.json.error]).toEqual([503, 'service_unavailable'])
    expect(reply.headers['retry-after']).toBe(String(reply.json.details.retryAfter))
  }

  test('R-ERR-3: requests beyond the in-flight cap are 503; open streams count; health still answers', async () => {
    host = await startHttp({ config: { limits: { maxInflightRequests: 2 } } })
    const path = (await host.call('alice', { ...create, payload: { workflowId: 'slow' } })).json.eventsUrl
    const port = await listen(host.app)
    const streams = [await openStream(port, path), await openStream(port, path)]
    expectBusy(await host.call('alice', create))
    expect((await host.call(null, { url: '/healthz' })).status).toBe(200)
    for (const stream of streams) stream.close()
    await expect.poll(async () => (await host.call('alice', create)).status, { timeout: 5000 }).toBe(201)
  })

  test('new runs are 503 while the host holds as many as it may, or does not take work; reads go on', async () => {
    let health = { ok: true, reasons: [] as string[], activeRuns: 7 }
    host = await startHttp({
      config: { limits: { maxActiveRuns: 7 } },
      wrap: overriding(() => ({ health: () => health })),
    })
    expectBusy(await host.call('alice', create))
    health = { ok: false, reasons: ['draining'], activeRuns: 0 }
    expectBusy(await host.call('alice', create))
    expect((await host.call('alice', { url: '/v1/runs' })).status).toBe(200)
    const probe = await host.call(null, { url: '/healthz' })
    expectBusy(probe)
    expect(probe.json.details.reasons).toEqual(['draining'])
  })
})

describe('faults of the host', () => {
  test('R-ERR-3: a store that cannot be reached is 503 with Retry-After, also while looking up a key', async () => {
    const down = async (): Promise<never> => {
      throw new StoreUnavailable('postgres://user:secret@db/assay refused')
    }
    host = await startHttp({ wrap: overriding(() => ({ create: down, inspect: down, list: down })) })
    for (const request of [create, { url: '/v1/runs' }, { url: '/v1/runs/abc' }]) {
      const reply = await host.call('alice', request)
      expect([reply.status, reply.json.error, reply.headers['retry-after']]).toEqual([503, 'service_unavailable', '1'])
      expect(reply.text).not.toContain('secret')
    }
    const keys = { putKey: down, listKeys: down, findKey: down }
    const blind = await startHttp({ deps: { keys } })
    expect((await blind.call('alice', { url: '/v1/runs' })).status).toBe(503)
    await blind.close()
  })

  test('R-ERR-2: a bug is 500 with a correlation id that the log has too, and nothing internal', async () => {
    const bug = new Error('CNRY /srv/assay/src/engine.ts password=hunter2')
    host = await startHttp({
      wrap: overriding(() => ({
        inspect: async () => {
          throw bug
        },
      })),
    })
    const reply = await host.call('alice', { url: '/v1/runs/abc' })
    expect([reply.status, reply.json.error]).toEqual([500, 'internal_error'])
    expect(Object.keys(reply.json).sort()).toEqual(['details', 'error', 'message'])
    expect(reply.text).not.toMatch(/CNRY|hunter2|\.ts/)
    const line = host.lines.find(({ level }) => level === 'error')
    expect(line?.fields).toMatchObject({ err: bug, correlationId: reply.json.details.correlationId })
  })

  test('a stream that breaks in the middle is cut, not ended in good order', async () => {
    host = await startHttp({
      wrap: overriding(engine => ({
        follow: async (tenant, runId, from) =>
          (async function* () {
            yield (await engine.readEvents(tenant, runId, from)) ?? []
            throw new StoreUnavailable('gone')
          })(),
      })),
    })
    const { eventsUrl } = (await host.call('alice', { ...create, payload: { workflowId: 'slow' } })).json
    const stream = await openStream(await listen(host.app), eventsUrl)
    expect(await stream.ended).not.toContain('run.completed')
    expect(host.lines.map(line => line.message)).toContain('an event stream broke off')
  })
})
