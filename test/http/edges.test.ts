import net from 'node:net'
import { afterEach, describe, expect, test } from 'vitest'
import { asking, registerAsking } from './asking.js'
import { type KeyName, keyRecord, node, startHttp, type TestHost, workflow } from './harness.js'
import { listen, sendRaw } from './sockets.js'

let host: TestHost
afterEach(() => host.close())

const bodyOf = (response: string) => JSON.parse(response.slice(response.indexOf('\r\n\r\n') + 4))
const request = (lines: string, path = '/.well-known/openwop') =>
  `GET ${path} HTTP/1.1\r\n${lines}Connection: close\r\n\r\n`
const statusOf = (response: string) => Number(response.slice('HTTP/1.1 '.length).slice(0, 3))

describe('attack 64: a name that is not ours (DNS rebinding)', () => {
  const start = async () => {
    host = await startHttp({ config: { allowedHosts: ['localhost', '127.0.0.1', '::1', 'Assay.example'] } })
    return listen(host.app)
  }

  test.each([
    'localhost',
    'LOCALHOST:4100',
    '127.0.0.1:1',
    '[::1]:4100',
    '[::1]',
    'assay.example',
    'assay.example:443',
  ])('Host: %s is served', async name => {
    const port = await start()
    expect(statusOf(await sendRaw(port, request(`Host: ${name}\r\n`)))).toBe(200)
  })

  test.each([
    'evil.example',
    'evil.example:4100',
    'localhost.evil.example',
    'localhost.',
    '127.0.0.1.nip.io',
    '[::2]',
    '::1',
    'x@localhost',
    '',
  ])('Host: %s is 421 in the envelope, for what is public, keyed or nowhere', async name => {
    const port = await start()
    for (const path of ['/.well-known/openwop', '/v1/openapi.json', '/healthz', '/v1/runs', '/nowhere']) {
      const reply = await sendRaw(port, request(`Host: ${name}\r\n`, path))
      expect([path, statusOf(reply)]).toEqual([path, 421])
      expect(bodyOf(reply)).toEqual({
        error: 'misdirected_request',
        message: expect.any(String),
        details: { field: 'Host' },
      })
    }
  })

  test('where no names are set every one is served', async () => {
    host = await startHttp()
    const port = await listen(host.app)
    expect(statusOf(await sendRaw(port, request('Host: evil.example\r\n')))).toBe(200)
  })
})

describe('attack 61: headers that Node answers by itself, or takes the first of', () => {
  test('Expect: bogus is 417 in the envelope', async () => {
    host = await startHttp()
    const port = await listen(host.app)
    const reply = await sendRaw(port, request('Host: x\r\nExpect: bogus\r\n'))
    expect(statusOf(reply)).toBe(417)
    expect(reply).toMatch(/^content-type: application\/json/im)
    expect(bodyOf(reply)).toEqual({
      error: 'expectation_failed',
      message: expect.any(String),
      details: { field: 'Expect' },
    })
  })

  test('CONNECT is 405 in the envelope, and the connection is closed', async () => {
    host = await startHttp()
    const port = await listen(host.app)
    for (const target of ['evil.example:443', '/v1/runs', '*']) {
      const reply = await sendRaw(port, `CONNECT ${target} HTTP/1.1\r\nHost: x\r\n\r\nGET /healthz HTTP/1.1\r\n\r\n`)
      expect([target, statusOf(reply)]).toEqual([target, 405])
      expect(reply).toMatch(/^connection: close\r\ncontent-type: application\/json/im)
      expect(bodyOf(reply)).toEqual({ error: 'method_not_allowed', message: expect.any(String) })
    }
    // Whoever goes away before the answer takes nothing along.
    const gone = net.connect(port, '127.0.0.1', () =>
      gone.end('CONNECT x:1 HTTP/1.1\r\nHost: x\r\n\r\n', () => gone.resetAndDestroy()),
    )
    await new Promise(resolve => gone.once('close', resolve))
    expect(statusOf(await sendRaw(port, request('Host: x\r\n')))).toBe(200)
  })

  test('two Host headers are 400, also where they agree', async () => {
    host = await startHttp()
    const port = await listen(host.app)
    for (const second of ['x', 'y']) {
      const reply = await sendRaw(port, request(`Host: x\r\nHOST: ${second}\r\n`))
      expect([statusOf(reply), bodyOf(reply).error]).toEqual([400, 'validation_error'])
    }
  })
})

