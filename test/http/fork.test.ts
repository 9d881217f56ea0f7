import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { asking, registerAsking } from './asking.js'
import { type KeyName, node, type Reply, startHttp, type TestHost, workflow } from './harness.js'

let host: TestHost
beforeAll(async () => {
  host = await startHttp({ config: { mockProviders: ['stream-text'] } })
  await registerAsking(host)
  const counted = workflow(
    'counted',
    [
      node('a', 'core.identity', { inputs: { payload: { type: 'variable', variableName: 'n' } } }),
      node('b', 'core.noop'),
    ],
    {
      edges: [{ id: 'e', sourceNodeId: 'a', sourceOutput: 'output', targetNodeId: 'b', targetInput: 'input' }],
      variables: [{ name: 'n', type: 'number', defaultValue: 1 }],
    },
  )
  expect((await host.call('alice', { method: 'POST', url: '/v1/workflows', payload: counted })).status).toBe(201)
})
afterAll(() => host.close())

const { start, snapshot, answer, link, log, cancel } = asking(() => host)

const fork = (runId: string, payload: object, headers: object = {}, key: KeyName = 'alice'): Promise<Reply> =>
  host.call(key, { method: 'POST', url: `/v1/runs/${runId}:fork`, payload, headers: { ...headers } })
const diff = async (a: string, b: string) => (await host.call('alice', { url: `/v1/runs/${a}:diff?against=${b}` })).json

const ended = async (runId: string): Promise<string> => {
  const status = async () => (await snapshot(runId)).status
  await expect.poll(status, { timeout: 5000 }).toMatch(/^(completed|failed|cancelled)$/)
  return status()
}

describe('a replay', () => {
  test('R-FORK-1 R-FORK-4: of a completed run completes with the same log, and leaves the source as it is', async () => {
    const source = await start('counted', { inputs: { n: 5 }, tags: ['t'], metadata: { m: 1 } })
    const before = await log(source)
    const reply = await fork(source, { mode: 'replay' })
    const { runId, status } = reply.json
    expect(reply.status).toBe(201)
    expect(reply.json).toEqual({
      runId,
      sourceRunId: source,
      fromSeq: 0,
      mode: 'replay',
      status,
      eventsUrl: `/v1/runs/${runId}/events`,
    })
    expect(await ended(runId)).toBe('completed')
    expect(await diff(source, runId)).toEqual({
      a: source,
      b: runId,
      divergedAtSeq: null,
      eventDiffs: [],
      stateDiff: {},
    })
    expect(await log(source)).toEqual(before)
  })

  test('R-FORK-1: says where it comes from, belongs to the same owner, and is nobody’s child', async () => {
    const parent = await start('mother')
    await expect.poll(async () => (await snapshot(parent)).status, { timeout: 5000 }).toBe('waiting-approval')
    const child = (await snapshot(parent)).childRuns[0].runId
    await answer(child, { action: 'accept' })
    await ended(parent)
    const { runId } = (await fork(child, { mode: 'replay', fromSeq: 2 })).json
    const seen = await snapshot(runId)
    expect(seen).toMatchObject({ forkedFrom: { runId: child, fromSeq: 2, mode: 'replay' } })
    expect(seen.owner).toEqual((await snapshot(child)).owner)
    expect(seen).not.toHaveProperty('parentRunId')
    expect(seen).not.toHaveProperty('parentNodeId')
    expect(seen).not.toHaveProperty('diverged')
    expect((await snapshot(parent)).childRuns).toHaveLength(1)
  })

  test('R-ASK-1: hears the answers the source heard, and asks nobody', async () => {
    const source = await start('approve')
    await answer(source, { action: 'accept' })
    const { runId } = (await fork(source, { mode: 'replay' })).json
    expect(await ended(runId)).toBe('completed')
    expect((await diff(source, runId)).divergedAtSeq).toBe(null)
  })

  test('R-FORK-3: takes no overlay, not even a small one', async () => {
    const source = await start('counted')
    expect((await fork(source, { mode: 'replay', runOptionsOverlay: {} })).status).toBe(201)
    const reply = await fork(source, { mode: 'replay', runOptionsOverlay: { tags: ['x'] } })
    expect([reply.status, reply.json.details.field]).toEqual([400, 'body.runOptionsOverlay'])
  })
})

