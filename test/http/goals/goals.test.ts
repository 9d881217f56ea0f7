import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { Check } from 'typebox/value'
import { GOAL_GATE, judgingAgents, type Verdicts } from '../../../src/testing/goal-rig.js'
import { agentFlow } from '../../../src/testing/invocations.js'
import { ManualClock, settled } from '../../../src/testing/manual-clock.js'
import { inspectorDouble, standardsDouble } from '../../../src/testing/verification.js'
import { sketch } from '../../../src/testing/workflow.js'
import { GoalAnswer } from '../../../src/wire/standing/goal.js'
import { type HostOptions, type KeyName, type Reply, startHttp, type TestHost } from '../harness.js'

const GOALS = '/v1/goals'
const STEP = sketch(agentFlow({ config: { resultVariable: 'got' } }, { id: 'step' }))

let host: TestHost
let clock: ManualClock
const begin = async (verdicts: Verdicts = ['fail'], more: Partial<HostOptions> = {}) => {
  clock = new ManualClock()
  host = await startHttp({
    clock,
    agents: judgingAgents(verdicts),
    gates: standardsDouble({ 'assay-goal-judge': [GOAL_GATE] }),
    ...more,
  })
  await host.call('alice', { method: 'PUT', url: '/v1/workflows/step', payload: STEP })
}
beforeEach(() => begin())
afterEach(() => host.close())

const again = async (...args: Parameters<typeof begin>) => {
  await host.close()
  await begin(...args)
}

const WANTED = {
  objective: 'the checklist is complete',
  completion: { check: 'verifier', verifierRef: 'done' },
  bounds: { maxLoopIterations: 3 },
  assay: { run: { workflowId: 'step' } },
}
const post = async (url: string, payload: object = {}, key: KeyName = 'alice', headers = {}): Promise<Reply> => {
  const reply = await host.call(key, { method: 'POST', url, payload, headers })
  await settled()
  return reply
}
const create = (more: object = {}, key: KeyName = 'alice') => post(GOALS, { ...WANTED, ...more }, key)
const made = async (more: object = {}): Promise<string> => {
  const reply = await create(more)
  expect([reply.status, reply.json]).toEqual([200, expect.objectContaining({ state: 'active' })])
  return reply.json.id
}
const get = async (id: string, key: KeyName = 'alice') => (await host.call(key, { url: `${GOALS}/${id}` })).json
const details = async (id: string) => (await host.call('alice', { url: `/v1/host/assay/goals/${id}` })).json
const patch = (id: string, payload: object, key: KeyName = 'alice') =>
  host.call(key, { method: 'PATCH', url: `${GOALS}/${id}`, payload })
const said = ({ status, json }: Reply) => [status, json.error]

