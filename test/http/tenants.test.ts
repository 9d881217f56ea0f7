import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { spare, startHttp, type TestHost } from './harness.js'

let host: TestHost
let runId: string
beforeAll(async () => {
  host = await startHttp()
  runId = (await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId: 'slow' } })).json.runId
})
afterAll(() => host.close())

const never = '00000000-0000-7000-8000-000000000000'

describe('tenants see nothing of each other', () => {
  test.each([
    ['GET', ''],
    ['GET', '/events'],
    ['GET', '/events?streamMode=nonsense'],
    ['GET', '/events/poll'],
    ['GET', '/artifacts/art-0'],
    ['GET', '/verifications'],
    ['GET', '/verifications/1'],
    ['GET', '/withheld'],
    ['POST', '/cancel'],
    ['POST', ':cancel'],
    ['POST', ':pause'],
    ['POST', ':resume'],
    ['POST', ':fork', { mode: 'replay' }],
    ['POST', '/interrupts/wait', { resumeValue: 1 }],
    ['POST', '/interrupts/wait:link'],
    ['GET', '/debug-bundle'],
    ['GET', ':diff?against=x'],
  ] as [method: 'GET' | 'POST', rest: string, payload?: object][])(
    'B10 R-AUTH-5: %s /v1/runs/{id}%s of another tenant is byte for byte like one that never was',
    async (method, rest, payload) => {
      const more = payload === undefined ? {} : { payload }
      const foreign = await host.call('bob', { method, url: `/v1/runs/${runId}${rest}`, ...more })
      const absent = await host.call('bob', { method, url: `/v1/runs/${never}${rest}`, ...more })
      expect(foreign.status).toBe(404)
      expect(foreign.text).toBe(absent.text)
    },
  )

  test('B10: no other spelling of the id helps', async () => {
    for (const id of [
      runId.toUpperCase(),
      encodeURIComponent(`${runId}/`),
      `${runId}%00`,
      `%2e%2e%2f${runId}`,
      `${runId}/`,
    ]) {
      expect((await host.call('bob', { url: `/v1/runs/${id}` })).status).toBe(404)
    }
    expect((await host.call('alice', { url: `/v1/runs/${runId.replaceAll('-', '%2D')}` })).status).toBe(200)
  })

  test('B11: lists ignore foreign tenant parameters and refuse foreign cursors', async () => {
    await host.call('alice', { method: 'POST', url: '/v1/runs', payload: { workflowId: 'noop' } })
    const page = await host.call('alice', { url: '/v1/runs?limit=1' })
    expect(page.json.nextCursor).toEqual(expect.any(String))
    const asked = await host.call('bob', { url: '/v1/runs?tenantId=acme&workspaceId=acme' })
    expect(asked.json).toEqual({ runs: [], nextCursor: null })
    const stolen = await host.call('bob', { url: `/v1/runs?cursor=${page.json.nextCursor}` })
    expect([stolen.status, stolen.json.error]).toEqual([400, 'validation_error'])
  })

  test('B12 R-AUTH-8: a tenantId that is not the key’s is 403; the stored owner is the credential’s', async () => {
    const ask = (tenantId: string) =>
      host.call('bob', { method: 'POST', url: '/v1/runs', payload: { workflowId: 'noop', tenantId } })
    expect((await ask('acme')).json.error).toBe('forbidden')
    const own = await ask('beta')
    expect((await host.call('bob', { url: own.json.statusUrl })).json.owner.tenant).toBe('beta')
    const forged = { workflowId: 'noop', owner: { tenant: 'acme' } }
    expect((await host.call('bob', { method: 'POST', url: '/v1/runs', payload: forged })).status).toBe(400)
  })

  test('bulk cancel judges each id on its own and cancels nothing of another tenant', async () => {
    const payload = { runIds: [runId, never, 'a b'] }
    const reply = await host.call('bob', { method: 'POST', url: '/v1/runs:bulk-cancel', payload })
    expect(reply.status).toBe(200)
    expect(reply.json.results.map((r: { error: { code: string } }) => r.error.code)).toEqual(Array(3).fill('not_found'))
    expect((await host.call('alice', { url: `/v1/runs/${runId}` })).json.status).toBe('running')
  })

  test('a workflow of one tenant is unknown to the other', async () => {
    expect((await host.call('alice', { method: 'POST', url: '/v1/workflows', payload: spare })).status).toBe(201)
    expect((await host.call('bob', { url: '/v1/workflows/spare' })).status).toBe(404)
    const run = await host.call('bob', { method: 'POST', url: '/v1/runs', payload: { workflowId: 'spare' } })
    expect([run.status, run.json.error]).toEqual([404, 'unknown_workflow'])
  })

  test('keys of one tenant are neither listed nor revocable by the other', async () => {
    const listed = (await host.call('bob', { url: '/v1/keys' })).json.keys
    expect(listed.map((key: { tenant: string }) => key.tenant)).toEqual(['beta'])
    expect((await host.call('bob', { method: 'DELETE', url: '/v1/keys/key_alice' })).status).toBe(404)
    expect((await host.call('alice', { url: '/v1/runs' })).status).toBe(200)
  })

  test('B15: an Idempotency-Key of one tenant means nothing to the other', async () => {
    const headers = { 'idempotency-key': 'schedule-fire:job:7' }
    const create = { method: 'POST', url: '/v1/runs', payload: { workflowId: 'noop' }, headers } as const
    const [a, b] = [await host.call('alice', create), await host.call('bob', create)]
    expect([a.status, b.status]).toEqual([201, 201])
    expect(a.json.runId).not.toBe(b.json.runId)
  })
})
