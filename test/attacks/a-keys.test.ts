import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { afterAll, beforeAll, expect } from 'vitest'
import { sha256 } from '../../src/digest.js'
import type { KeyStore } from '../../src/engine/ports/keys.js'
import { KeyCache } from '../../src/http/auth/key-cache.js'
import { systemClock } from '../../src/system.js'
import { keyRecord } from '../http/harness.js'
import { sendRaw } from '../http/sockets.js'
import { attack } from './cases.js'
import { type LiveHost, type Reply, startLiveHost } from './live-host.js'

/** Keys, scopes and what claims to be them. */
let live: LiveHost
const lines: string[] = []
const note = (fields: object, message: string) => void lines.push(JSON.stringify({ ...fields, message }))
beforeAll(async () => {
  live = await startLiveHost({ 'log.access': true }, { log: { info: note, warn: note, error: note } })
})
afterAll(() => live.stop())

const told = ({ status, json }: Reply) => [status, json?.error]
const withHeader = (authorization: string) => live.call(null, '/v1/runs', { headers: { authorization } })
const UNKNOWN = [401, 'unauthenticated']

attack(1, async () => {
  const good = live.keyOf('alice')
  expect((await withHeader(`Bearer ${good}`)).status).toBe(200)
  for (const header of [
    '',
    'Bearer',
    'Bearer ',
    `Basic ${good}`,
    `bearer  ${good}`,
    good,
    `Bearer ${good}, Bearer ${good}`,
  ]) {
    const reply = await withHeader(header)
    expect([header, ...told(reply)]).toEqual([header, ...UNKNOWN])
    expect(reply.headers['www-authenticate']).toMatch(/^Bearer/)
  }
  expect(told(await live.call(null, '/v1/runs'))).toEqual(UNKNOWN)
  const two = `GET /v1/runs HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${good}\r\nAuthorization: Bearer x\r\nConnection: close\r\n\r\n`
  expect(await sendRaw(live.port, two)).toMatch(/^HTTP\/1.1 401/)
})

attack(2, async () => {
  const good = live.keyOf('alice')
  const flipped = good.slice(0, -1) + String.fromCharCode(good.charCodeAt(good.length - 1) ^ 1)
  for (const key of [flipped, good.slice(0, 20), `${good}x`, `x${good}`, good.toUpperCase(), 'x'.repeat(10_000)])
    expect(told(await withHeader(`Bearer ${key}`))).toEqual(UNKNOWN)
  for (const file of readdirSync(live.data).filter(name => name.startsWith('assay.db')))
    expect(readFileSync(path.join(live.data, file)).includes(good)).toBe(false)
})

attack(
  2,
  async () => {
    const good = live.keyOf('alice')
    const asked: string[] = []
    const record = { ...keyRecord('alice'), hash: sha256(good) }
    // Answers whatever is asked with the key, as a store that looks up by a part of it would.
    const findKey = async (digest: string) => {
      asked.push(digest)
      return record
    }
    const keys = new KeyCache({ findKey } as unknown as KeyStore, systemClock)
    const tried = Array.from({ length: good.length }, (_, n) => good.slice(0, n) + '~'.repeat(good.length - n))
    for (const key of tried) expect(await keys.identify(`Bearer ${key}`)).toMatchObject({ ok: false })
    expect(await keys.identify(`Bearer ${good}`)).toMatchObject({ ok: true })
    // One look-up each, by nothing but a digest: however much of a key is right, what is compared is as wrong as ever.
    expect(asked).toEqual([...tried, good].map(key => sha256(key)))
    const alike = asked.slice(0, -1).map(digest => [...digest].findIndex((char, i) => char !== record.hash[i]))
    expect(Math.max(...alike)).toBeLessThan(8)
  },
  'is compared by its digest, so that no time tells how much of it is right',
)

attack(3, async () => {
  const expiresAt = new Date(Date.now() + 150).toISOString()
  const made = await live.call('alice', '/v1/keys', { method: 'POST', body: { scopes: ['runs:read'], expiresAt } })
  const key = { key: made.json.key as string }
  await expect
    .poll(async () => told(await live.call(key, '/v1/runs')), { timeout: 10_000 })
    .toEqual([401, 'key_expired'])
  const other = (await live.call('alice', '/v1/keys', { method: 'POST', body: { scopes: ['runs:read'] } })).json
  expect((await live.call({ key: other.key }, '/v1/runs')).status).toBe(200)
  await live.call('alice', `/v1/keys/${other.keyId}`, { method: 'DELETE' })
  expect(told(await live.call({ key: other.key }, '/v1/runs'))).toEqual([401, 'key_revoked'])
})

attack(4, async () => {
  const canary = 'CNRY-rejected-key-0123456789'
  const reply = await withHeader(`Bearer ${canary}`)
  expect(JSON.stringify([reply.text, reply.headers, lines])).not.toContain(canary)
  expect(JSON.stringify(lines)).toContain('unauthenticated')
  expect(JSON.stringify(lines)).not.toContain(live.keyOf('alice'))
})

