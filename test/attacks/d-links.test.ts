import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect } from 'vitest'
import { PRIVATE_HOSTS } from '../e2e/webhooks/private-urls.js'
import { attack } from './cases.js'
import { type Ask, type LiveHost, type Reply, startLiveHost } from './live-host.js'

/** Links that answer, and addresses that are told. */
let live: LiveHost
const lines: string[] = []
const note = (fields: object, message: string) => void lines.push(JSON.stringify({ ...fields, message }))
const log = { info: note, warn: note, error: note }
/** `part.example` is both, `later.example` is public once. */
let asked = 0
const resolve = async (name: string) => {
  if (name === 'part.example') return ['93.184.216.34', '10.0.0.1']
  if (name === 'later.example') return asked++ === 0 ? ['93.184.216.34'] : ['127.0.0.1']
  return name.endsWith('.example') ? ['93.184.216.34'] : []
}
beforeAll(async () => {
  live = await startLiveHost({ 'log.access': true }, { log, resolve })
})
afterAll(() => live.stop())

const post = (body: object): Ask => ({ method: 'POST', body })
const told = ({ status, json }: Reply) => [status, json?.error]
const link = async (body: object = {}) => {
  const runId = await live.start('alice', 'asks')
  const { token } = (await live.call('alice', `/v1/runs/${runId}/interrupts/gate:link`, post(body))).json
  return { runId, token: token as string }
}
const statusOf = async (runId: string) => (await live.call('alice', `/v1/runs/${runId}`)).json.status
const use = (token: string, resumeValue: object = { action: 'accept' }) =>
  live.call(null, `/v1/interrupts/${token}`, post({ resumeValue }))
const register = (url: string) => live.call('alice', '/v1/webhooks', post({ url, events: ['*'] }))

attack(39, async () => {
  const { runId, token } = await link()
  const [part = '', mac = ''] = token.split('.')
  const payload = JSON.parse(Buffer.from(part, 'base64url').toString())
  const signed = (more: object) =>
    `${Buffer.from(JSON.stringify({ ...payload, ...more })).toString('base64url')}.${mac}`
  const forged = [
    signed({ expiresAt: '2999-01-01T00:00:00.000Z' }),
    signed({ intent: 'inspect' }),
    signed({ runId: 'other' }),
    signed({ alg: 'none' }),
    `${part}.`,
    `${part}.${mac.slice(0, -1)}`,
    `${part}.${mac.toUpperCase()}`,
    `${part}.${mac}=`,
    `${part}.${mac}.x`,
    part,
    'x',
    'a'.repeat(3000),
    '%00',
  ]
  const answers = new Set<string>()
  for (const one of forged)
    for (const reply of [await live.call(null, `/v1/interrupts/${one}`), await use(one)]) {
      expect([one.slice(0, 40), reply.status]).toEqual([one.slice(0, 40), 404])
      answers.add(reply.text)
    }
  expect([...answers]).toHaveLength(1)
  expect([(await live.call(null, `/v1/interrupts/${'a'.repeat(9000)}`)).status, await statusOf(runId)]).toEqual([
    404,
    'waiting-approval',
  ])
  expect((await use(token)).status).toBe(200)
})

attack(41, async () => {
  const CLOSED = [409, 'interrupt_already_resolved']
  const once = await link()
  expect((await use(once.token)).status).toBe(200)
  expect(told(await use(once.token, { action: 'reject' }))).toEqual(CLOSED)
  expect(await statusOf(once.runId)).toBe('completed')
  const byKey = await link()
  const url = `/v1/runs/${byKey.runId}/interrupts/gate`
  expect((await live.call('alice', url, post({ resumeValue: { action: 'reject' } }))).status).toBe(200)
  expect(told(await use(byKey.token))).toEqual(CLOSED)
  const cancelled = await link()
  await live.call('alice', `/v1/runs/${cancelled.runId}/cancel`, post({}))
  expect(told(await use(cancelled.token))).toEqual(CLOSED)
  expect(await statusOf(cancelled.runId)).toBe('cancelled')
  const crowd = await link()
  const answers = await Promise.all(Array.from({ length: 20 }, () => use(crowd.token)))
  expect(answers.filter(({ status }) => status === 200)).toHaveLength(1)
  expect(answers.filter(reply => told(reply).join() === CLOSED.join())).toHaveLength(19)
})

attack(42, async () => {
  const { runId, token } = await link({ intent: 'inspect' })
  expect((await live.call(null, `/v1/interrupts/${token}`)).status).toBe(200)
  expect(told(await use(token))).toEqual([403, 'forbidden'])
  expect(await statusOf(runId)).toBe('waiting-approval')
})

attack(43, async () => {
  const { runId, token } = await link()
  for (const value of [{ action: 'nonsense' }, {}, { action: 7 }, []])
    expect([value, (await use(token, value)).status]).toEqual([value, 400])
  for (const bytes of ['{"resumeValue":{"action":"accept","action":"reject"}}', '{}'])
    expect((await live.call(null, `/v1/interrupts/${token}`, { method: 'POST', bytes })).status).toBe(400)
  expect(await statusOf(runId)).toBe('waiting-approval')
})

