import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { GOAL_GATE, judgingAgents, type Verdicts } from '../../../src/testing/goal-rig.js'
import { agentFlow } from '../../../src/testing/invocations.js'
import { ManualClock, settled } from '../../../src/testing/manual-clock.js'
import { standardsDouble } from '../../../src/testing/verification.js'
import { sketch } from '../../../src/testing/workflow.js'
import { type HostOptions, type KeyName, type Reply, startHttp, type TestHost } from '../harness.js'

const STEP = sketch(agentFlow({ config: { resultVariable: 'got' } }, { id: 'step' }))

let host: TestHost
const begin = async (verdicts: Verdicts = ['fail'], more: Partial<HostOptions> = {}) => {
  host = await startHttp({
    clock: new ManualClock(),
    agents: judgingAgents(verdicts),
    gates: standardsDouble({ 'assay-goal-judge': [GOAL_GATE] }),
    ...more,
  })
  await host.call('alice', { method: 'PUT', url: '/v1/workflows/step', payload: STEP })
}
beforeEach(() => begin())
afterEach(() => host.close())

const post = async (url: string, payload: object = {}, key: KeyName = 'alice', headers = {}): Promise<Reply> => {
  const reply = await host.call(key, { method: 'POST', url, payload, headers })
  await settled()
  return reply
}
const get = (url: string, key: KeyName = 'alice', headers = {}) => host.call(key, { url, headers })
const made = async (more: object = {}): Promise<string> => {
  const wanted = {
    objective: 'CANARY-OBJECTIVE',
    completion: { check: 'verifier', verifierRef: 'done' },
    bounds: { maxLoopIterations: 3 },
    assay: { run: { workflowId: 'step' } },
  }
  return (await post('/v1/goals', { ...wanted, ...more })).json.id
}
const naming = (goalId: unknown, key: KeyName = 'alice', headers = {}) =>
  post('/v1/runs', { workflowId: 'step', metadata: { goalId, mine: 1 } }, key, headers)
const said = ({ status, json }: Reply) => [status, json.error]

describe('runs that name a goal', () => {
  test('work for it: the iteration is reserved with the run, or the run is refused', async () => {
    const id = await made({ bounds: { maxLoopIterations: 1 }, assay: {} })
    const { status, json } = await naming(id)
    expect(status).toBe(201)
    const goal = (await get(`/v1/goals/${id}`)).json
    expect(goal).toMatchObject({
      state: 'bound-exceeded',
      progress: { iterations: 1, contributingRunIds: [json.runId] },
    })
    const run = (await get(`/v1/runs/${json.runId}`)).json
    expect(run.metadata).toMatchObject({ goalId: id, iteration: 1, startedBy: 'name', mine: 1 })
    const before = (await get('/v1/runs')).json.runs.length
    expect(said(await naming(id))).toEqual([409, 'goal_closed'])
    expect((await get('/v1/runs')).json.runs.length).toBe(before)
  })

  test('need the scope, a goal of their own tenant, and no X-Dedup', async () => {
    const id = await made()
    const refused = await naming(id, 'starter')
    expect([...said(refused), refused.json.details]).toEqual([403, 'forbidden', { scopeRequired: 'goals:write' }])
    expect(said(await naming('goal-nobody'))).toEqual([422, 'goal_invalid'])
    expect(said(await naming(7))).toEqual([422, 'goal_invalid'])
    await host.call('bob', { method: 'PUT', url: '/v1/workflows/step', payload: STEP })
    expect(said(await naming(id, 'bob'))).toEqual([422, 'goal_invalid'])
    const dedup = await post('/v1/runs', { workflowId: 'step', scopeId: 's', metadata: { goalId: id } }, 'alice', {
      'x-dedup': 'enforce',
    })
    expect(said(dedup)).toEqual([400, 'validation_error'])
    expect((await get(`/v1/host/assay/goals/${id}`)).json.iterations.reserved).toBe(0)
    await post(`/v1/goals/${id}/pause`)
    expect(said(await naming(id))).toEqual([409, 'goal_not_active'])
  })

  test('are one run under one Idempotency-Key', async () => {
    const id = await made()
    const keyed = { 'idempotency-key': 'k1' }
    const [one, two] = [await naming(id, 'alice', keyed), await naming(id, 'alice', keyed)]
    expect([two.status, two.json.runId]).toEqual([201, one.json.runId])
    expect((await get(`/v1/host/assay/goals/${id}`)).json.iterations.reserved).toBe(1)
  })

  test('R-GOAL-14: where there are no goals, naming one is nothing but metadata', async () => {
    await host.close()
    await begin(['pass'], { config: { goals: { enabled: false } }, goals: { enabled: false } })
    expect((await naming('goal-nobody', 'starter')).status).toBe(201)
  })

  test('are found by their goal, page by page, and by nobody else', async () => {
    const id = await made()
    const runIds: string[] = []
    for (let i = 0; i < 3; i++) runIds.push((await naming(id)).json.runId)
    await post('/v1/runs', { workflowId: 'step' })
    const list = async (query: string, key: KeyName = 'alice') => {
      const { json } = await get(`/v1/runs?goalId=${id}${query}`, key)
      return { runs: json.runs.map(({ runId }: { runId: string }) => runId), next: json.nextCursor }
    }
    expect((await list('')).runs).toEqual([...runIds].reverse())
    const first = await list('&limit=2')
    expect(first.runs).toEqual([runIds[2], runIds[1]])
    expect((await list(`&limit=2&cursor=${first.next}`)).runs).toEqual([runIds[0]])
    expect((await list('&status=failed')).runs).toEqual([])
    expect((await list('&status=completed&workflowId=step')).runs.length).toBe(3)
    expect((await list('', 'bob')).runs).toEqual([])
    expect((await get('/v1/runs?goalId=goal-nobody')).json.runs).toEqual([])
  })

  test('R-GOAL-13: a verdict is recorded; no fork or replay of what was judged makes it again', async () => {
    const id = await made()
    const { runId } = (await naming(id)).json
    const before = (await get(`/v1/goals/${id}`)).json
    const log = async () => (await get(`/v1/goals/${id}/events`, 'alice', { accept: 'application/json' })).text
    const told = await log()
    expect(before.completion.lastVerdict).toEqual({ satisfied: false, runId })
    for (const payload of [
      { mode: 'replay', fromSeq: 0 },
      { mode: 'branch', fromSeq: 1 },
    ]) {
      expect((await post(`/v1/runs/${runId}:fork`, payload)).status).toBe(201)
      expect((await post(`/v1/runs/${id}:fork`, payload)).status).toBe(404)
    }
    expect((await get(`/v1/goals/${id}`)).json).toEqual(before)
    expect(await log()).toBe(told)
  })
})

