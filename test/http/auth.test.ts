import { afterEach, describe, expect, test } from 'vitest'
import { hashKey } from '../../src/http/auth/key-cache.js'
import { keyRecord, secretOf, startHttp, type TestHost } from './harness.js'
import { listen, openStream, sendRaw } from './sockets.js'

let host: TestHost
afterEach(() => host.close())

const get = (authorization: string) => host.call(null, { url: '/v1/runs', headers: { authorization } })

describe('authentication', () => {
  test('A1 R-AUTH-1: anything but one well-formed bearer key is 401 with a challenge', async () => {
    host = await startHttp()
    const good = secretOf('alice')
    for (const header of ['', 'Bearer', 'Bearer ', `Basic ${good}`, `bearer  ${good}`, good, `Bearer ${good} x`]) {
      const reply = await get(header)
      expect([header, reply.status, reply.json.error]).toEqual([header, 401, 'unauthenticated'])
      expect(reply.headers['www-authenticate']).toMatch(/^Bearer/)
    }
    expect((await get(`bearer ${good}`)).status).toBe(200)
  })

  test('A1: two Authorization headers are 401, whichever is right', async () => {
    host = await startHttp()
    const port = await listen(host.app)
    const good = `Authorization: Bearer ${secretOf('alice')}\r\n`
    const reply = await sendRaw(
      port,
      `GET /v1/runs HTTP/1.1\r\nHost: x\r\n${good}Authorization: Bearer nope\r\nConnection: close\r\n\r\n`,
    )
    expect(reply).toMatch(/^HTTP\/1.1 401/)
  })

  test('A2/A4 R-AUTH-1: a near miss is 401, and neither the answer nor the log repeats it', async () => {
    host = await startHttp({ config: { accessLog: true } })
    const good = secretOf('alice')
    for (const key of [
      `${good.slice(0, -1)}1`,
      good.slice(0, 20),
      `${good}x`,
      'CNRY-rejected-key-0123',
      'x'.repeat(9000),
    ]) {
      const reply = await get(`Bearer ${key}`)
      expect(reply.status).toBe(401)
      expect(JSON.stringify([reply.json, reply.headers, host.lines])).not.toContain(key.slice(0, 24))
    }
  })

  test('A2 R-AUTH-2: keys are stored as digests only', async () => {
    host = await startHttp()
    const keys = await host.store.listKeys()
    expect(JSON.stringify(keys)).not.toContain(secretOf('alice'))
    expect(keys.map(key => key.hash)).toContain(hashKey(secretOf('alice')))
  })

  test('A3 R-AUTH-3: an expired key is key_expired, a revoked one key_revoked', async () => {
    host = await startHttp()
    await host.store.putKey({ ...keyRecord('alice'), expiresAt: 1 })
    expect((await host.call('alice', { url: '/v1/runs' })).json.error).toBe('key_expired')
    await host.store.putKey({ ...keyRecord('bob'), revokedAt: 1 })
    const reply = await host.call('bob', { url: '/v1/runs' })
    expect([reply.status, reply.json.error]).toEqual([401, 'key_revoked'])
  })

  test('A3 R-AUTH-3: revoking a key refuses it at once and ends its open streams', async () => {
    host = await startHttp({ config: { timeouts: { keyRecheckMs: 20 } } })
    const created = await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId: 'slow' } })
    const port = await listen(host.app)
    const stream = await openStream(port, created.json.eventsUrl, { key: 'reader' })
    await stream.until(/run\.started/)
    expect((await host.call('alice', { method: 'DELETE', url: '/v1/keys/key_reader' })).status).toBe(204)
    expect(await stream.ended).not.toContain('run.completed')
    expect((await host.call('reader', { url: '/v1/runs' })).json.error).toBe('key_revoked')
  })

  test('A6 R-AUTH-6: test keys and live keys of one tenant do not see each other’s runs', async () => {
    host = await startHttp()
    const create = { method: 'POST', url: '/v1/runs', payload: { workflowId: 'noop' } } as const
    const live = (await host.call('alice', create)).json.statusUrl
    const test = (await host.call('tester', create)).json.statusUrl
    expect((await host.call('tester', { url: live })).status).toBe(404)
    expect((await host.call('alice', { url: test })).status).toBe(404)
    expect((await host.call('tester', { url: test })).json.owner.tenant).toBe('acme~test')
    expect((await host.call('alice', { url: '/v1/runs' })).json.runs).toHaveLength(1)
  })

  test('A8 R-AUTH-8 R-REST-26: identity headers change nothing; X-Force-Engine-Version needs a test key', async () => {
    host = await startHttp()
    const ask = (key: 'alice' | 'tester', headers: object) =>
      host.call(key, { method: 'POST', url: '/v1/runs', payload: { workflowId: 'noop' }, headers: { ...headers } })
    const forged = await ask('alice', {
      'x-tenant-id': 'beta',
      'x-forwarded-user': 'root',
      'x-http-method-override': 'DELETE',
    })
    expect(forged.status).toBe(201)
    expect((await host.call('alice', { url: forged.json.statusUrl })).json.owner).toEqual({
      tenant: 'acme',
      principal: 'alice',
    })
    expect((await ask('alice', { 'x-force-engine-version': '1' })).json.error).toBe('force_engine_version_forbidden')
    expect((await ask('tester', { 'x-force-engine-version': '99' })).json.error).toBe(
      'unsupported_force_engine_version',
    )
    expect((await ask('tester', { 'x-force-engine-version': '1' })).status).toBe(201)
  })

  test('R-TRACE-3: the access log has run id, tenant, status, code and correlation id, and no key material', async () => {
    host = await startHttp({ config: { accessLog: true } })
    await host.call('alice', { url: '/v1/runs/unknown-run' })
    const line = host.lines.find(({ message }) => message === 'request')
    expect(line?.fields).toMatchObject({
      tenant: 'acme',
      keyId: 'key_alice',
      runId: 'unknown-run',
      status: 404,
      code: 'not_found',
    })
    expect(line?.fields).toHaveProperty('correlationId')
    expect(JSON.stringify(host.lines)).not.toContain(secretOf('alice'))
  })
})