describe('attack 62: callers without a key', () => {
  const { start, link, look, use } = asking(() => host)
  const slowly = { requestsPerSecond: 1, burst: 3 }
  const rarely = { requestsPerSecond: 0.001, burst: 3 }

  test('have a bucket for each address, so that one who floods stops nobody else', async () => {
    host = await startHttp({ config: { rateLimit: { anonymous: rarely } } })
    const ask = async (remoteAddress: string) => (await host.call(null, { url: '/v1/runs', remoteAddress })).status
    expect([await ask('192.0.2.1'), await ask('::ffff:192.0.2.1'), await ask('192.0.2.1')]).toEqual([401, 401, 401])
    expect([await ask('192.0.2.1'), await ask('::ffff:192.0.2.1')]).toEqual([429, 429])
    expect([await ask('192.0.2.2'), await ask('2001:db8::1')]).toEqual([401, 401])
  })

  test('a genuine link is judged before the bucket of its address, and has one of its own', async () => {
    host = await startHttp({ config: { rateLimit: { anonymous: rarely, key: slowly } } })
    await host.engine.putWorkflow(null, workflow('asks', [node('gate', 'core.approvalGate')]))
    const runId = await start('asks')
    const { token } = (await link(runId)).json
    while ((await host.call(null, { url: '/v1/interrupts/forged.token' })).status !== 429);
    expect((await look(`${token}x`)).status).toBe(429)
    expect([(await look(token)).status, (await look(token)).status]).toEqual([200, 200])
    expect((await use(token)).status).toBe(200)
    const over = await look(token)
    expect([over.status, over.json.details.scope]).toEqual([429, 'key'])
  })
})

describe('attack 5: a key makes no key that has more than it', () => {
  const make = (name: KeyName, payload: object) => host.call(name, { method: 'POST', url: '/v1/keys', payload })
  const HOUR = 3_600_000

  /** alice, with these scopes and this end. */
  const narrowed = async (scopes: readonly string[], expiresAt: number | null = null) => {
    host = await startHttp()
    await host.store.putKey({ ...keyRecord('alice'), scopes, expiresAt })
  }

  test('no scope, and no principal but its own without approvals:delegate', async () => {
    await narrowed(['keys:manage', 'approvals:respond'])
    const wider = await make('alice', { scopes: ['runs:read'] })
    expect([wider.status, wider.json.details]).toEqual([403, { scopeRequired: 'runs:read' }])
    const other = await make('alice', { scopes: ['approvals:respond'], principal: 'bob' })
    expect([other.status, other.json.details.scopeRequired]).toEqual([403, 'approvals:delegate'])
    expect((await make('alice', { scopes: ['approvals:respond'], principal: 'alice' })).status).toBe(201)
    expect((await make('alice', { scopes: ['approvals:respond'] })).json.principal).toBe('alice')
  })

  test('whoever may speak for others may make them keys', async () => {
    await narrowed(['keys:manage', 'approvals:delegate', 'approvals:respond'])
    expect((await make('alice', { scopes: ['approvals:respond'], principal: 'bob' })).json.principal).toBe('bob')
  })

  test('no longer life: what is not asked for ends with its maker, what is asked for may end earlier', async () => {
    const end = Date.now() + HOUR
    await narrowed(['keys:manage'], end)
    const made = await make('alice', { scopes: ['keys:manage'] })
    expect([made.status, made.json.expiresAt]).toEqual([201, new Date(end).toISOString()])
    const later = await make('alice', { scopes: ['keys:manage'], expiresAt: new Date(end + 1).toISOString() })
    expect([later.status, later.json.details]).toEqual([
      403,
      { field: 'body.expiresAt', latest: new Date(end).toISOString() },
    ])
    for (const at of [end, end - 1]) {
      const expiresAt = new Date(at).toISOString()
      expect((await make('alice', { scopes: ['keys:manage'], expiresAt })).json.expiresAt).toBe(expiresAt)
    }
  })
})

describe('attack 11: another tenant, by its name', () => {
  const read = (name: KeyName, tenant: string, url = '/v1/runs') =>
    host.call(name, { url, headers: { 'x-assay-tenant': tenant } })

  test('is shown to whoever manages tenants and to nobody else, and is only looked at', async () => {
    host = await startHttp()
    await registerAsking(host)
    const { runId } = (
      await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId: 'approve' } })
    ).json
    const seen = await read('operator', 'acme')
    expect(seen.json.runs.map((run: { runId: string }) => run.runId)).toEqual([runId])
    const snapshot = (await read('operator', 'acme', `/v1/runs/${runId}`)).json
    expect([snapshot.owner.tenant, snapshot.interrupt?.interruptToken]).toEqual(['acme', undefined])
    for (const name of ['bob', 'reader'] as const) {
      const refused = await read(name, name === 'bob' ? 'acme' : 'beta')
      expect([refused.status, refused.json.details]).toEqual([403, { scopeRequired: 'tenants:manage' }])
    }
    expect((await read('alice', 'acme')).json.runs).toHaveLength(1)
    expect((await read('operator', 'acme~test')).json.runs).toEqual([])
    const headers = { 'x-assay-tenant': 'acme' }
    const cancel = await host.call('operator', { method: 'POST', url: `/v1/runs/${runId}/cancel`, headers })
    expect([cancel.status, cancel.json.error]).toEqual([400, 'validation_error'])
    expect((await read('operator', 'acme', '/v1/keys')).status).toBe(403)
    for (const bad of ['', '*', 'acme~', 'ac\u00e9me', 'a'.repeat(65)])
      expect((await read('operator', bad)).status).toBe(400)
  })
})
