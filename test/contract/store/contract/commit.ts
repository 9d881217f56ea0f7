import { expect, it } from 'vitest'
import { StoreUnavailable } from '../../../../src/engine/ports/event-log.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'

const COMMITTED = { kind: 'committed' }

export function commitContract(open: () => Promise<Opened>): void {
  it('S1 writes events and the run row together', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const run = { tenant: 'acme', scopeId: 's', tags: ['a', 'b"c'], parentRunId: 'p', parentNodeId: 'pn' }
    const log = [f.event(0, { at: f.T0 + 5 }), f.event(1, { secret: '{"x":1}', input: '{"y":2}', at: f.T0 + 9 })]
    const stream = { events: log, status: 'waiting-external', wakeAt: f.T0 + 100, head: 'head-2' } as const
    const runId = await f.created(store, hostId, stream, run)

    expect(await store.readEvents(runId, 0)).toEqual(log)
    expect(await store.readRun('acme', runId)).toEqual({
      ...run,
      runId,
      workflowId: 'wf',
      workflowDigest: 'digest',
      status: 'waiting-external',
      length: 2,
      owner: hostId,
      epoch: 1,
      attempts: 0,
      wakeAt: f.T0 + 100,
      createdAt: f.T0 + 5,
      updatedAt: f.T0 + 9,
      endedAt: null,
      fork: null,
      head: 'head-2',
      checkpoint: null,
    })
  })

  it('S1 keeps text as it is: quotes, controls, emoji, a megabyte', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const payload = JSON.stringify({ a: 'é"\\\u0000\n\ud83d\ude00\u2028{},', b: 'x'.repeat(1_000_000) })
    const runId = await f.created(store, hostId, { events: [f.event(0, { payload, nodeId: 'n,"{}\\' })] })
    expect(await store.readEvents(runId, 0)).toEqual([f.event(0, { payload, nodeId: 'n,"{}\\' })])
  })

  it('S1 writes all streams, wakes and the response of a commit, or none of it', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const [parent, other] = [await f.created(store, hostId), await f.created(store, hostId)]
    const [child, response] = [f.id('run'), f.response()]
    const streams = (expected: number) => [
      f.creation(child, {}, { parentRunId: parent, parentNodeId: 'n1' }),
      f.extension(parent, expected, { status: 'waiting-external' }),
    ]

    const refused = await store.commit(f.commit(hostId, streams(7), { wakes: [other], response }))
    expect(refused).toEqual({ kind: 'conflict', runId: parent })
    expect(await store.readRun(null, child)).toBeUndefined()
    expect(await store.readEvents(child, 0)).toEqual([])
    expect(await store.getResponse(response)).toBeUndefined()
    expect((await store.readRun(null, other))?.wakeAt).toBeNull()
    expect((await store.readRun(null, parent))?.length).toBe(2)

    expect(await store.commit(f.commit(hostId, streams(2), { wakes: [other], response }))).toEqual(COMMITTED)
    expect((await store.readRun(null, child))?.parentRunId).toBe(parent)
    expect(await store.readRun(null, parent)).toMatchObject({ length: 3, status: 'waiting-external' })
    expect((await store.readRun(null, other))?.wakeAt).toBe(0)
    expect(await store.getResponse(response)).toEqual(response)
  })

  it('S2 refuses every expected sequence but the next', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const runId = await f.created(store, hostId)
    const tries = [f.creation(runId), f.extension(runId, 1), f.extension(runId, 3), f.extension(f.id('run'), 1)]
    for (const stream of tries) {
      const result = await store.commit(f.commit(hostId, [stream]))
      expect(result).toEqual({ kind: 'conflict', runId: stream.runId })
    }
    expect((await store.readRun(null, runId))?.length).toBe(2)
    expect(await store.commit(f.commit(hostId, [f.extension(runId, 2)]))).toEqual(COMMITTED)
  })

  it('S2 lets exactly one of 50 parallel appends win', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const runId = await f.created(store, hostId)
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, i) => {
        const events = [f.event(2, { payload: `{"writer":${i}}` }), f.event(3)]
        return store.commit(f.commit(hostId, [f.extension(runId, 2, { events })]))
      }),
    )
    expect(f.kinds(results)).toEqual({ committed: 1, conflict: 49 })
    const winner = results.findIndex(result => result.kind === 'committed')
    const log = await store.readEvents(runId, 0)
    expect(log.map(event => event.sequence)).toEqual([0, 1, 2, 3])
    expect(log[2]?.payload).toBe(`{"writer":${winner}}`)
  })

  it('S2 lets exactly one of 50 parallel creations of a run win', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const runId = f.id('run')
    const results = await Promise.all(
      Array.from({ length: 50 }, () => store.commit(f.commit(hostId, [f.creation(runId)]))),
    )
    expect(f.kinds(results)).toEqual({ committed: 1, conflict: 49 })
    expect(await store.readEvents(runId, 0)).toHaveLength(2)
  })

  it('S2 answers each of many parallel appends on its own', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const runIds = await Promise.all(Array.from({ length: 60 }, () => f.created(store, hostId)))
    const results = await Promise.all(
      runIds.map((runId, i) => store.commit(f.commit(hostId, [f.extension(runId, i % 3 === 0 ? 9 : 2)]))),
    )
    results.forEach((result, i) => {
      expect(result).toEqual(i % 3 === 0 ? { kind: 'conflict', runId: runIds[i] } : COMMITTED)
    })
  })

  it('S3 fences a host that was replaced, and one that never registered', async () => {
    const { store } = await open()
    const name = f.id('name')
    const zombie = await f.host(store, name)
    const runId = await f.created(store, zombie)
    const successor = await f.fence(store, name)
    expect(await store.commit(f.commit(zombie, [f.extension(runId, 2)]))).toEqual({ kind: 'fenced' })
    expect(await store.commit(f.commit(zombie, [f.creation(f.id('run'))]))).toEqual({ kind: 'fenced' })
    expect(await store.commit(f.commit('nobody', [f.creation(f.id('run'))]))).toEqual({ kind: 'fenced' })
    expect((await store.readRun(null, runId))?.length).toBe(2)
    expect(await store.commit(f.commit(successor, [f.extension(runId, 2)]))).toEqual(COMMITTED)
  })

  it('S3 fences an epoch that was taken over, and an epoch held by another host', async () => {
    const { store } = await open()
    const name = f.id('name')
    const first = await f.host(store, name)
    const runId = await f.created(store, first)
    const second = await f.fence(store, name)
    const other = await f.host(store)
    expect(await store.claimOrphans(second, f.T0, 10)).toBe(1)
    const append = (hostId: string, epoch: number | null, at = 2) =>
      store.commit(f.commit(hostId, [f.extension(runId, at, { epoch })]))
    expect(await append(second, 1)).toEqual({ kind: 'fenced' })
    expect(await append(other, 2)).toEqual({ kind: 'fenced' })
    expect(await append(second, 2)).toEqual(COMMITTED)
    expect(await append(other, null, 3)).toEqual(COMMITTED)
    expect((await store.readRun(null, runId))?.owner).toBe(second)
  })

  it('checks host, response, sequence and epoch, scope in this order', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const response = f.response()
    const runId = await f.created(store, hostId, {}, { scopeId: 's' })
    await store.commit(f.commit(hostId, [f.extension(runId, 2)], { response }))
    const conflicting = f.creation(runId, {}, { scopeId: 's', exclusiveScope: true })
    const scoped = f.creation(f.id('run'), {}, { scopeId: 's', exclusiveScope: true })
    const kind = async (host: string, streams: Parameters<typeof f.commit>[1], withResponse: boolean) =>
      (await store.commit(f.commit(host, streams, withResponse ? { response } : {}))).kind
    expect(await kind('nobody', [conflicting], true)).toBe('fenced')
    expect(await kind(hostId, [conflicting], true)).toBe('response-exists')
    expect(await kind(hostId, [scoped, f.extension(runId, 9)], false)).toBe('conflict')
    expect(await kind(hostId, [f.extension(runId, 9, { epoch: 9 })], false)).toBe('conflict')
    expect(await kind(hostId, [scoped, f.extension(runId, 3, { epoch: 9 })], false)).toBe('fenced')
    expect(await kind(hostId, [scoped, f.extension(runId, 3)], false)).toBe('scope-active')
  })

  it('S4 answers `committed` to a repeated append and writes nothing again', async () => {
    const { store } = await open()
    const name = f.id('name')
    const hostId = await f.host(store, name)
    const [runId, child] = [await f.created(store, hostId), f.id('run')]
    const append = f.commit(
      hostId,
      [f.extension(runId, 2), f.creation(child, {}, { scopeId: 's', exclusiveScope: true })],
      {
        response: f.response(),
      },
    )
    const results = await Promise.all([store.commit(append), store.commit(append), store.commit(append)])
    expect(f.kinds(results)).toEqual({ committed: 3 })
    await store.commit(f.commit(hostId, [f.extension(runId, 3)]))
    expect(await store.commit(append)).toEqual(COMMITTED)
    await f.fence(store, name)
    expect(await store.commit(append)).toEqual(COMMITTED)
    expect(await store.readEvents(runId, 0)).toHaveLength(4)
    expect(await store.readEvents(child, 0)).toHaveLength(2)
  })

  it('remembers the response with its effect and gives it to whoever comes second', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const response = f.response()
    const attempts = Array.from({ length: 20 }, (_, i) =>
      store.commit(f.commit(hostId, [f.creation(`${f.id('run')}`)], { response: { ...response, body: `{"i":${i}}` } })),
    )
    const results = await Promise.all(attempts)
    expect(f.kinds(results)).toEqual({ committed: 1, 'response-exists': 19 })
    const winner = { ...response, body: `{"i":${results.findIndex(result => result.kind === 'committed')}}` }
    for (const result of results) if (result.kind === 'response-exists') expect(result.response).toEqual(winner)
    expect(await store.listRuns({ tenant: 'acme', limit: 100 })).toHaveLength(1)
    const elsewhere = { ...response, tenant: 'other' }
    expect(await store.commit(f.commit(hostId, [], { response: elsewhere }))).toEqual(COMMITTED)
  })

  it('replaces the response of a retryable failure, for the same request only', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const failed = f.response({ state: 'retryable-failure', status: 503 })
    await store.commit(f.commit(hostId, [], { response: failed }))
    const wrong = { ...failed, state: 'completed', digest: 'other' } as const
    expect((await store.commit(f.commit(hostId, [], { response: wrong }))).kind).toBe('response-exists')
    const right = { ...failed, state: 'completed', status: 201 } as const
    expect(await store.commit(f.commit(hostId, [], { response: right }))).toEqual(COMMITTED)
    expect(await store.getResponse(failed)).toEqual(right)
  })

  it('lets exactly one of 20 parallel runs into an exclusive scope, until it ends', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const enter = async (run: object = {}) => {
      const runId = f.id('run')
      const create = { scopeId: 'daily', exclusiveScope: true, ...run }
      return { runId, result: await store.commit(f.commit(hostId, [f.creation(runId, {}, create)])) }
    }
    const entered = await Promise.all(Array.from({ length: 20 }, () => enter()))
    expect(f.kinds(entered.map(({ result }) => result))).toEqual({ committed: 1, 'scope-active': 19 })
    const winner = entered.find(({ result }) => result.kind === 'committed')!.runId
    for (const { result } of entered) if (result.kind === 'scope-active') expect(result.runId).toBe(winner)

    expect((await enter({ tenant: 'other' })).result).toEqual(COMMITTED)
    expect((await enter({ scopeId: 'weekly' })).result).toEqual(COMMITTED)
    expect((await enter({ scopeId: null })).result).toEqual(COMMITTED)
    expect((await enter({ scopeId: null })).result).toEqual(COMMITTED)
    expect((await enter({ exclusiveScope: false })).result).toEqual(COMMITTED)
    expect((await enter()).result.kind).toBe('scope-active')
    for (const run of await store.listRuns({ tenant: 'acme', limit: 100 })) {
      await store.commit(
        f.commit(hostId, [f.extension(run.runId, 2, { events: [f.terminal(2)], status: 'completed' })]),
      )
    }
    expect((await enter()).result).toEqual(COMMITTED)
  })

  it('S5 refuses anything after the terminal event, and spares the commits beside it', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const [done, fine] = [await f.created(store, hostId), await f.created(store, hostId)]
    const end = f.extension(done, 2, { events: [f.terminal(2)], status: 'completed' })
    expect(await store.commit(f.commit(hostId, [end]))).toEqual(COMMITTED)
    const bad = [
      f.extension(done, 3),
      f.extension(done, 3, { events: [f.terminal(3, 'run.failed')] }),
      f.extension(fine, 2, { events: [f.terminal(2), f.event(3)] }),
      f.creation(f.id('run'), { events: [f.event(0), f.terminal(1), f.terminal(2, 'run.failed')] }),
    ]
    const [good, ...refused] = await Promise.allSettled([
      f.created(store, hostId),
      ...bad.map(stream => store.commit(f.commit(hostId, [stream]))),
    ])
    expect(good.status).toBe('fulfilled')
    for (const result of refused) {
      expect(result.status).toBe('rejected')
      expect((result as PromiseRejectedResult).reason).not.toBeInstanceOf(StoreUnavailable)
    }
    expect(await store.readEvents(done, 0)).toHaveLength(3)
    expect(await store.readEvents(fine, 0)).toHaveLength(2)
    expect(await store.listRuns({ tenant: null, limit: 100 })).toHaveLength(3)
  })

  it('rejects a malformed commit as a bug, not as a refusal', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const runId = await f.created(store, hostId)
    const { create: _, ...uncreated } = f.creation(f.id('run'))
    const malformed = [
      [f.extension(runId, 2, { events: [f.event(3)] })],
      [f.extension(runId, 2, { events: [f.event(2), f.event(4)] })],
      [uncreated],
      [f.creation(f.id('run'), { events: [] })],
      [f.extension(runId, 2), f.extension(runId, 3)],
    ]
    for (const streams of malformed) await expect(store.commit(f.commit(hostId, streams))).rejects.toThrow(/run/)
    expect((await store.readRun(null, runId))?.length).toBe(2)
  })

  it('ends the run: the terminal event sets endedAt and clears the wake time for good', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    for (const type of ['run.completed', 'run.failed', 'run.cancelled']) {
      const runId = await f.created(store, hostId, { wakeAt: 5 })
      const end = f.extension(runId, 2, { events: [f.event(2), f.terminal(3, type)], status: 'completed', wakeAt: 7 })
      await store.commit(f.commit(hostId, [end]))
      await store.commit(f.commit(hostId, [], { wakes: [runId] }))
      expect(await store.readRun(null, runId)).toMatchObject({ endedAt: f.T0 + 3, wakeAt: null, length: 4 })
    }
    const born = await f.created(store, hostId, { events: [f.event(0), f.terminal(1)], status: 'completed', wakeAt: 1 })
    expect(await store.readRun(null, born)).toMatchObject({ endedAt: f.T0 + 1, wakeAt: null, length: 2 })
  })

  it('moves the wake time with an append that has no event', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const runId = await f.created(store, hostId, { wakeAt: 0 })
    const still = f.extension(runId, 2, { events: [], status: 'paused', wakeAt: f.T0 + 60_000, epoch: 1 })
    expect(await store.commit(f.commit(hostId, [still]))).toEqual(COMMITTED)
    expect(await store.readRun(null, runId)).toMatchObject({
      length: 2,
      status: 'paused',
      wakeAt: f.T0 + 60_000,
      updatedAt: f.T0 + 1,
    })
    const stale = { ...still, expected: 1 }
    expect((await store.commit(f.commit(hostId, [stale]))).kind).toBe('conflict')
  })

  it('S5 takes an append that has no event after the terminal one, and the run never wakes', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const runId = await f.created(store, hostId, { events: [f.event(0), f.terminal(1)], status: 'completed' })
    const still = f.extension(runId, 2, { events: [], status: 'completed', wakeAt: f.T0 + 60_000 })
    expect(await store.commit(f.commit(hostId, [still]))).toEqual(COMMITTED)
    expect(await store.readRun(null, runId)).toMatchObject({ endedAt: f.T0 + 1, wakeAt: null, length: 2 })
  })

  it('wakes other runs at once, ignores runs that do not exist, and tolerates many wakes of one run', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const parent = await f.created(store, hostId, { wakeAt: null })
    const children = await Promise.all(Array.from({ length: 30 }, () => f.created(store, hostId)))
    const ends = children.map(child => {
      const end = f.extension(child, 2, { events: [f.terminal(2)], status: 'completed' })
      return store.commit(f.commit(hostId, [end], { wakes: [parent, 'no-such-run', parent] }))
    })
    expect(f.kinds(await Promise.all(ends))).toEqual({ committed: 30 })
    expect(await store.dueRuns(hostId, f.T0, 10)).toEqual([
      { runId: parent, epoch: 1, attempts: 0, wakeAt: 0, length: 2 },
    ])
  })

  it('answers the commits it took before it was closed', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const commits = Promise.all(Array.from({ length: 50 }, () => f.created(store, hostId)))
    await store.close()
    expect(await commits).toHaveLength(50)
  })
}