describe('a branch', () => {
  test('R-FORK-2: shares the log before fromSeq, takes the overlay, and goes on by itself', async () => {
    const source = await start('approve', { metadata: { m: 1 } })
    await answer(source, { action: 'reject' })
    const events = await log(source)
    const asked = events.findIndex(event => event.type === 'node.suspended') + 1
    const reply = await fork(source, { mode: 'branch', fromSeq: asked, runOptionsOverlay: { tags: ['again'] } })
    expect([reply.status, reply.json.mode, reply.json.fromSeq]).toEqual([201, 'branch', asked])
    const { runId } = reply.json
    await expect.poll(async () => (await snapshot(runId)).status, { timeout: 5000 }).toBe('waiting-approval')
    expect((await answer(runId, { action: 'accept' })).json.status).toBe('completed')
    const own = await log(runId)
    expect(own.slice(0, asked).map(event => event.type)).toEqual(events.slice(0, asked).map(event => event.type))
    expect((await snapshot(runId)).tags).toEqual(['again'])
    expect((await snapshot(source)).status).toBe('failed')
    const { divergedAtSeq, eventDiffs, stateDiff } = await diff(source, runId)
    expect(divergedAtSeq).toBe(eventDiffs[0].seq)
    expect(stateDiff.status).toEqual({ a: 'failed', b: 'completed' })
  })

  test('R-FORK-3: needs fromSeq', async () => {
    const reply = await fork(await start('counted'), { mode: 'branch' })
    expect([reply.status, reply.json.details.field]).toEqual([400, 'body.fromSeq'])
  })

  test('cannot bring what a new run could not', async () => {
    const source = await start('counted')
    const ask = (runOptionsOverlay: object) => fork(source, { mode: 'branch', fromSeq: 0, runOptionsOverlay })
    const field = async (overlay: object) => {
      const reply = await ask(overlay)
      return [reply.status, reply.json.error]
    }
    expect(await field({ tags: Array(101).fill('t') })).toEqual([400, 'validation_error'])
    expect(await field({ tags: [7] })).toEqual([400, 'validation_error'])
    expect(await field({ metadata: { a: 'x'.repeat(9000) } })).toEqual([400, 'validation_error'])
    expect(await field({ metadata: { a: { b: { c: { d: {} } } } } })).toEqual([400, 'validation_error'])
    expect(await field({ configurable: { recursionLimit: 0 } })).toEqual([400, 'validation_error'])
    expect(await field({ inputs: {} })).toEqual([400, 'validation_error'])
    expect(await field({ configurable: { mockProvider: { id: 'stream-text' } } })).toEqual([
      403,
      'mock_provider_forbidden',
    ])
  })
})

describe('E66: forks that are refused', () => {
  test.each<[object, number, string]>([
    [{ mode: 'replay', fromSeq: -1 }, 400, 'validation_error'],
    [{ mode: 'replay', fromSeq: 1.5 }, 400, 'validation_error'],
    [{ mode: 'replay', fromSeq: '0' }, 400, 'validation_error'],
    [{ mode: 'replay', fromSeq: null }, 400, 'validation_error'],
    [{ mode: 'resume' }, 400, 'validation_error'],
    [{}, 400, 'validation_error'],
    [{ mode: 'replay', owner: { tenant: 'beta' } }, 400, 'validation_error'],
    [{ mode: 'replay', fromSeq: 1_000_000 }, 422, 'invalid_from_seq'],
    [{ mode: 'branch', fromSeq: 1e300 }, 422, 'invalid_from_seq'],
  ])('R-FORK-3: %j is %i %s, and the source is as it was', async (payload, status, error) => {
    const source = await start('counted')
    const before = await log(source)
    const runs = (await host.call('alice', { url: '/v1/runs?limit=200' })).json.runs.length
    const reply = await fork(source, payload)
    expect([reply.status, reply.json.error]).toEqual([status, error])
    expect(await log(source)).toEqual(before)
    expect((await host.call('alice', { url: '/v1/runs?limit=200' })).json.runs).toHaveLength(runs)
  })

  test('R-FORK-3: the end of the log is the last place to cut, and one more is too far', async () => {
    const source = await start('counted')
    const { length } = await log(source)
    expect((await fork(source, { mode: 'replay', fromSeq: length })).status).toBe(201)
    const beyond = await fork(source, { mode: 'replay', fromSeq: length + 1 })
    expect([beyond.status, beyond.json.details]).toEqual([422, { sourceRunId: source, fromSeq: length + 1, length }])
  })

  test('R-FORK-3: an unknown run, and a foreign one, are 404 before their log is looked at', async () => {
    const source = await start('counted')
    const foreign = await fork(source, { mode: 'replay', fromSeq: 1_000_000 }, {}, 'bob')
    const absent = await fork('never', { mode: 'replay' }, {}, 'bob')
    expect([foreign.status, foreign.text]).toEqual([404, absent.text])
  })

  test('of a running run, the fork is a run of its own', async () => {
    const source = await start('slow')
    const { runId } = (await fork(source, { mode: 'branch', fromSeq: 1 })).json
    expect((await snapshot(runId)).status).toBe('running')
    await cancel(runId)
    expect((await snapshot(source)).status).toBe('running')
    await cancel(source)
  })
})