attack(5, async () => {
  const runId = await live.start('alice', 'waits')
  const asks = [
    ['reader', 'POST', '/v1/runs', 'runs:create'],
    ['reader', 'POST', `/v1/runs/${runId}/cancel`, 'runs:cancel'],
    ['reader', 'POST', `/v1/runs/${runId}/interrupts/wait`, 'approvals:respond'],
    ['reader', 'POST', '/v1/workflows', 'workflows:write'],
    ['reader', 'GET', '/v1/keys', 'keys:manage'],
    ['canceller', 'GET', `/v1/runs/${runId}`, 'runs:read'],
    ['canceller', 'GET', `/v1/runs/${runId}/events`, 'runs:read'],
  ] as const
  for (const [who, method, url, scopeRequired] of asks) {
    const reply = await live.call(who, url, method === 'GET' ? {} : { method, body: {} })
    expect([url, ...told(reply), reply.json.details]).toEqual([url, 403, 'forbidden', { scopeRequired }])
  }
  const body = { scopes: ['runs:read'], principal: 'somebody' }
  const maker = (
    await live.call('alice', '/v1/keys', { method: 'POST', body: { scopes: ['keys:manage', 'runs:read'] } })
  ).json
  expect(told(await live.call({ key: maker.key }, '/v1/keys', { method: 'POST', body }))).toEqual([403, 'forbidden'])
})

attack(6, async () => {
  const [mine, test] = [await live.start('alice', 'hello'), await live.start('tester', 'hello')]
  expect((await live.call('alice', `/v1/runs/${mine}`)).status).toBe(200)
  const absent = (await live.call('tester', '/v1/runs/00000000-0000-7000-8000-000000000000')).text
  expect((await live.call('tester', `/v1/runs/${mine}`)).text).toBe(absent)
  expect((await live.call('alice', `/v1/runs/${test}`)).text).toBe(absent)
})

attack(7, async () => {
  const good = live.keyOf('alice')
  const body = { scopes: ['runs:read'] }
  const { keyId, key } = (await live.call('alice', '/v1/keys', { method: 'POST', body })).json
  expect((await live.call({ key }, '/v1/runs')).status).toBe(200)
  const places: readonly (readonly [url: string, headers: { [name: string]: string }])[] = [
    [`/v1/runs?access_token=${good}&key=${good}&api_key=${good}&authorization=Bearer%20${good}`, {}],
    ['/v1/runs', { cookie: `authorization=Bearer ${good}; key=${good}` }],
    ['/v1/runs', { 'x-api-key': good, 'x-authorization': `Bearer ${good}`, 'proxy-authorization': `Bearer ${good}` }],
    ['/v1/runs', { authorization: `Basic ${Buffer.from(`alice:${good}`).toString('base64')}` }],
    ['/v1/runs', { authorization: `Token ${good}` }],
  ]
  for (const [url, headers] of places)
    expect([headers, ...told(await live.call(null, url, { headers }))]).toEqual([headers, ...UNKNOWN])
  const runId = await live.start('alice', 'asks')
  const link = await live.call('alice', `/v1/runs/${runId}/interrupts/gate:link`, { method: 'POST', body: {} })
  const others = [keyId, sha256(good), link.json.token, runId, 'alice', 'acme']
  expect(others.every(text => typeof text === 'string' && text.length > 3)).toBe(true)
  for (const text of others) expect(told(await withHeader(`Bearer ${text}`))).toEqual(UNKNOWN)
  expect((await live.call(null, `/v1/interrupts/${good}`)).status).toBe(404)
  expect(JSON.stringify(lines)).not.toContain(good)
})

attack(8, async () => {
  const headers = {
    'x-tenant-id': 'beta',
    'x-forwarded-user': 'root',
    'x-http-method-override': 'DELETE',
    'x-forwarded-for': '1.1.1.1',
  }
  const reply = await live.call('alice', '/v1/runs', { method: 'POST', body: { workflowId: 'hello' }, headers })
  expect(reply.status).toBe(201)
  const { owner } = (await live.call('alice', `/v1/runs/${reply.json.runId}`)).json
  expect(owner).toEqual({ tenant: 'acme', principal: 'alice' })
  const forced = await live.call('alice', '/v1/runs', {
    method: 'POST',
    body: { workflowId: 'hello' },
    headers: { 'x-force-engine-version': '1' },
  })
  expect(told(forced)).toEqual([403, 'force_engine_version_forbidden'])
})

attack(9, async () => {
  for (const url of [
    '/v1/host/assay/test/seams',
    '/v1/test/crash',
    '/metrics',
    '/debug',
    '/debug/pprof',
    '/v1/admin',
    '/.env',
    '/server-status',
  ])
    for (const who of [null, 'alice', 'admin'] as const) {
      const reply = await live.call(who, url)
      expect([url, who, reply.status]).toEqual([url, who, 404])
    }
})
