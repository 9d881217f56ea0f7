import { expect, it } from 'vitest'
import { StoreUnavailable } from '../../../../src/engine/ports/event-log.js'
import type { Store } from '../../../../src/engine/ports/store.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'

const COMMITTED = { kind: 'committed' }

/** Events of a run that can be told from those of another. */
const named = (name: string, from: number, count: number) =>
  f.events(from, count).map(event => ({ ...event, payload: `{"of":"${name}"}`, at: event.at + 100 }))

async function forked(
  store: Store,
  hostId: string,
  ...rest: Parameters<typeof f.fork> extends [string, ...infer R] ? R : never
) {
  const runId = f.id('fork')
  expect(await store.commit(f.commit(hostId, [f.fork(runId, ...rest)]))).toEqual(COMMITTED)
  return runId
}

export function forkContract(open: () => Promise<Opened>): void {
  it('S9 reads the shared events as the fork’s own, before those it adds', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const log = f.events(0, 10)
    const source = await f.created(store, hostId, { events: log })
    const own = named('fork', 6, 3)
    const runId = await forked(store, hostId, source, 6, own, { sourceLength: 9, stream: { wakeAt: 7, head: 'h' } })

    const whole = [...log.slice(0, 6), ...own]
    for (let from = 0; from <= 10; from += 1) {
      expect(await store.readEvents(runId, from)).toEqual(whole.slice(from))
      for (const limit of [1, 2, 5]) {
        expect(await store.readEvents(runId, from, limit)).toEqual(whole.slice(from, from + limit))
      }
    }
    expect(await store.readRun('acme', runId)).toMatchObject({
      fork: { sourceRunId: source, fromSeq: 6, mode: 'branch', sourceLength: 9 },
      length: 9,
      head: 'h',
      owner: hostId,
      epoch: 1,
      wakeAt: 7,
      createdAt: own[0]!.at,
      updatedAt: own[2]!.at,
      endedAt: null,
    })
  })

  it('S9 leaves source and fork to go their own ways', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const source = await f.created(store, hostId, { events: f.events(0, 4) })
    const before = await store.readRun(null, source)
    const runId = await forked(store, hostId, source, 3, named('fork', 3, 1))
    expect(await store.readRun(null, source)).toEqual(before)
    expect(await store.commit(f.commit(hostId, [f.extension(source, 4, { events: named('source', 4, 2) })]))).toEqual(
      COMMITTED,
    )
    expect(await store.readEvents(runId, 0)).toEqual([...f.events(0, 3), ...named('fork', 3, 1)])
    expect(
      await store.commit(f.commit(hostId, [f.extension(runId, 4, { events: named('fork', 4, 1), head: 'on' })])),
    ).toEqual(COMMITTED)
    expect(await store.readEvents(source, 0)).toEqual([...f.events(0, 4), ...named('source', 4, 2)])
    expect(await store.readEvents(runId, 0)).toEqual([...f.events(0, 3), ...named('fork', 3, 2)])
    expect(await store.readRun(null, runId)).toMatchObject({ length: 5, head: 'on' })
  })

  it('S9 a fork at 0 shares nothing, one at the end shares all and may add nothing yet', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const source = await f.created(store, hostId, { events: f.events(0, 4) })
    const anew = await forked(store, hostId, source, 0, named('anew', 0, 2), { sourceLength: 4 })
    expect(await store.readEvents(anew, 0)).toEqual(named('anew', 0, 2))
    const all = await forked(store, hostId, source, 4)
    expect(await store.readEvents(all, 0)).toEqual(f.events(0, 4))
    expect(await store.readEvents(all, 4)).toEqual([])
    expect(await store.readRun(null, all)).toMatchObject({
      length: 4,
      createdAt: f.T0,
      updatedAt: f.T0 + 3,
      endedAt: null,
    })
    expect(await store.commit(f.commit(hostId, [f.extension(all, 4)]))).toEqual(COMMITTED)
    expect(await store.readEvents(all, 2)).toEqual(f.events(2, 3))
  })

  it('S9 resolves forks of forks, cut in each part of their log', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    let log = f.events(0, 6)
    let source = await f.created(store, hostId, { events: log })
    for (const name of ['child', 'grandchild', 'great-grandchild']) {
      const at = log.length - 2
      const own = named(name, at, 4)
      source = await forked(store, hostId, source, at, own)
      log = [...log.slice(0, at), ...own]
    }
    expect(await store.readEvents(source, 0)).toEqual(log)
    for (let at = 1; at <= log.length; at += 1) {
      const runId = await forked(store, hostId, source, at)
      expect(await store.readEvents(runId, 0)).toEqual(log.slice(0, at))
      expect(await store.readRun(null, runId)).toMatchObject({ createdAt: f.T0, updatedAt: log[at - 1]!.at })
      const tip = await forked(store, hostId, runId, at, named('tip', at, 1))
      expect(await store.readEvents(tip, at - 1)).toEqual([log[at - 1], ...named('tip', at, 1)])
      expect(await store.readEvents(tip, 0, 2)).toEqual([...log.slice(0, at), ...named('tip', at, 1)].slice(0, 2))
    }
  })

  it('S5 a fork that shares the terminal event has ended and takes nothing more', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const log = [...f.events(0, 3), f.terminal(3)]
    const source = await f.created(store, hostId, { events: log, status: 'completed' })
    const done = await forked(store, hostId, source, 4, [], { stream: { status: 'completed', wakeAt: 9 } })
    const again = await forked(store, hostId, done, 4, [], { stream: { status: 'completed' } })
    for (const runId of [done, again]) {
      expect(await store.readRun(null, runId)).toMatchObject({ endedAt: f.T0 + 3, wakeAt: null, length: 4 })
      expect(await store.readEvents(runId, 0)).toEqual(log)
      await expect(store.commit(f.commit(hostId, [f.extension(runId, 4)]))).rejects.toThrow(/terminal/)
    }
    const late = f.fork(f.id('fork'), source, 4, f.events(4, 1))
    await expect(store.commit(f.commit(hostId, [late]))).rejects.toThrow(/terminal/)
    expect(await store.readRun(null, late.runId)).toBeUndefined()
    const open3 = await forked(store, hostId, source, 3)
    expect((await store.readRun(null, open3))?.endedAt).toBeNull()
    expect(await store.commit(f.commit(hostId, [f.extension(open3, 3, { events: [f.terminal(3)] })]))).toEqual(
      COMMITTED,
    )
    expect((await store.readRun(null, open3))?.endedAt).toBe(f.T0 + 3)
  })

  it('S2 refuses to create a fork under the id of a run, whatever its length', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const [source, taken] = [await f.created(store, hostId), await f.created(store, hostId)]
    for (const at of [0, 1, 2]) {
      const stream = f.fork(taken, source, at, f.events(at, 1))
      expect(await store.commit(f.commit(hostId, [stream]))).toEqual({ kind: 'conflict', runId: taken })
    }
    const runId = f.id('fork')
    const rivals = Array.from({ length: 20 }, () => store.commit(f.commit(hostId, [f.fork(runId, source, 2)])))
    expect(f.kinds(await Promise.all(rivals))).toEqual({ committed: 1, conflict: 19 })
  })

  it('S4 knows a repeated creation of a fork, with own events or without, also after it went on', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const source = await f.created(store, hostId)
    for (const own of [[], f.events(2, 1)]) {
      const creation = f.commit(hostId, [f.fork(f.id('fork'), source, 2, own)])
      const { runId } = creation.streams[0]!
      expect(await store.commit(creation)).toEqual(COMMITTED)
      expect(await store.commit(creation)).toEqual(COMMITTED)
      expect(await store.commit(f.commit(hostId, [f.extension(runId, 2 + own.length)]))).toEqual(COMMITTED)
      expect(await store.commit(creation)).toEqual(COMMITTED)
      expect(await store.readEvents(runId, 0)).toHaveLength(3 + own.length)
      const other = { ...creation, appendId: f.id('append') }
      expect(await store.commit(other)).toEqual({ kind: 'conflict', runId })
    }
  })

  it('rejects a fork of a run that is not there, is another tenant’s or is too short, and writes nothing', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const source = await f.created(store, hostId)
    const runId = f.id('fork')
    const bad = [
      f.fork(runId, 'no-such-run', 2),
      f.fork(runId, source, 2, [], { run: { tenant: 'other' } }),
      f.fork(runId, source, 3),
      f.fork(runId, source, 1, [], { sourceLength: 3 }),
      f.fork(runId, source, 2, [], { sourceLength: 1 }),
      f.fork(runId, source, 2, [], { stream: { expected: 1 } }),
      f.fork(runId, source, 0),
    ]
    for (const stream of bad) {
      const error = await store.commit(f.commit(hostId, [stream])).catch(reason => reason)
      expect(error).toBeInstanceOf(Error)
      expect(error).not.toBeInstanceOf(StoreUnavailable)
    }
    expect(await store.readRun(null, runId)).toBeUndefined()
    expect(await store.readEvents(runId, 0)).toEqual([])
  })

  it('keeps states of a log, its own before those it shares', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const source = await f.created(store, hostId, { events: f.events(0, 2) })
    expect(await store.readSnapshot(source, 100)).toBeUndefined()
    await store.commit(f.commit(hostId, [f.extension(source, 2, { snapshot: 'three' })]))
    await store.commit(f.commit(hostId, [f.extension(source, 3, { snapshot: 'four' })]))
    expect(await store.readSnapshot(source, 2)).toBeUndefined()
    expect(await store.readSnapshot(source, 3)).toEqual({ length: 3, state: 'three' })
    expect(await store.readSnapshot(source, 100)).toEqual({ length: 4, state: 'four' })

    const runId = await forked(store, hostId, source, 3, named('fork', 3, 1))
    expect(await store.readSnapshot(runId, 100)).toEqual({ length: 3, state: 'three' })
    await store.commit(f.commit(hostId, [f.extension(runId, 4, { snapshot: 'own' })]))
    expect(await store.readSnapshot(runId, 100)).toEqual({ length: 5, state: 'own' })
    expect(await store.readSnapshot(runId, 4)).toEqual({ length: 3, state: 'three' })
    const second = await forked(store, hostId, runId, 5, named('second', 5, 1))
    expect(await store.readSnapshot(second, 100)).toEqual({ length: 5, state: 'own' })
    expect(await store.readSnapshot(second, 4)).toEqual({ length: 3, state: 'three' })
  })
}
