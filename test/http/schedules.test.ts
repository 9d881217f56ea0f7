import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { ManualClock, settled } from '../../src/testing/manual-clock.js'
import { type KeyName, node, startHttp, type TestHost, workflow } from './harness.js'

const SCHEDULES = '/v1/host/assay/schedules'
const CANARY = 'canary-3f9a'

let host: TestHost
let clock: ManualClock
beforeEach(async () => {
  clock = new ManualClock()
  host = await startHttp({ clock })
})
afterEach(() => host.close())

const scheduled = (config: object = {}, id = 'report', nodes = [node('only', 'core.noop')]) =>
  workflow(id, nodes, {
    triggers: [{ id: 'tick', type: 'schedule', config: { cron: '0 * * * *', inputs: { word: CANARY }, ...config } }],
    variables: [{ name: 'word', type: 'string', sensitive: true }],
  })
const put = async (definition: object, key: KeyName = 'alice') => {
  const { id } = definition as { id: string }
  const reply = await host.call(key, { method: 'PUT', url: `/v1/workflows/${id}`, payload: definition })
  await settled()
  return reply
}
const list = async (key: KeyName = 'alice') => (await host.call(key, { url: SCHEDULES })).json.schedules
const command = (scheduleId: string, name: string, key: KeyName = 'alice') =>
  host.call(key, { method: 'POST', url: `${SCHEDULES}/${scheduleId}:${name}` })

