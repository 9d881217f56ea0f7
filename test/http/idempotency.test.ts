import { afterEach, describe, expect, test } from 'vitest'
import { StoreUnavailable } from '../../src/engine/ports/event-log.js'
import { MemoryStore } from '../../src/store/memory/memory-store.js'
import { overriding } from './fake-engine.js'
import { spare, startHttp, type TestHost } from './harness.js'

let host: TestHost
afterEach(() => host.close())

const create = (payload: object = { workflowId: 'noop' }, key = 'k1') =>
  host.call('alice', { method: 'POST', url: '/v1/runs', payload, headers: { 'idempotency-key': key } })

const runCount = async () => (await host.call('alice', { url: '/v1/runs' })).json.runs.length

describe('Idempotency-Key (contract core §4.1)', () => {
  test('I3 R-IDEM-2: a repetition gets the first answer verbatim, marked as a replay; the first is not marked', async () => {
    host = await startHttp()
    const first = await create()
    const second = await create()
    expect(first.headers['openwop-idempotent-replay']).toBeUndefined()
    expect([second.status, second.text, second.headers.location]).toEqual([201, first.text, first.headers.location])
    expect(second.headers['openwop-idempotent-replay']).toBe('true')
    expect(await runCount()).toBe(1)
  })

  test('I1 R-IDEM-1 R-IDEM-4: the digest ignores key order and white space, and nothing else', async () => {
    host = await startHttp()
    const send = (payload: string) =>
      host.call('alice', {
        method: 'POST',
        url: '/v1/runs',
        payload,
        headers: { 'idempotency-key': 'k1', 'content-type': 'application/json' },
      })
    const first = await send('{"workflowId":"noop","inputs":{"a":1,"b":2}}')
    expect((await send('{ "inputs": {"b":2, "a":1}, "workflowId":"noop" }')).text).toBe(first.text)
    const other = await send('{"workflowId":"noop","inputs":{"a":1,"b":3}}')
    expect([other.status, other.json.error]).toEqual([409, 'idempotency_key_mismatch'])
    expect(other.text).not.toContain(first.json.runId)
  })

  test('I1 R-IDEM-1 R-IDEM-4: one key on two runs is a mismatch, never the other run’s answer', async () => {
    host = await startHttp()
    const a = (await create({ workflowId: 'slow' }, 'a')).json.runId
    const b = (await create({ workflowId: 'slow' }, 'b')).json.runId
    const pause = (id: string) =>
      host.call('alice', { method: 'POST', url: `/v1/runs/${id}:pause`, headers: { 'idempotency-key': 'p' } })
    expect((await pause(a)).status).toBe(202)
    expect((await pause(b)).json.error).toBe('idempotency_key_mismatch')
    expect((await pause(a)).headers['openwop-idempotent-replay']).toBe('true')
  })

  test('R-REST-25: both spellings of cancel are one operation', async () => {
    host = await startHttp()
    const { runId } = (await create({ workflowId: 'slow' }, 'a')).json
    const cancel = (path: string) =>
      host.call('alice', { method: 'POST', url: `/v1/runs/${runId}${path}`, headers: { 'idempotency-key': 'c' } })
    const first = await cancel('/cancel')
    const second = await cancel(':cancel')
    expect([second.text, second.headers['openwop-idempotent-replay']]).toEqual([first.text, 'true'])
  })

  test('I4 R-IDEM-5: of many duplicates at once exactly one executes and all get its answer', async () => {
    host = await startHttp()
    const replies = await Promise.all(Array.from({ length: 50 }, () => create()))
    expect(new Set(replies.map(reply => reply.text)).size).toBe(1)
    expect(replies.filter(reply => reply.headers['openwop-idempotent-replay'] === undefined)).toHaveLength(1)
    expect(await runCount()).toBe(1)
  })

  test('I2: two hosts on one store make one run of one key', async () => {
    const store = new MemoryStore()
    host = await startHttp({ store })
    const other = await startHttp({ store, hostName: 'other' })
    const create = {
      method: 'POST',
      url: '/v1/runs',
      payload: { workflowId: 'noop' },
      headers: { 'idempotency-key': 'k' },
    } as const
    const replies = await Promise.all([host.call('alice', create), other.call('alice', create)])
    expect(replies[0].text).toBe(replies[1].text)
    expect(await runCount()).toBe(1)
    await other.close()
  })

  test('I3 R-IDEM-3: 400, 401, 403 and unknown workflows are not remembered: the corrected request goes through', async () => {
    host = await startHttp()
    expect((await create({ workflowId: 'no name' })).json.error).toBe('validation_error')
    expect((await create({ workflowId: 'not-there' })).json.error).toBe('unknown_workflow')
    expect((await create({ workflowId: 'noop', tenantId: 'beta' })).json.error).toBe('forbidden')
    expect((await create()).status).toBe(201)
  })

  test('I3: a final 409 is remembered and replayed', async () => {
    host = await startHttp()
    const { runId } = (await create({ workflowId: 'slow' }, 'a')).json
    const resume = () =>
      host.call('alice', { method: 'POST', url: `/v1/runs/${runId}:resume`, headers: { 'idempotency-key': 'r' } })
    const first = await resume()
    expect([first.status, first.json.error]).toEqual([409, 'run_not_paused'])
    expect((await host.call('alice', { method: 'POST', url: `/v1/runs/${runId}:pause` })).status).toBe(202)
    const second = await resume()
    expect([second.text, second.headers['openwop-idempotent-replay']]).toEqual([first.text, 'true'])
  })

  test('I3 R-IDEM-3: 5xx are not replayed; the same key tries again and the later success is what is remembered', async () => {
    const faults = [new StoreUnavailable('down'), new Error('bug')]
    host = await startHttp({
      wrap: overriding(engine => ({
        create: async (request, response) => {
          const fault = faults.pop()
          if (fault !== undefined) throw fault
          return engine.create(request, response)
        },
      })),
    })
    expect((await create()).status).toBe(500)
    expect((await create()).status).toBe(503)
    const success = await create()
    expect([success.status, success.headers['openwop-idempotent-replay']]).toEqual([201, undefined])
    expect((await create()).text).toBe(success.text)
  })

  test('I4 R-IDEM-5: while another process holds the claim the answer is 409 with Retry-After', async () => {
    host = await startHttp()
    const register = () =>
      host.call('alice', { method: 'POST', url: '/v1/workflows', payload: spare, headers: { 'idempotency-key': 'w' } })
    const first = await register()
    expect(first.status).toBe(201)
    const key = { tenant: 'acme', endpoint: 'POST /v1/workflows', key: 'w' }
    const done = (await host.store.getResponse(key))!
    await host.store.deleteResponse(key)
    const pending = { ...done, state: 'pending', leaseOwner: 'another' } as const
    await host.store.claimResponse(pending, pending.at)
    const refused = await register()
    expect([refused.status, refused.json.error]).toEqual([409, 'idempotency_in_flight'])
    expect(refused.headers['retry-after']).toBe(String(refused.json.details.retryAfter))
  })

  test('I4 R-IDEM-6: a claim whose lease is over is taken over', async () => {
    host = await startHttp()
    const key = { tenant: 'acme', endpoint: 'POST /v1/workflows', key: 'w' }
    const payload = spare
    const register = () =>
      host.call('alice', { method: 'POST', url: '/v1/workflows', payload, headers: { 'idempotency-key': 'w' } })
    await register()
    const done = (await host.store.getResponse(key))!
    await host.store.deleteResponse(key)
    await host.store.claimResponse({ ...done, state: 'pending', leaseOwner: 'dead', leaseUntil: 1 }, 0)
    expect([200, 201]).toContain((await register()).status)
    expect((await register()).headers['openwop-idempotent-replay']).toBe('true')
  })

  test('a replayed key creation does not show the key again, and no response holds it', async () => {
    host = await startHttp()
    const make = () =>
      host.call('alice', {
        method: 'POST',
        url: '/v1/keys',
        payload: { scopes: ['runs:read'] },
        headers: { 'idempotency-key': 'key' },
      })
    const first = await make()
    expect(first.json.key).toMatch(/^ask_[\w-]{43}$/)
    const second = await make()
    expect([second.status, second.json.keyId, second.json.key]).toEqual([201, first.json.keyId, undefined])
    const response = await host.store.getResponse({ tenant: 'acme', endpoint: 'POST /v1/keys', key: 'key' })
    expect(JSON.stringify(response)).not.toContain(first.json.key)
  })

  test.each(['', ' ', 'a b', 'x'.repeat(256), 'naïve'])('R-IDEM-8: a key like %j is 400', async key => {
    host = await startHttp()
    const reply = await create({ workflowId: 'noop' }, key)
    expect([reply.status, reply.json.error]).toEqual([400, 'validation_error'])
  })

  test('R-IDEM-9: keys stand in no log, of what is done, repeated or refused', async () => {
    host = await startHttp({ config: { accessLog: true } })
    await create({ workflowId: 'noop' }, 'CNRY-key')
    await create({ workflowId: 'noop' }, 'CNRY-key')
    expect((await create({ workflowId: 'slow' }, 'CNRY-key')).status).toBe(409)
    expect(host.lines.length).toBeGreaterThan(2)
    expect(JSON.stringify(host.lines)).not.toContain('CNRY')
  })

  test('R-IDEM-7: GET neither needs nor honours it', async () => {
    host = await startHttp()
    const list = () => host.call('alice', { url: '/v1/runs', headers: { 'idempotency-key': 'x' } })
    expect((await list()).json.runs).toHaveLength(0)
    await create()
    expect((await list()).json.runs).toHaveLength(1)
  })
})
