import { expect, it } from 'vitest'
import { RUN_BEGAN, STREAM_WORKFLOWS, type StreamRunBegan } from '../../../../src/core/standing/stream.js'
import type { StreamAppend } from '../../../../src/engine/ports/event-log.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'

const CREATED = (bounds: object) =>
  f.event(0, { type: 'assay.goal.created', payload: JSON.stringify({ bounds }), input: null })

const stream = (streamId: string, tenant: string, bounds: object = {}, workflowId = 'assay-goal'): StreamAppend =>
  f.creation(streamId, { events: [CREATED(bounds)], head: 'hash-0' }, { tenant, workflowId })

const began = (sequence: number, told: StreamRunBegan) =>
  f.event(sequence, { type: RUN_BEGAN, payload: JSON.stringify(told) })

const ENDED = (sequence: number) => f.event(sequence, { type: 'assay.stream.ended', payload: '{}' })

export function streamContract(open: () => Promise<Opened>): void {
  const scene = async (bounds: object = {}) => {
    const { store } = await open()
    const hostId = await f.host(store)
    const [tenant, streamId] = [f.id('tenant'), f.id('goal')]
    await store.commit(f.commit(hostId, [stream(streamId, tenant, bounds)]))
    const run = (runId: string, whose = tenant) => f.creation(runId, {}, { tenant: whose })
    const tells = (sequence: number, ...told: StreamRunBegan[]) =>
      f.extension(streamId, sequence, { events: told.map((one, i) => began(sequence + i, one)) })
    const write = (...streams: StreamAppend[]) => store.commit(f.commit(hostId, streams))
    return { store, hostId, tenant, streamId, run, tells, write }
  }

  it('S16 S13 a stream is no unfinished run of its tenant; the runs that it starts are', async () => {
    const { store, tenant, run, tells, write } = await scene()
    expect(await store.usageOf(tenant)).toMatchObject({ activeRuns: 0 })
    await write(run('a'.concat(f.id('run'))))
    const runId = f.id('run')
    await write(run(runId), tells(1, { role: 'work', ordinal: 1, runId }))
    expect(await store.usageOf(tenant)).toMatchObject({ activeRuns: 2 })
  })

  it.each(STREAM_WORKFLOWS)(
    'S16 S13 %s is a kind of stream: it counts as no run of its tenant, and starts runs',
    async workflowId => {
      const { store } = await open()
      const hostId = await f.host(store)
      const [tenant, streamId, runId] = [f.id('tenant'), f.id('stream'), f.id('run')]
      await store.commit(f.commit(hostId, [stream(streamId, tenant, {}, workflowId)]))
      expect(await store.usageOf(tenant)).toMatchObject({ activeRuns: 0 })
      const told = f.extension(streamId, 1, { events: [began(1, { role: 'work', ordinal: 1, runId })] })
      expect(await store.commit(f.commit(hostId, [f.creation(runId, {}, { tenant }), told]))).toEqual({
        kind: 'committed',
      })
      expect(await store.usageOf(tenant)).toMatchObject({ activeRuns: 1 })
    },
  )

  it('S16 S5 nothing follows the last event of a stream, which ends it', async () => {
    const { store, tenant, streamId, write } = await scene()
    await write(f.extension(streamId, 1, { events: [ENDED(1)], status: 'completed' }))
    expect(await store.readRun(tenant, streamId)).toMatchObject({ endedAt: f.T0 + 1, wakeAt: null })
    expect(await store.usageOf(tenant)).toMatchObject({ activeRuns: 0 })
    await expect(write(f.extension(streamId, 2))).rejects.toThrow()
  })

  it('S16 a run has one beginning, of its tenant, and ordinals of a role are dense', async () => {
    const { store, streamId, tenant, run, tells, write } = await scene()
    const [first, second, foreign] = [f.id('run'), f.id('run'), f.id('run')]
    const work = (ordinal: number, runId: string): StreamRunBegan => ({ role: 'work', ordinal, runId })
    await expect(write(tells(1, work(1, f.id('nobody'))))).rejects.toThrow(/stream_runs_begin/)
    await expect(write(run(foreign, f.id('other')), tells(1, work(1, foreign)))).rejects.toThrow(/stream_runs_begin/)
    await expect(write(run(first), tells(1, work(2, first)))).rejects.toThrow(/stream_runs_dense/)
    expect(await write(run(first), tells(1, work(1, first)))).toEqual({ kind: 'committed' })
    await expect(write(run(second), tells(2, work(1, second)))).rejects.toThrow(/stream_runs/)
    await expect(write(tells(2, work(2, first)))).rejects.toThrow(/stream_runs/)
    expect(await write(run(second), tells(2, work(2, second)))).toEqual({ kind: 'committed' })
    // What was refused has left nothing: neither the run, nor a word in the stream.
    expect(await store.readRun(tenant, streamId)).toMatchObject({ length: 3 })
    expect(await store.readRun(null, foreign)).toBeUndefined()
  })

  it('S16 a plain run starts none', async () => {
    const { run, write } = await scene()
    const [plain, child] = [f.id('run'), f.id('run')]
    await write(run(plain))
    const told = began(2, { role: 'work', ordinal: 1, runId: child })
    await expect(write(run(child), f.extension(plain, 2, { events: [told] }))).rejects.toThrow(/stream_runs_begin/)
  })

  it('S16 R-GOAL-6: no ordinal goes beyond the bound of the first event; judges have ordinals of their own', async () => {
    const { run, tells, write } = await scene({ maxLoopIterations: 2 })
    const runs = Array.from({ length: 6 }, () => f.id('run'))
    for (const i of [1, 2]) await write(run(runs[i]!), tells(i, { role: 'work', ordinal: i, runId: runs[i]! }))
    const third: StreamRunBegan = { role: 'work', ordinal: 3, runId: runs[3]! }
    await expect(write(run(runs[3]!), tells(3, third))).rejects.toThrow(/stream_runs_bound/)
    for (const i of [3, 4, 5]) await write(run(runs[i]!), tells(i, { role: 'judge', ordinal: i - 2, runId: runs[i]! }))
  })

  it('S16 R-ARM-1: no tick has two runs, whoever starts them', async () => {
    const { run, tells, write } = await scene()
    const [first, second] = [f.id('run'), f.id('run')]
    await write(run(first), tells(1, { role: 'work', ordinal: 1, runId: first, tick: '1700000000000' }))
    const again: StreamRunBegan = { role: 'work', ordinal: 2, runId: second, tick: '1700000000000' }
    await expect(write(run(second), tells(2, again))).rejects.toThrow(/stream_runs/)
    expect(await write(run(second), tells(2, { ...again, tick: '1700000060000' }))).toEqual({ kind: 'committed' })
  })
}