describe('goals over HTTP', () => {
  test('are made, go on run by run, and come to their end by what the judge says alone', async () => {
    await again(['fail', 'pass'])
    const id = await made()
    expect(await get(id)).toEqual({
      id,
      objective: 'the checklist is complete',
      state: 'active',
      completion: { check: 'verifier', verifierRef: 'done', lastVerdict: null },
      continuation: { mode: 'manual', armRef: null },
      bounds: { maxLoopIterations: 3 },
      progress: { iterations: 0, contributingRunIds: [] },
      owner: { tenant: 'acme', principal: 'alice' },
      createdAt: '2026-01-01T00:00:00.000Z',
      updatedAt: '2026-01-01T00:00:00.000Z',
    })
    const first = await post(`${GOALS}/${id}/run`)
    expect([first.status, first.headers.location]).toEqual([200, expect.stringMatching(/^\/v1\/runs\//)])
    const one = String(first.headers.location).slice('/v1/runs/'.length)
    expect(await get(id)).toMatchObject({
      state: 'active',
      completion: { lastVerdict: { satisfied: false, runId: one } },
      progress: { iterations: 1, contributingRunIds: [one] },
    })
    await post(`${GOALS}/${id}/run`)
    const reached = await get(id)
    expect(reached).toMatchObject({ state: 'satisfied', completion: { lastVerdict: { satisfied: true } } })
    expect(Check(GoalAnswer, reached)).toBe(true)
    for (const name of ['run', 'pause', 'resume', 'abandon'])
      expect((await post(`${GOALS}/${id}/${name}`)).status).toBe(409)
    expect(said(await patch(id, { objective: 'another' }))).toEqual([409, 'goal_not_active'])
  })

  test('show beside the Goal of the protocol what is reserved, left, best and next', async () => {
    const id = await made({
      bounds: { maxLoopIterations: 3, maxCostUsd: 2, runTimeoutMs: 7_200_000 },
      continuation: { mode: 'schedule', armRef: 'hourly' },
      assay: { run: { workflowId: 'step' }, arm: { cron: '0 * * * *', timezone: 'Asia/Kathmandu' } },
    })
    expect(await details(id)).toMatchObject({
      goalId: id,
      version: 1,
      paused: false,
      work: 'idle',
      iterations: { reserved: 0, finished: 0, left: 3 },
      deadline: '2026-01-01T02:00:00.000Z',
      spend: { spentUsd: 0, heldUsd: 0, leftUsd: 2 },
      openRuns: [],
      next: { tick: '2026-01-01T00:15:00.000Z', owed: 0 },
      escalation: null,
      best: null,
      assay: {
        run: { workflowId: 'step', inputs: {} },
        arm: { cron: '0 * * * *', timezone: 'Asia/Kathmandu', missed: 'once', jitterSeconds: 0 },
        judge: { escalateAfterSame: 3 },
      },
    })
    await clock.advance(20 * 60_000)
    await settled()
    expect(await details(id)).toMatchObject({
      iterations: { reserved: 1, finished: 1, left: 2 },
      best: { verified: false },
      next: { tick: '2026-01-01T01:15:00.000Z' },
    })
  })

  test('R-GOAL-3: nobody completes one, raises its bounds, or sets what is counted: 422, and nothing changes', async () => {
    const id = await made()
    await post(`${GOALS}/${id}/run`)
    const before = await get(id)
    const attempts = [
      { state: 'satisfied' },
      { state: 'active' },
      { bounds: { maxLoopIterations: 99 } },
      { bounds: {} },
      { progress: { iterations: 0, contributingRunIds: [] } },
      { owner: { tenant: 'beta' } },
      { completion: { check: 'verifier', verifierRef: 'done', lastVerdict: { satisfied: true, runId: 'r' } } },
      { lastVerdict: { satisfied: true } },
      { objective: 'fine', state: 'satisfied' },
      {},
    ]
    for (const payload of attempts) {
      for (const reply of [await patch(id, payload), await post(`${GOALS}/${id}`, payload)])
        expect(said(reply)).toEqual([422, 'goal_invalid'])
      expect(await get(id)).toEqual(before)
      if (Object.keys(payload).length > 0 && !('bounds' in payload))
        expect(said(await create(payload))).toEqual([422, 'goal_invalid'])
    }
    for (const word of ['complete', 'satisfy']) expect((await post(`${GOALS}/${id}/${word}`)).status).toBe(404)
    expect((await host.call('alice', { url: GOALS })).json.goals.length).toBe(1)
  })

  test('R-GOAL-4: are refused without a bound, and take one of nothing, which is reached at once', async () => {
    const { bounds: _, ...unbound } = WANTED
    for (const payload of [unbound, { ...unbound, bounds: {} }, { ...unbound, bounds: { maxIterations: 3 } }])
      expect(said(await post(GOALS, payload))).toEqual([422, 'goal_invalid'])
    expect((await create({ bounds: { maxIterations: 3 } })).json.message).toMatch(
      /did you mean bounds\.maxLoopIterations/,
    )
    for (const bounds of [{ maxCostUsd: 0 }, { runTimeoutMs: 0 }])
      expect((await create({ bounds })).json).toMatchObject({ state: 'bound-exceeded' })
    expect(said(await post(GOALS, [] as never))).toEqual([400, 'validation_error'])
  })

  test('R-GOAL-20: a way to go on that discovery does not name is 400', async () => {
    const { json } = await host.call('alice', { url: '/.well-known/openwop' })
    expect(json.agents.goals).toEqual({ judge: 'verifier', continuation: ['schedule', 'manual'], requiresBounds: true })
    for (const mode of ['heartbeat', 'commitment', 'schedule', 'manual']) {
      const reply = await create({
        continuation: { mode },
        assay: { run: { workflowId: 'step' }, ...(mode === 'schedule' ? { arm: { cron: '* * * * *' } } : {}) },
      })
      expect([mode, reply.status]).toEqual([mode, json.agents.goals.continuation.includes(mode) ? 200 : 400])
    }
  })

  test('R-CAP-12: goals that verifiers judge are claimed beside verifiers', async () => {
    const { json } = await host.call('alice', { url: '/.well-known/openwop' })
    expect(json.agents.goals.judge).toBe('verifier')
    expect(json.multiAgent.executionModel.verifier).toMatchObject({ supported: true })
  })

  test('R-GOAL-1: are not there where they are not claimed', async () => {
    const id = await made({
      continuation: { mode: 'schedule' },
      assay: { run: { workflowId: 'step' }, arm: { cron: '* * * * *' } },
    })
    const { store } = host
    await host.close()
    await begin(['pass'], { store, config: { goals: { enabled: false } }, goals: { enabled: false } })
    const before = (await store.readEvents(id, 0)).length
    const { json } = await host.call('alice', { url: '/.well-known/openwop' })
    expect(json.agents.goals).toBeUndefined()
    const goals = host.app.routeTable.filter(({ path }) => path.includes('/goals'))
    expect(goals.length).toBeGreaterThan(15)
    for (const { method, path } of goals) {
      const url = path.replace('{goalId}', id)
      const reply = await host.call('alice', { method, url, ...(method === 'GET' ? {} : { payload: WANTED }) })
      expect([path, reply.status, reply.json.error]).toEqual([path, 501, 'capability_not_provided'])
    }
    await clock.advance(600_000)
    expect((await store.readEvents(id, 0)).length).toBe(before)
  })

  test('R-GOAL-12: lists hold the goals of the tenant, by state, page by page', async () => {
    const ids: string[] = []
    for (let i = 0; i < 5; i++) {
      await clock.advance(1_000)
      ids.push(await made({ objective: `goal ${i}` }))
    }
    await post(`${GOALS}/${ids[0]}/abandon`)
    const found: string[] = []
    let cursor: string | null = ''
    for (let pages = 0; cursor !== null && pages < 9; pages++) {
      const url = `${GOALS}?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`
      const { json } = await host.call('alice', { url })
      found.push(...json.goals.map(({ id }: { id: string }) => id))
      cursor = json.nextCursor
    }
    expect(found).toEqual([...ids].reverse())
    const states = async (state: string) => (await host.call('alice', { url: `${GOALS}?state=${state}` })).json.goals
    expect((await states('abandoned')).map(({ id }: { id: string }) => id)).toEqual([ids[0]])
    expect((await states('active')).length).toBe(4)
    expect((await host.call('alice', { url: `${GOALS}?state=done` })).status).toBe(400)
    expect((await host.call('alice', { url: `${GOALS}?cursor=x` })).status).toBe(400)
    expect((await host.call('bob', { url: GOALS })).json.goals).toEqual([])
  })

  test('R-GOAL-12: are nobody else’s: another tenant is told that there is none', async () => {
    const id = await made()
    const before = await get(id)
    expect((await host.call('bob', { url: `${GOALS}/${id}` })).status).toBe(404)
    expect((await host.call('bob', { url: `/v1/host/assay/goals/${id}` })).status).toBe(404)
    expect((await patch(id, { objective: 'mine' }, 'bob')).status).toBe(404)
    expect((await patch(id, { state: 'satisfied' }, 'bob')).status).toBe(404)
    for (const name of ['run', 'pause', 'resume', 'abandon'])
      expect((await post(`${GOALS}/${id}/${name}`, {}, 'bob')).status).toBe(404)
    expect(await get(id)).toEqual(before)
    // A goal is no run.
    expect((await host.call('alice', { url: `/v1/runs/${id}` })).status).toBe(404)
  })

  test('take the scopes for what is done, and those of whoever may start runs', async () => {
    const id = await made()
    const keyWith = async (scopes: string[]) => (await post('/v1/keys', { scopes, principal: 'other' })).json.key
    const as = async (scopes: string[], method: 'GET' | 'POST' | 'PATCH', url: string, payload?: object) => {
      const headers = { authorization: `Bearer ${await keyWith(scopes)}` }
      return (await host.call(null, { method, url, headers, ...(payload ? { payload } : {}) })).status
    }
    expect(await as(['goals:write', 'runs:create'], 'GET', GOALS)).toBe(403)
    expect(await as(['goals:read'], 'GET', `${GOALS}/${id}`)).toBe(200)
    expect(await as(['goals:read'], 'POST', `${GOALS}/${id}/pause`)).toBe(403)
    expect(await as(['goals:write'], 'POST', `${GOALS}/${id}/pause`)).toBe(200)
    expect(await as(['goals:write'], 'POST', `${GOALS}/${id}/run`, {})).toBe(403)
    expect(await as(['goals:write'], 'POST', GOALS, WANTED)).toBe(403)
    expect(await as(['goals:write', 'runs:create'], 'POST', GOALS, WANTED)).toBe(200)
    // What is run for a goal may do what its owner's key could: less is not enough to say what that is.
    const run = { assay: { run: { workflowId: 'slow' } } }
    expect(await as(['goals:write', 'runs:create'], 'PATCH', `${GOALS}/${id}`, run)).toBe(403)
    expect((await details(id)).assay.run).toEqual({ workflowId: 'step', inputs: {} })
    expect((await patch(id, run)).status).toBe(200)
    expect((await details(id)).assay.run).toEqual({ workflowId: 'slow', inputs: {} })
  })

  test('R-GOAL-11: are paused and resumed; paused is still active, and nothing is started', async () => {
    const id = await made()
    expect((await post(`${GOALS}/${id}/pause`)).json.state).toBe('active')
    expect(await details(id)).toMatchObject({ paused: true })
    expect(said(await post(`${GOALS}/${id}/run`))).toEqual([409, 'goal_not_active'])
    expect((await post(`${GOALS}/${id}/resume`)).json.state).toBe('active')
    expect((await post(`${GOALS}/${id}/run`)).status).toBe(200)
    expect((await post(`${GOALS}/${id}/abandon`)).json.state).toBe('abandoned')
    expect(said(await post(`${GOALS}/${id}/abandon`))).toEqual([409, 'goal_closed'])
  })

  test('are edited while they are active; an arm that is not named is kept', async () => {
    const arm = { cron: '0 * * * *' }
    const id = await made({ continuation: { mode: 'schedule' }, assay: { run: { workflowId: 'step' }, arm } })
    expect((await patch(id, { continuation: { mode: 'schedule', armRef: 'mine' } })).json.continuation).toEqual({
      mode: 'schedule',
      armRef: 'mine',
    })
    expect((await details(id)).assay.arm).toMatchObject(arm)
    expect((await patch(id, { assay: { arm: { cron: '30 * * * *' } } })).status).toBe(200)
    expect(await details(id)).toMatchObject({ version: 1, next: { tick: '2026-01-01T00:30:00.000Z' } })
    expect((await post(`/v1/host/sample/goals/${id}`, { objective: 'another' })).json.objective).toBe('another')
    expect(await details(id)).toMatchObject({ version: 2 })
    expect((await patch(id, { continuation: { mode: 'manual' } })).status).toBe(200)
    expect(said(await patch(id, { continuation: { mode: 'schedule' } }))).toEqual([422, 'goal_invalid'])
    expect(said(await patch(id, { completion: { check: 'verifier', verifierRef: 'nobody' } }))).toEqual([
      422,
      'goal_invalid',
    ])
  })

  test('that say nothing to run are started by hand only, unless the host is configured with what to run', async () => {
    const bare = { ...WANTED, assay: {} }
    const { json } = await post(GOALS, bare)
    expect(said(await post(`${GOALS}/${json.id}/run`))).toEqual([422, 'goal_without_work'])
    const scheduled = { ...bare, continuation: { mode: 'schedule' }, assay: { arm: { cron: '* * * * *' } } }
    expect(said(await post(GOALS, scheduled))).toEqual([422, 'goal_without_work'])
    await again(['fail'], { goals: { run: { workflowId: 'step', inputs: {} } } })
    const { json: one } = await post(GOALS, scheduled)
    expect((await post(`${GOALS}/${one.id}/run`)).status).toBe(200)
    expect((await details(one.id)).assay.run).toEqual({ workflowId: 'step', inputs: {} })
  })

  test('whose judge is not there, or whose times cannot be kept, are refused', async () => {
    const completion = (verifierRef: string | null) => create({ completion: { check: 'verifier', verifierRef } })
    expect(said(await completion('nobody'))).toEqual([422, 'goal_invalid'])
    expect(said(await completion(null))).toEqual([422, 'goal_invalid'])
    const at = (arm: object) =>
      create({ continuation: { mode: 'schedule' }, assay: { run: { workflowId: 'step' }, arm } })
    expect(said(await at({ cron: '0 0 29 2 *' }))).toEqual([422, 'schedule_horizon_exceeded'])
    const zone = await at({ cron: '0 0 * * *', timezone: 'Europe/Berln' })
    expect([...said(zone), zone.json.message]).toEqual([
      422,
      'goal_invalid',
      expect.stringMatching(/did you mean Europe\/Berlin/),
    ])
    expect((await host.call('alice', { url: GOALS })).json.goals).toEqual([])
  })

  test('Q10: are as many as the quota of the tenant, of those that have not come to their end', async () => {
    const quotas = (tenant: string) => ({ ...noQuotasBut, goals: tenant === 'acme' ? 2 : 9 })
    await again(['fail'], { config: { quotas } })
    const ids = [await made(), await made()]
    const refused = await create()
    expect(said(refused)).toEqual([429, 'quota_exceeded'])
    expect(refused.json.details).toMatchObject({ quota: 'goals', limit: 2, scope: 'tenant' })
    await post(`${GOALS}/${ids[0]}/abandon`)
    await made()
  })

  test('R-GOAL-2: are judged by the host where they say by what; what runs on the host itself is not taken from a key', async () => {
    const probe = { type: 'equals', path: '/got', value: 'x' }
    const byHost = (probes: object[] | undefined, verifierRef: string | null = null) =>
      create({
        completion: { check: 'host', verifierRef },
        assay: { run: { workflowId: 'step' }, judge: probes ? { probes } : {} },
      })
    const found = { probeId: 'probe-1', dimension: 'goal', outcome: 'held', evidence: [] } as const
    await again([], { inspector: inspectorDouble(async () => [found]) })
    for (const probes of [undefined, [], [{ type: 'wish' }], [{ type: 'command', command: ['make'] }], [probe, probe]])
      expect(said(await byHost(probes))).toEqual([422, 'goal_invalid'])
    expect(said(await byHost([probe], 'done'))).toEqual([422, 'goal_invalid'])
    const { json } = await byHost([probe])
    expect((await details(json.id)).assay.judge).toEqual({
      escalateAfterSame: 3,
      probes: [{ ...probe, probe_id: 'probe-1' }],
    })
    await post(`${GOALS}/${json.id}/run`)
    expect(await get(json.id)).toMatchObject({ state: 'satisfied', completion: { check: 'host' } })
  })

  test('R-GOAL-9: are kept without secrets', async () => {
    host.learnSecret('token', 'hunter2-hunter2')
    const id = await made({ objective: 'log in with hunter2-hunter2' })
    expect((await get(id)).objective).toBe('log in with [REDACTED:token]')
    await patch(id, { objective: 'again with hunter2-hunter2' })
    const rows = await host.store.readEvents(id, 0)
    expect(JSON.stringify(rows)).not.toContain('hunter2-hunter2')
  })

  test('are made once under one Idempotency-Key, under either path, and one run is started', async () => {
    const keyed = { 'idempotency-key': 'k1' }
    const one = await post(GOALS, WANTED, 'alice', keyed)
    const two = await post('/v1/host/sample/goals', WANTED, 'alice', keyed)
    expect([two.status, two.json.id, two.headers['openwop-idempotent-replay']]).toEqual([200, one.json.id, 'true'])
    const id = one.json.id
    const first = await post(`${GOALS}/${id}/run`, {}, 'alice', { 'idempotency-key': 'r1' })
    const second = await post(`${GOALS}/${id}/run`, {}, 'alice', { 'idempotency-key': 'r1' })
    expect(second.headers.location).toBe(first.headers.location)
    expect(await details(id)).toMatchObject({ iterations: { reserved: 1 } })
  })
})

const noQuotasBut = {
  requestsInFlight: 1e6,
  streams: 1e6,
  activeRuns: 1e6,
  childrenPerRoot: 1e6,
  childDepth: 8,
  storedBytes: 1e12,
  effectsAtOnce: 8,
  schedules: 9,
  weight: 1,
}