describe('schedules over HTTP', () => {
  test('come with a workflow, are shown with what they wait for and what came of it, and go with it', async () => {
    expect((await put(scheduled({ missed: 'all', timezone: 'Asia/Kathmandu', jitterSeconds: 60 }))).status).toBe(201)
    const [one] = await list()
    expect(one).toMatchObject({
      workflowId: 'report',
      triggerId: 'tick',
      cron: '0 * * * *',
      timezone: 'Asia/Kathmandu',
      missed: 'all',
      maxMissed: 10,
      jitterSeconds: 60,
      state: 'armed',
      next: { tick: '2026-01-01T00:15:00.000Z' },
      run: null,
      runs: 0,
      latest: null,
      held: null,
    })
    await clock.advance(17 * 60_000)
    const { json: now } = await host.call('alice', { url: `${SCHEDULES}/${one.scheduleId}` })
    expect(now).toMatchObject({ runs: 1, latest: { tick: '2026-01-01T00:15:00.000Z', outcome: 'completed' } })
    expect(now.next.tick).toBe('2026-01-01T01:15:00.000Z')
    const { json } = await host.call('alice', { url: `/v1/runs?tag=${one.scheduleId}` })
    expect(json.runs.map(({ runId }: { runId: string }) => runId)).toEqual([now.latest.runId])
    // What a run is given stands in no event of the schedule, and in no list.
    const rows = await host.store.readEvents(one.scheduleId, 0)
    expect(rows.length).toBeGreaterThan(5)
    expect(rows.map(({ payload }) => payload).join()).not.toContain(CANARY)
    expect(JSON.stringify(await list())).not.toContain(CANARY)
    expect((await put(workflow('report', [node('only', 'core.noop')]))).status).toBe(200)
    expect(await list()).toEqual([])
  })

  test('are paged', async () => {
    for (let i = 0; i < 5; i++) await put(scheduled({}, `w${i}`))
    const found: string[] = []
    let cursor: string | null = ''
    for (let pages = 0; cursor !== null && pages < 9; pages++) {
      const { json } = await host.call('alice', {
        url: `${SCHEDULES}?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`,
      })
      found.push(...json.schedules.map(({ workflowId }: { workflowId: string }) => workflowId))
      cursor = json.nextCursor
    }
    expect(found.sort()).toEqual(['w0', 'w1', 'w2', 'w3', 'w4'])
    expect((await host.call('alice', { url: `${SCHEDULES}?cursor=x` })).status).toBe(400)
  })

  test('are paused, resumed and run by hand, never twice at once', async () => {
    await put(scheduled({}, 'report', [node('wait', 'core.delay', { config: { delayMs: 60_000 } })]))
    const [{ scheduleId }] = await list()
    expect((await command(scheduleId, 'pause')).json.state).toBe('paused')
    expect((await command(scheduleId, 'run')).status).toBe(200)
    await settled()
    expect((await list())[0]).toMatchObject({ state: 'paused', run: { tick: 'hand:1' } })
    const refused = await command(scheduleId, 'run')
    expect([refused.status, refused.json.error]).toEqual([409, 'schedule_busy'])
    expect((await command(scheduleId, 'resume')).json).toMatchObject({ state: 'armed' })
  })

  test('are nobody else’s, and take the scopes for what is done', async () => {
    await put(scheduled())
    const [{ scheduleId }] = await list()
    expect(await list('bob')).toEqual([])
    expect((await host.call('bob', { url: `${SCHEDULES}/${scheduleId}` })).status).toBe(404)
    for (const name of ['pause', 'resume', 'run']) {
      expect((await command(scheduleId, name, 'bob')).status).toBe(404)
      expect((await command(scheduleId, name, 'reader')).status).toBe(403)
    }
    expect((await host.call('reader', { url: SCHEDULES })).status).toBe(200)
    // A schedule is no run.
    expect((await host.call('alice', { url: `/v1/runs/${scheduleId}` })).status).toBe(404)
    expect((await host.call('alice', { method: 'POST', url: `/v1/runs/${scheduleId}:cancel` })).status).toBe(404)
  })

  test('are no runs to any route that reads one, and no moment of memory or of files', async () => {
    await put(scheduled())
    const [{ scheduleId }] = await list()
    const { paths } = (await host.call('alice', { url: '/v1/openapi.json' })).json as {
      readonly paths: { readonly [path: string]: { readonly get?: object } }
    }
    const reading = Object.keys(paths).filter(
      path => path.includes('{runId}') && !path.endsWith('/annotations') && paths[path]?.get !== undefined,
    )
    expect(reading.length).toBeGreaterThan(10)
    const urls = [
      ...reading.map(path =>
        path
          .replace('{runId}', scheduleId)
          .replace(/\{(number|n)\}/g, '1')
          .replace(/\{\w+\}/g, 'x'),
      ),
      ...['memory', 'workspace/files'].flatMap(what =>
        ['0', '1', 'end'].map(seq => `/v1/host/assay/${what}?at=${scheduleId}:${seq}`),
      ),
      `/v1/host/workspace/files?at=${scheduleId}:1`,
    ]
    const others: unknown[] = []
    for (const url of urls) {
      const asked = /comparison$|:diff$/.test(url) ? `${url}?against=${scheduleId}` : url
      const { status, json } = await host.call('alice', { url: asked })
      if (status !== 404 || json.error !== 'not_found') others.push([url.replace(scheduleId, 'ID'), status, json])
    }
    expect(others).toEqual([])
  })

  test('are refused to a key that may start no runs', async () => {
    const reply = await host.call('alice', {
      method: 'POST',
      url: '/v1/keys',
      payload: { scopes: ['workflows:write'], principal: 'author' },
    })
    expect(reply.status).toBe(201)
    const headers = { authorization: `Bearer ${reply.json.key}` }
    const write = (definition: object) =>
      host.call(null, { method: 'PUT', url: '/v1/workflows/report', payload: definition, headers })
    const refused = await write(scheduled())
    expect([refused.status, refused.json.error, refused.json.details]).toEqual([
      403,
      'forbidden',
      { scopeRequired: 'runs:create' },
    ])
    expect((await write(workflow('report', [node('only', 'core.noop')]))).status).toBe(201)
    expect(await list()).toEqual([])
  })

  test('whose first time is too far away are refused, and nothing is kept', async () => {
    const refused = await put(scheduled({ cron: '0 0 29 2 *' }))
    expect([refused.status, refused.json.error]).toEqual([422, 'schedule_horizon_exceeded'])
    expect(refused.json.message).toMatch(/triggers\["tick"\].*2028-02-29.*scheduling\.horizonDays/)
    expect([await list(), (await host.call('alice', { url: '/v1/workflows/report' })).status]).toEqual([[], 404])
    const { json } = await host.call('alice', { url: '/.well-known/openwop' })
    expect(json.scheduling).toEqual({
      supported: true,
      cron: true,
      delayed: false,
      calendar: false,
      maxFutureHorizon: 'P366D',
    })
    expect(json.heartbeat).toEqual({ supported: true, minIntervalSec: 5, maxRuntimeMs: 300_000 })
  })

  test('R-ARM-2: a heartbeat is shown with how often it looks and what it found, and nowhere with what it looks at', async () => {
    const config = { intervalSeconds: 60, probes: [{ type: 'http', url: `https://example.com/${CANARY}` }] }
    const triggers = [{ id: 'beat', type: 'event', eventType: 'heartbeat.stateChanged', config }]
    expect((await put(workflow('react', [node('only', 'core.noop')], { triggers }))).status).toBe(201)
    const [one] = await list()
    expect(one).toMatchObject({
      kind: 'heartbeat',
      workflowId: 'react',
      intervalSeconds: 60,
      maxRuntimeSeconds: 30,
      holds: null,
      state: 'armed',
    })
    expect(one).not.toHaveProperty('cron')
    expect(JSON.stringify(one)).not.toContain(CANARY)
    const refused = await put(
      workflow('react', [node('only', 'core.noop')], { triggers: [{ ...triggers[0], config: {} }] }),
    )
    expect([refused.status, refused.json.message]).toEqual([
      400,
      expect.stringContaining('intervalSeconds is required'),
    ])
  })
})
