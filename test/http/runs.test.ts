import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { overriding } from './fake-engine.js'
import { node, startHttp, type TestHost } from './harness.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp({ config: { mockProviders: ['stream-text'] } })
  const parent = {
    id: 'parent',
    name: 'parent',
    version: '1',
    nodes: [node('sub', 'core.subWorkflow', { config: { workflowId: 'slow' } })],
    edges: [],
    triggers: [],
    variables: [],
    metadata: {},
    settings: { timeout: 0 },
    channels: {},
  }
  const broken = { ...parent, id: 'broken', name: 'broken', nodes: [node('f', 'core.fail')] }
  for (const payload of [parent, broken])
    expect((await host.call('alice', { method: 'POST', url: '/v1/workflows', payload })).status).toBe(201)
})
afterAll(() => host.close())

const create = (payload: object, key: 'alice' | 'tester' = 'alice', headers: object = {}) =>
  host.call(key, { method: 'POST', url: '/v1/runs', payload, headers: { ...headers } })
const post = (url: string, payload?: object) =>
  host.call('alice', { method: 'POST', url, ...(payload === undefined ? {} : { payload }) })
const get = (url: string, headers: object = {}) => host.call('alice', { url, headers: { ...headers } })

describe('creating runs', () => {
  test('R-REST-2: 201 with runId, status, eventsUrl and statusUrl; undeclared inputs are tolerated', async () => {
    const reply = await create({ workflowId: 'noop', inputs: { whatever: 1 } })
    const { runId } = reply.json
    expect(reply.status).toBe(201)
    expect(reply.json).toEqual({
      runId,
      status: 'running',
      eventsUrl: `/v1/runs/${runId}/events`,
      statusUrl: `/v1/runs/${runId}`,
      warnings: ['inputs["whatever"]: nothing in the workflow takes it'],
    })
  })

  test('R-REST-17: an unknown workflow or agent is 404 and says how to register it; what is no name is 400', async () => {
    const unknown = await create({ workflowId: 'not-there' })
    expect([unknown.status, unknown.json.error, unknown.json.details.field]).toEqual([
      404,
      'unknown_workflow',
      'workflowId',
    ])
    expect(unknown.json.message).toContain('PUT /v1/workflows/not-there')
    const nobody = await create({ agentId: 'not.there' })
    expect([nobody.status, nobody.json.error, nobody.json.details.field]).toEqual([404, 'unknown_workflow', 'agentId'])
    for (const workflowId of ['NOT there', '../etc', 'noop\u0000', '']) {
      const { status, json } = await create({ workflowId })
      expect([workflowId, status, json.error]).toEqual([workflowId, 400, 'validation_error'])
    }
  })

  test('mode "eval" is 501', async () => {
    const reply = await create({ workflowId: 'noop', mode: 'eval' })
    expect([reply.status, reply.json.error]).toEqual([501, 'capability_not_provided'])
  })

  test('R-REST-16: mockProvider: 403 for a live key, 400 for an unknown id, 201 for a known one', async () => {
    const ask = (id: string, key: 'alice' | 'tester') =>
      create({ workflowId: 'noop', configurable: { mockProvider: { id } } }, key)
    const live = await ask('stream-text', 'alice')
    expect([live.status, live.json.error]).toEqual([403, 'mock_provider_forbidden'])
    expect(live.json.details).toEqual({ requestedProvider: 'stream-text', supportedProviders: ['stream-text'] })
    expect((await ask('nope', 'tester')).json.error).toBe('unsupported_mock_provider')
    expect((await ask('stream-text', 'tester')).status).toBe(201)
  })

  test('R-REST-18: X-Dedup: enforce refuses a second active run of the scope', async () => {
    const ask = () => create({ workflowId: 'slow', scopeId: 'one' }, 'alice', { 'x-dedup': 'enforce' })
    const first = await ask()
    const second = await ask()
    expect([second.status, second.json.error]).toEqual([409, 'run_already_active'])
    expect(second.json.details.activeRunId).toBe(first.json.runId)
    expect(second.headers['retry-after']).toBe(String(second.json.details.retryAfter))
    await post(`${first.json.statusUrl}/cancel`)
    expect((await ask()).status).toBe(201)
    expect((await create({ workflowId: 'noop' }, 'alice', { 'x-dedup': 'enforce' })).status).toBe(400)
    expect((await create({ workflowId: 'noop' }, 'alice', { 'x-dedup': 'yes' })).status).toBe(400)
  })
})