attack(44, async () => {
  const { runId, token } = await link()
  const looked = await live.call(null, `/v1/interrupts/${token}`)
  await use(token, { action: 'nonsense' })
  await use(token)
  const headers = { accept: 'application/json' }
  const outlets = [
    (await live.call('alice', `/v1/runs/${runId}/events?streamMode=debug`, { headers })).text,
    (await live.call('alice', `/v1/runs/${runId}/debug-bundle`)).text,
    lines.join('\n'),
  ]
  for (const outlet of outlets) expect(outlet).not.toContain(token.split('.')[1])
  expect([looked.headers['referrer-policy'], looked.headers['cache-control']]).toEqual(['no-referrer', 'no-store'])
  expect(lines.join('\n')).toContain('/v1/interrupts/')
})

attack(45, async () => {
  const ask = { ...post({ url: 'https://r.example/told', events: ['*'] }), headers: { 'idempotency-key': 'hook-1' } }
  const { secret, webhookId } = (await live.call('alice', '/v1/webhooks', ask)).json
  expect(secret).toMatch(/^[0-9a-f]{64}$/)
  const runId = await live.start('alice', 'hello')
  const replies = [
    await live.call('alice', '/v1/webhooks', ask),
    await live.call('alice', '/v1/webhooks'),
    await live.call('alice', `/v1/webhooks/${webhookId}/deliveries`),
    await live.call('alice', `/v1/webhooks/${webhookId}`),
    await live.call('alice', `/v1/runs/${runId}/debug-bundle`),
    await live.call('bob', '/v1/webhooks', ask),
    await live.call('alice', '/v1/keys'),
  ]
  expect(replies[0]!.json).toMatchObject({ webhookId })
  expect(replies[1]!.text).toContain(webhookId)
  for (const { text, headers } of replies) expect(text + JSON.stringify(headers)).not.toContain(secret)
  expect(lines.join('\n')).not.toContain(secret)
  expect((await live.call({ key: secret }, '/v1/runs')).status).toBe(401)
})

attack(46, async () => {
  const urls = [
    'http://r.example/',
    'ftp://r.example/',
    'file:///etc/passwd',
    'https://u:p@r.example/',
    'javascript:alert(1)',
    '//r.example',
    'https://',
    'https://r.example/\n',
    'https://r.example:25/',
    'x',
  ]
  for (const url of urls) expect([url, (await register(url)).status]).toEqual([url, 400])
  expect((await register('https://r.example/hook')).status).toBe(201)
})

attack(47, async () => {
  expect(PRIVATE_HOSTS.length).toBeGreaterThan(40)
  for (const name of PRIVATE_HOSTS) {
    const reply = await register(`https://${name}/`)
    expect([name, reply.status]).toEqual([name, 400])
  }
})

attack(48, async () => {
  expect(told(await register('https://part.example/'))).toEqual([400, 'webhook_url_rejected'])
  const { webhookId } = (await register('https://later.example/')).json
  await live.start('alice', 'hello')
  const deliveries = async () =>
    (await live.call('alice', `/v1/webhooks/${webhookId}/deliveries`)).json.deliveries as {
      attempts: number
      error: string | null
      status: number | null
    }[]
  await expect.poll(async () => (await deliveries()).some(one => one.attempts > 0), { timeout: 20_000 }).toBe(true)
  for (const one of await deliveries())
    expect([one.status, one.error ?? 'private-address']).toEqual([
      null,
      expect.stringMatching(/private|not-public|address/),
    ])
})

attack(49, async () => {
  const seen: string[] = []
  const receiver = http.createServer((request, response) => {
    seen.push(request.url ?? '')
    response.writeHead(request.url === '/hook' ? 307 : 200, { location: '/inside', 'retry-after': '0' }).end()
  })
  await new Promise<void>(resolve => receiver.listen(0, '127.0.0.1', resolve))
  const { port } = receiver.address() as AddressInfo
  const near = await startLiveHost({ 'webhooks.allowPrivate': true, 'webhooks.durable': false })
  try {
    const register = (path: string) =>
      near.call('alice', '/v1/webhooks', post({ url: `http://127.0.0.1:${port}${path}`, events: ['run.completed'] }))
    const { webhookId } = (await register('/hook')).json
    expect((await register('/plain')).status).toBe(201)
    await near.start('alice', 'hello')
    const attempts = async () =>
      (await near.call('alice', `/v1/webhooks/${webhookId}/deliveries`)).json.deliveries as { status: number | null }[]
    await expect.poll(async () => (await attempts())[0]?.status, { timeout: 20_000 }).toBe(307)
    await expect.poll(() => seen.toSorted(), { timeout: 20_000 }).toEqual(['/hook', '/plain'])
  } finally {
    await near.stop()
    receiver.close()
  }
})