describe('any place of a log', () => {
  test.each(['replay', 'branch'])('can be forked (%s), and the source stays as it is', async mode => {
    const source = await start('approve')
    await answer(source, { action: 'accept' })
    const before = await log(source)
    for (let fromSeq = 0; fromSeq <= before.length; fromSeq++) {
      const reply = await fork(source, { mode, fromSeq })
      expect([fromSeq, reply.status, reply.text]).toEqual([fromSeq, 201, reply.text])
      const { runId } = reply.json
      await expect
        .poll(async () => (await snapshot(runId)).status, { timeout: 5000 })
        .toMatch(/^(completed|waiting-approval)$/)
      const own = await log(runId)
      expect(own.slice(0, fromSeq).map(({ payload }) => ({ ...payload, runId: '' }))).toEqual(
        before.slice(0, fromSeq).map(({ payload }) => ({ ...payload, runId: '' })),
      )
      if (mode === 'replay') expect((await diff(source, runId)).divergedAtSeq).toBe(null)
    }
    expect(await log(source)).toEqual(before)
  })

  test('a replay of a run that still waits asks nobody, and does not wait for ever', async () => {
    const source = await start('approve')
    const { runId } = (await fork(source, { mode: 'replay' })).json
    expect(await ended(runId)).toBe('failed')
    expect((await snapshot(runId)).error.code).toBe('replay_source_missing')
    const refusals = [await answer(runId, { action: 'accept' }), await link(runId)]
    expect(refusals.map(({ status, json }) => [status, json.error])).toEqual(
      Array(2).fill([404, 'interrupt_not_found']),
    )
    expect((await snapshot(source)).status).toBe('waiting-approval')
    await cancel(source)
  })
})

test('the same Idempotency-Key gives the same fork; with another body it is 409', async () => {
  const source = await start('counted')
  const headers = { 'idempotency-key': 'fork-1' }
  const [first, again] = await Promise.all([
    fork(source, { mode: 'replay' }, headers),
    fork(source, { mode: 'replay' }, headers),
  ])
  expect([first.status, again.text]).toEqual([201, first.text])
  const other = await fork(await start('counted'), { mode: 'replay' }, headers)
  expect([other.status, other.json.error]).toEqual([409, 'idempotency_key_mismatch'])
})

test('E67 R-FORK-5: a replay repeats no effect, a branch does', async () => {
  const calls: string[] = []
  const performer = {
    perform: async ({ id }: { id: string }) => {
      calls.push(id)
      return { ok: true as const, output: { receipt: calls.length } }
    },
  }
  const paying = await startHttp({ performers: new Map([['conformance.side-effect', performer]]) })
  const before = host
  host = paying
  const payload = workflow('paying', [node('pay', 'core.conformance.side-effect')])
  expect((await host.call('alice', { method: 'POST', url: '/v1/workflows', payload })).status).toBe(201)
  const source = await start('paying')
  expect(await ended(source)).toBe('completed')
  expect(calls).toHaveLength(1)
  const replay = (await fork(source, { mode: 'replay' })).json.runId
  expect(await ended(replay)).toBe('completed')
  expect(calls).toHaveLength(1)
  expect((await diff(source, replay)).divergedAtSeq).toBe(null)
  const branch = (await fork(source, { mode: 'branch', fromSeq: 0 })).json.runId
  expect(await ended(branch)).toBe('completed')
  expect(calls).toHaveLength(2)
  host = before
  await paying.close()
})