describe('reading runs', () => {
  test('the snapshot has owner, times, inputs, variables with defaults, node states, tags and metadata', async () => {
    const { statusUrl } = (
      await create({
        workflowId: 'noop',
        inputs: { a: 1 },
        tags: ['t'],
        metadata: { m: 1 },
        configurable: { recursionLimit: 5 },
      })
    ).json
    const { json } = await get(statusUrl)
    expect(json).toMatchObject({
      workflowId: 'noop',
      status: 'completed',
      owner: { tenant: 'acme', principal: 'alice' },
      inputs: { a: 1 },
      variables: { greeting: 'hello' },
      nodeStates: { only: { status: 'completed' } },
      tags: ['t'],
      metadata: { m: 1 },
      configurable: { recursionLimit: 5 },
      eventLogSchemaVersion: 2,
    })
    expect(Date.parse(json.completedAt)).toBeGreaterThanOrEqual(Date.parse(json.startedAt))
    expect(json.engineVersion).toBeUndefined()
  })

  test('R-RUN-5: ETag: unchanged is 304, a change is not', async () => {
    const { statusUrl } = (await create({ workflowId: 'slow' })).json
    const { etag } = (await get(statusUrl)).headers as { etag: string }
    const same = await get(statusUrl, { 'if-none-match': etag })
    expect([same.status, same.text, same.headers.etag]).toEqual([304, '', etag])
    await post(`${statusUrl}/cancel`)
    expect((await get(statusUrl, { 'if-none-match': etag })).status).toBe(200)
  })

  test('R-ORCH-20 R-RUN-3: a parent lists its children, a child names its parent, and the parent’s ETag moves with the child', async () => {
    const { runId, statusUrl } = (await create({ workflowId: 'parent' })).json
    await expect.poll(async () => (await get(statusUrl)).json.childRuns, { timeout: 5000 }).toHaveLength(1)
    const before = await get(statusUrl)
    const child = before.json.childRuns[0]
    expect((await get(`/v1/runs/${child.runId}`)).json).toMatchObject({
      parentRunId: runId,
      parentNodeId: 'sub',
      inputs: {},
      variables: {},
    })
    expect((await get(`/v1/runs?parentRunId=${runId}`)).json.runs[0].runId).toBe(child.runId)
    await post(`/v1/runs/${child.runId}:pause`, { drainPolicy: 'immediate' })
    expect((await get(statusUrl)).headers.etag).not.toBe(before.headers.etag)
    await post(`${statusUrl}/cancel`)
  })

  test('lists filter by status, workflow and tag, and page to the end without gap or repetition', async () => {
    const made: string[] = []
    for (let i = 0; i < 5; i++) made.push((await create({ workflowId: 'noop', tags: ['page'] })).json.runId)
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { json } = await get(`/v1/runs?tag=page&limit=2${cursor && `&cursor=${cursor}`}`)
      seen.push(...json.runs.map((run: { runId: string }) => run.runId))
      cursor = json.nextCursor
    }
    expect(seen).toEqual(made.reverse())
    const statuses = (await get('/v1/runs?status=running,cancelled&status=completed&workflowId=slow')).json.runs
    expect(new Set(statuses.map((run: { workflowId: string }) => run.workflowId))).toEqual(new Set(['slow']))
    for (const bad of [
      'status=done',
      'limit=0',
      'limit=201',
      'limit=x',
      'cursor=abc',
      'tag=%00',
      'parentRunId=a%20b',
    ]) {
      expect([bad, (await get(`/v1/runs?${bad}`)).status]).toEqual([bad, 400])
    }
  })
})