describe('events of a goal', () => {
  const types = (events: { type: string }[]) => events.map(({ type }) => type)

  test('R-GOAL-9: are its log, as JSON and as a stream that ends with it, without a word of what is written', async () => {
    await host.close()
    await begin(['pass'])
    const id = await made()
    await post(`/v1/goals/${id}/run`)
    const json = await get(`/v1/goals/${id}/events`, 'alice', { accept: 'application/json' })
    const told = types(json.json.events)
    expect(told.filter(type => type.startsWith('goal.'))).toEqual(['goal.evaluated', 'goal.closed'])
    expect([told[0], told.at(-1)]).toEqual(['assay.goal.created', 'assay.stream.ended'])
    expect(json.json.events[0]).toMatchObject({ runId: id, eventId: `${id}:0`, sequence: 0 })
    const stream = await get(`/v1/host/sample/goals/${id}/events`)
    expect(stream.headers['content-type']).toMatch(/^text\/event-stream/)
    expect([...stream.text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)).toEqual(told)
    const rest = await get(`/v1/goals/${id}/events`, 'alice', { 'last-event-id': String(told.length - 2) })
    expect([...rest.text.matchAll(/^event: (.*)$/gm)].map(([, type]) => type)).toEqual(['assay.stream.ended'])
    expect(json.text + stream.text).not.toContain('CANARY')
  })

  test('are waited for, and told as they come', async () => {
    const id = await made()
    const all = (await get(`/v1/goals/${id}/events/poll`)).json
    expect(all).toMatchObject({ goalId: id, isComplete: false })
    const held = get(`/v1/goals/${id}/events/poll?lastSequence=${all.lastEventSeq}`)
    await settled()
    await post(`/v1/goals/${id}/abandon`)
    const { json } = await held
    expect(types(json.events)).toContain('goal.closed')
    const over = (await get(`/v1/goals/${id}/events/poll`)).json
    expect(over).toMatchObject({ isComplete: true, lastEventSeq: over.events.length - 1 })
  })

  test('are nobody else’s, and take the scope', async () => {
    const id = await made()
    for (const url of [`/v1/goals/${id}/events`, `/v1/goals/${id}/events/poll`]) {
      expect((await get(url, 'bob')).status).toBe(404)
      expect((await get(url, 'reader')).status).toBe(403)
    }
    for (const after of ['x', '-1', '999'])
      expect((await get(`/v1/goals/${id}/events`, 'alice', { 'last-event-id': after })).status).toBe(400)
    // A goal is no run here, either.
    expect((await get(`/v1/runs/${id}/events`)).status).toBe(404)
  })
})
