import { afterAll, beforeAll, expect } from 'vitest'
import { node, workflow } from '../http/harness.js'
import { attack } from './cases.js'
import { type Ask, isOver, type LiveHost, startLiveHost } from './live-host.js'

/** What one tenant sees and does of another's. */
let live: LiveHost
let runId: string
const resolve = async (name: string) => (name.endsWith('.example') ? ['93.184.216.34'] : [])
beforeAll(async () => {
  live = await startLiveHost({}, { resolve })
  runId = await live.start('alice', 'asks')
})
afterAll(() => live.stop())

const NEVER = '00000000-0000-7000-8000-000000000000'
const post = (body: object): Ask => ({ method: 'POST', body })

const WAYS: readonly (readonly [rest: string, ask?: Ask])[] = [
  [''],
  ['/events'],
  ['/events/poll?timeout=1'],
  ['/debug-bundle'],
  ['/verifications'],
  ['/verifications/1'],
  ['/withheld'],
  ['/artifacts/art-0'],
  [':diff?against=x'],
  ['/cancel', post({})],
  [':cancel', post({})],
  [':pause', post({})],
  [':resume', post({})],
  [':fork', post({ mode: 'replay' })],
  ['/interrupts/gate', post({ resumeValue: { action: 'accept' } })],
  ['/interrupts/gate:link', post({})],
]

attack(10, async () => {
  for (const [rest, ask] of WAYS) {
    const [foreign, absent] = [
      await live.call('bob', `/v1/runs/${runId}${rest}`, ask),
      await live.call('bob', `/v1/runs/${NEVER}${rest}`, ask),
    ]
    expect([rest, foreign.status, foreign.text]).toEqual([rest, 404, absent.text])
  }
  const spellings = [
    runId.toUpperCase(),
    `${runId}%2f`,
    `${runId}/`,
    `${runId}%00`,
    `%2e%2e%2f${runId}`,
    ` ${runId}`.replace(' ', '%20'),
  ]
  for (const id of spellings) expect((await live.call('bob', `/v1/runs/${id}`)).status).toBe(404)
  expect((await live.call('alice', `/v1/runs/${runId}`)).json.status).toBe('waiting-approval')
})

attack(11, async () => {
  await live.start('alice', 'hello')
  const page = (await live.call('alice', '/v1/runs?limit=1')).json
  expect((await live.call('bob', '/v1/runs?tenantId=acme&workspaceId=acme')).json.runs).toEqual([])
  const stolen = await live.call('bob', `/v1/runs?cursor=${page.nextCursor}`)
  expect([stolen.status, stolen.json.error]).toEqual([400, 'validation_error'])
  const named = await live.call('bob', '/v1/runs', { headers: { 'x-assay-tenant': 'acme' } })
  expect([named.status, named.json.error]).toEqual([403, 'forbidden'])
})

attack(12, async () => {
  const refused = [
    ['/v1/runs', { workflowId: 'hello', tenantId: 'acme' }],
    ['/v1/runs', { workflowId: 'hello', owner: { tenant: 'acme' } }],
    ['/v1/runs', { workflowId: 'hello', workspaceId: 'acme' }],
    ['/v1/webhooks', { url: 'https://r.example/', events: ['*'], tenantId: 'acme' }],
    ['/v1/keys', { scopes: ['runs:read'], tenant: 'acme' }],
  ] as const
  for (const [url, body] of refused)
    expect([url, (await live.call('bob', url, post(body))).status]).toEqual([url, expect.toBeOneOf([400, 403])])
  const own = await live.call('bob', '/v1/runs', post({ workflowId: 'hello', tenantId: 'beta' }))
  expect((await live.call('bob', `/v1/runs/${own.json.runId}`)).json.owner.tenant).toBe('beta')
})

attack(15, async () => {
  for (const key of ['schedule-fire:job:7', 'goal:1:7', 'lease:host', `effect:${runId}`]) {
    const ask = { ...post({ workflowId: 'hello' }), headers: { 'idempotency-key': key } }
    const [a, b] = [await live.call('alice', '/v1/runs', ask), await live.call('bob', '/v1/runs', ask)]
    expect([a.status, b.status, a.json.runId === b.json.runId]).toEqual([201, 201, false])
    expect((await live.call('alice', '/v1/runs', ask)).json.runId).toBe(a.json.runId)
  }
  expect((await live.call(null, '/healthz')).status).toBe(200)
})

attack(16, async () => {
  const made = await live.call('alice', '/v1/webhooks', post({ url: 'https://r.example/', events: ['assay.nothing'] }))
  const { webhookId } = made.json
  const [foreign, absent] = [
    await live.call('bob', `/v1/webhooks/${webhookId}`, { method: 'DELETE' }),
    await live.call('bob', '/v1/webhooks/wh_never', { method: 'DELETE' }),
  ]
  expect([foreign.status, foreign.text]).toEqual([404, absent.text])
  const theirs = (await live.call('bob', '/v1/webhooks', post({ url: 'https://r.example/b', events: ['*'] }))).json
  const before = await live.start('alice', 'hello')
  await live.until('alice', before, isOver)
  expect((await live.call('bob', `/v1/webhooks/${theirs.webhookId}/deliveries`)).json.deliveries).toEqual([])
  expect((await live.call('alice', '/v1/webhooks')).json.webhooks).toHaveLength(1)
})

attack(17, async () => {
  const own = workflow('acme-secret', [node('n', 'core.noop')])
  expect((await live.call('alice', '/v1/workflows', post(own))).status).toBe(201)
  const parent = workflow('thief', [node('sub', 'core.subWorkflow', { config: { workflowId: 'acme-secret' } })])
  await live.call('bob', '/v1/workflows', post(parent))
  const thief = await live.start('bob', 'thief')
  const ended = await live.until('bob', thief, isOver)
  expect([ended.status, ended.error.code, ended.childRuns ?? []]).toEqual(['failed', 'unknown_child_workflow', []])
  expect((await live.call('bob', '/v1/runs', post({ workflowId: 'acme-secret' }))).status).toBe(400)
  expect((await live.call('alice', '/v1/runs?workflowId=acme-secret')).json.runs).toEqual([])
})