describe('controlling runs', () => {
  test('R-REST-8, R-REST-9: cancel: cancelling or cancelled, again cancelled; of an ended run 200 with how it ended', async () => {
    const { statusUrl, runId } = (await create({ workflowId: 'slow' })).json
    const reply = await post(`${statusUrl}/cancel`, { reason: 'enough' })
    expect(reply.status).toBe(200)
    expect(reply.json).toEqual({ runId, status: expect.stringMatching(/^cancel(ling|led)$/) })
    await expect.poll(async () => (await get(statusUrl)).json.status, { timeout: 5000 }).toBe('cancelled')
    expect((await post(`${statusUrl}:cancel`)).json).toEqual({ runId, status: 'cancelled' })
    for (const [workflowId, status] of [
      ['noop', 'completed'],
      ['broken', 'failed'],
    ] as const) {
      const done = (await create({ workflowId })).json
      await expect.poll(async () => (await get(done.statusUrl)).json.status, { timeout: 5000 }).toBe(status)
      const before = (await get(`${done.statusUrl}/events`)).json
      const late = await post(`${done.statusUrl}/cancel`)
      expect([late.status, late.json]).toEqual([200, { runId: done.runId, status }])
      expect((await get(`${done.statusUrl}/events`)).json).toEqual(before)
    }
  })

  test('R-REST-11: pause and resume: 202, then 409 with details.runStatus', async () => {
    const { statusUrl, runId } = (await create({ workflowId: 'slow' })).json
    const paused = await post(`${statusUrl}:pause`, { drainPolicy: 'immediate' })
    expect([paused.status, paused.json]).toEqual([202, { runId, status: 'paused', pausedAt: expect.any(String) }])
    expect((await get(statusUrl)).json.status).toBe('paused')
    const again = await post(`${statusUrl}:pause`)
    expect([again.status, again.json.details.runStatus]).toEqual([409, 'paused'])
    const resumed = await post(`${statusUrl}:resume`)
    expect([resumed.status, resumed.json]).toEqual([202, { runId, status: 'running', resumedAt: expect.any(String) }])
    expect((await post(`${statusUrl}:resume`)).json.details.runStatus).toBe('running')
    await post(`${statusUrl}/cancel`)
  })

  test('R-REST-10: bulk cancel answers per id in the order asked, and validates its list', async () => {
    const a = (await create({ workflowId: 'slow' })).json.runId
    const b = (await create({ workflowId: 'noop' })).json.runId
    const { json } = await post('/v1/runs:bulk-cancel', { runIds: [b, a, 'unknown'] })
    expect(json.results.map((result: { runId: string; ok: boolean }) => [result.runId, result.ok])).toEqual([
      [b, false],
      [a, true],
      ['unknown', false],
    ])
    expect(json.results[0].error.code).toBe('run_terminal')
    for (const runIds of [undefined, [], [1], 'x', Array(101).fill('a')]) {
      expect((await post('/v1/runs:bulk-cancel', { runIds })).json.error).toBe('validation_error')
    }
    expect((await post('/v1/runs:bulk-cancel', { runIds: Array(101).fill('a') })).json.details.maxRunIds).toBe(100)
  })

  test.each(['/cancel', ':pause', ':resume'])('R-REST-24: %s refuses unknown members', async verb => {
    const { statusUrl } = (await create({ workflowId: 'noop' })).json
    expect((await post(`${statusUrl}${verb}`, { nope: 1 })).json.error).toBe('validation_error')
  })
})

describe('artifacts', () => {
  test('R-REST-15: the content is read by the id of its event, and is never sniffed', async () => {
    const event = {
      sequence: 7,
      type: 'artifact.created',
      nodeId: 'only',
      payload: '{"artifactId":"art-7","artifactType":"report","nodeId":"only"}',
      secret: '{"content":{"text":"<script>"}}',
      cause: 6,
      foreignCause: null,
      at: 0,
      input: null,
      salt: null,
      erased: null,
      hash: '',
    }
    const other = await startHttp({
      wrap: overriding(() => ({
        readEvents: async (tenant, _runId, from) => (tenant === 'acme' && from === 7 ? [event] : undefined),
      })),
    })
    const reply = await other.call('alice', { url: '/v1/runs/r1/artifacts/art-7' })
    expect(reply.json).toEqual({
      artifactId: 'art-7',
      artifactType: 'report',
      nodeId: 'only',
      createdAt: '1970-01-01T00:00:00.000Z',
      content: { text: '<script>' },
    })
    expect(reply.headers['x-content-type-options']).toBe('nosniff')
    for (const id of ['art-8', 'art-07', 'art--1', 'x', '..%2f']) {
      expect((await other.call('alice', { url: `/v1/runs/r1/artifacts/${id}` })).status).toBe(404)
    }
    expect((await other.call('bob', { url: '/v1/runs/r1/artifacts/art-7' })).status).toBe(404)
    await other.close()
  })

  test('an event that is no artifact is not readable through here', async () => {
    const { statusUrl } = (await create({ workflowId: 'secretive', inputs: { token: 'CNRY' } })).json
    expect((await get(`${statusUrl}/artifacts/art-0`)).status).toBe(404)
  })
})
