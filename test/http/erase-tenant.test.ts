import { afterAll, beforeAll, expect, test } from 'vitest'
import { type KeyName, node, startHttp, type TestHost, workflow } from './harness.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp()
})
afterAll(() => host.close())

const erase = (tenant: string, payload: object = { tenant }, key: KeyName = 'operator') =>
  host.call(key, { method: 'POST', url: `/v1/host/assay/tenants/${tenant}/erase`, payload })
const stateOf = async (tenant: string) =>
  (await host.call('operator', { url: `/v1/host/assay/tenants/${tenant}` })).json
const start = (key: KeyName, workflowId: string) =>
  host.call(key, { method: 'POST', url: '/v1/runs', payload: { workflowId, inputs: {} } })

test('it takes the scope, the name twice, a live key and a tenant that is there', async () => {
  expect((await erase('beta', { tenant: 'beta' }, 'alice')).json).toMatchObject({
    error: 'forbidden',
    details: { scopeRequired: 'tenants:manage' },
  })
  const other = await erase('beta', { tenant: 'acme' })
  expect([other.status, other.json.details]).toEqual([400, { field: 'body.tenant' }])
  expect((await erase('beta', {})).status).toBe(400)
  expect((await erase('nobody')).status).toBe(404)
  expect((await host.call('operator', { url: '/v1/host/assay/tenants/nobody' })).status).toBe(404)
  expect((await erase('ops')).json).toMatchObject({ error: 'tenant_in_use', message: expect.stringContaining('"ops"') })
  expect(await stateOf('beta')).toEqual({ tenant: 'beta', state: 'active' })
})

test('a tenant with open runs is refused, and is told how many there are', async () => {
  const { runId } = (await start('bob', 'slow')).json
  const refused = await erase('beta')
  expect([refused.status, refused.json.error, refused.json.details]).toEqual([409, 'tenant_in_use', { openRuns: 1 }])
  expect(
    (await host.call('bob', { method: 'POST', url: `/v1/runs/${runId}/cancel`, payload: {} })).status,
  ).toBeLessThan(300)
})

test('its keys end at once, its content goes, and nothing is made for it any more', async () => {
  const { runId } = (await start('bob', 'noop')).json
  // A schedule never ends: it is over with its tenant, and keeps it from nothing.
  const triggers = [{ id: 'tick', type: 'schedule', enabled: true, config: { cron: '0 * * * *' } }]
  const payload = workflow('hourly', [node('only', 'core.noop')], { triggers })
  expect((await host.call('bob', { method: 'PUT', url: '/v1/workflows/hourly', payload })).status).toBe(201)
  const [schedule] = await host.store.listRuns({ tenant: 'beta', workflowId: 'assay-schedule', limit: 10 })
  expect(schedule).toMatchObject({ endedAt: null })
  const answer = await erase('beta')
  expect([answer.status, answer.json.tenant]).toEqual([202, 'beta'])
  expect((await host.call('bob', { url: `/v1/runs/${runId}` })).status).toBe(401)
  await expect.poll(async () => (await stateOf('beta')).state).toBe('erased')
  expect(
    (await host.store.readEvents(runId, 0)).every(({ erased, payload }) => erased !== null && payload === '{}'),
  ).toBe(true)
  const ended = { endedAt: expect.any(Number), wakeAt: null }
  expect(await host.store.readRun(null, schedule?.runId ?? '')).toMatchObject(ended)
  const wanted = { tenant: 'beta', scopes: ['runs:read'] }
  const key = await host.call('operator', { method: 'POST', url: '/v1/keys', payload: wanted })
  expect([key.status, key.json.error]).toEqual([410, 'tenant_erased'])
  expect((await erase('beta')).json).toMatchObject({ state: 'erased', erasedAt: expect.any(String) })
  expect((await start('alice', 'noop')).status).toBe(201)
})
