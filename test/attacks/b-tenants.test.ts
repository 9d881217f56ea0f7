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

/** A run that writes an entry of memory and may share its scope. */
const noting = async (who: 'alice' | 'bob', content: string, scopeId?: string) => {
  const config = { memoryRef: 'people', memoryId: 'ann', content, tags: ['friends'], ttlSeconds: 3600 }
  const put = await live.call(who, '/v1/workflows/notes', {
    method: 'PUT',
    body: workflow('notes', [node('n', 'core.memoryPut', { config })]),
  })
  expect(put.status, put.text).toBeOneOf([200, 201])
  const { json, text } = await live.call(who, '/v1/runs', post({ workflowId: 'notes', ...(scopeId && { scopeId }) }))
  expect(json.runId, text).toBeTypeOf('string')
  expect((await live.until(who, json.runId, isOver)).status).toBe('completed')
  return json.runId as string
}
const MEMORY = '/v1/host/assay/memory'
const FILES = '/v1/host/workspace/files'

attack(13, async () => {
  await noting('alice', 'Alice has snow and stones.', 'team')
  await noting('bob', 'Bob has snow and sand.', 'team')
  await live.call('alice', `${FILES}/a.md`, { method: 'PUT', body: { content: 'Alice writes.' } })
  await live.call('bob', `${FILES}/a.md`, { method: 'PUT', body: { content: 'Bob writes.' } })
  const ways = [
    `${MEMORY}?scope=team`,
    `${MEMORY}?scope=team&ref=people&tag=friends`,
    `${MEMORY}?scope=team&q=snow`,
    `${MEMORY}/entries/ann?ref=people&scope=team`,
    `${FILES}/a.md`,
  ]
  const looked = async (who: 'alice' | 'bob') =>
    Promise.all(ways.map(async url => (await live.call(who, url)).text.match(/(?:Alice|Bob)/g)))
  expect(await looked('alice')).toEqual(ways.map(() => ['Alice']))
  expect(await looked('bob')).toEqual(ways.map(() => ['Bob']))
  expect((await live.call('bob', `${MEMORY}?scope=team&q=stones`)).json.entries).toEqual([])
  const consolidated = await live.call('bob', `${MEMORY}:consolidate`, post({ scope: 'team', memoryRef: 'people' }))
  expect([consolidated.json.inputCount, consolidated.json.outputCount]).toEqual([1, 1])
  const gone = await live.call('bob', `${MEMORY}/entries/ann?ref=people&scope=team&destroy=true`, { method: 'DELETE' })
  expect([gone.status, gone.json.destroyedVersions, gone.json.copies.runs]).toEqual([200, 1, 1])
  expect((await live.call('bob', `${FILES}/a.md`, { method: 'DELETE' })).status).toBe(204)
  expect(await looked('alice')).toEqual(ways.map(() => ['Alice']))
  expect(await looked('bob')).toEqual(ways.map(() => null))
  expect((await live.call('alice', `${MEMORY}/scopes`)).json.scopes).toEqual([
    { scope: 'team', entries: 1, writes: 1, oldestReadable: 0 },
  ])
})

attack(14, async () => {
  const keyed = (ask: Ask): Ask => ({ ...ask, headers: { 'idempotency-key': 'shared-key' } })
  const [run, theirs] = [await noting('alice', 'x'), await noting('bob', 'y')]
  const forget = (of: string) => `${MEMORY}/entries/ann?ref=people&scope=run:${of}`
  const file = `${FILES}/keyed.md`
  const writes = (content: string) => keyed({ method: 'PUT', body: { content } })
  const first = await live.call('alice', file, writes('of alice'))
  expect(first.status).toBe(201)
  // Neither hers again, nor a word of there being one.
  expect((await live.call('bob', file, writes('of bob'))).status).toBe(201)
  expect((await live.call('bob', file)).json).toMatchObject({ content: 'of bob', version: 1 })
  expect((await live.call('bob', forget(theirs), keyed({ method: 'DELETE' }))).status).toBe(200)
  const removed = await live.call('alice', forget(run), keyed({ method: 'DELETE' }))
  expect([removed.status, removed.json.copies.runIds]).toEqual([200, [run]])
  const merge = keyed(post({ scope: 'team', memoryRef: 'people' }))
  for (const who of ['alice', 'bob'] as const) {
    const reply = await live.call(who, `${MEMORY}:consolidate`, merge)
    expect([who, reply.status, reply.json?.inputCount]).toEqual([who, 200, who === 'alice' ? 1 : 0])
  }
  // To her it is what it was.
  const again = await live.call('alice', file, writes('of alice'))
  expect([again.status, again.text]).toEqual([201, first.text])
  expect((await live.call('alice', file)).json).toMatchObject({ content: 'of alice', version: 1 })
  const other = await live.call('alice', file, writes('of somebody'))
  expect([other.status, other.json.error]).toEqual([409, 'idempotency_key_mismatch'])
  expect((await live.call('alice', forget(run), keyed({ method: 'DELETE' }))).text).toBe(removed.text)
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
  expect((await live.call('bob', '/v1/runs', post({ workflowId: 'acme-secret' }))).status).toBe(404)
  expect((await live.call('alice', '/v1/runs?workflowId=acme-secret')).json.runs).toEqual([])
})

attack(18, async () => {
  const mine = await noting('alice', 'Alice has a secret garden.')
  const theirs = await noting('bob', 'Bob has none.')
  const ways: readonly (readonly [(run: string) => string, Ask?])[] = [
    [run => `${MEMORY}?scope=run:${run}`],
    [run => `${MEMORY}?scope=run:${run}&q=garden`],
    [run => `${MEMORY}/entries/ann?ref=people&at=${run}:2`],
    [run => `${FILES}?at=${run}:end`],
    [run => `/v1/runs/${theirs}:diff?against=${run}`],
    [run => `/v1/host/assay/runs/${theirs}/comparison?against=${run}`],
    [run => `/v1/runs/${run}:fork`, post({ mode: 'branch', fromSeq: 2 })],
    [run => `/v1/runs/${run}:fork`, post({ mode: 'replay' })],
  ]
  for (const [url, ask] of ways) {
    const [foreign, absent] = [await live.call('bob', url(mine), ask), await live.call('bob', url(NEVER), ask)]
    expect([url(mine), foreign.status, foreign.text.replaceAll(mine, NEVER)]).toEqual([
      url(mine),
      absent.status,
      absent.text,
    ])
    expect(foreign.text).not.toContain('garden')
  }
  // Nor does a run of his begin in what a run, or a branch, has of its own: not in hers, and not in his.
  for (const scope of [`run:${mine}`, `fork:${mine}`, `run:${theirs}`]) {
    const start = (more: object) => live.call('bob', '/v1/runs', post({ workflowId: 'notes', ...more }))
    expect((await start({ assay: { memoryScope: scope } })).status).toBe(400)
    const { json } = await start({ scopeId: scope })
    const [first] = (await live.call('bob', `/v1/runs/${json.runId}/events/poll`)).json.events
    expect(first.payload.memoryScope).toBe(`scope:${scope}`)
  }
  expect((await live.call('alice', `${MEMORY}/entries/ann?ref=people&at=${mine}:end`)).text).toContain('garden')
  expect((await live.call('alice', `/v1/runs/${mine}:fork`, post({ mode: 'branch', fromSeq: 2 }))).status).toBe(201)
  expect((await live.call('bob', `/v1/runs/${theirs}:diff?against=${theirs}`)).status).toBe(200)
})
