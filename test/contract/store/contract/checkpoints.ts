import { expect, it } from 'vitest'
import type { Store } from '../../../../src/engine/ports/store.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'

const ended = (store: Store, hostId: string, at: number, head = `head-${at}`): Promise<string> => {
  const events = [f.event(0), { ...f.terminal(1), at }]
  return f.created(store, hostId, { events, status: 'completed', head })
}

export function checkpointContract(open: () => Promise<Opened>): void {
  it('knows the ended runs that no checkpoint covers, the first to end first', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const [late, early] = [await ended(store, hostId, f.T0 + 9), await ended(store, hostId, f.T0 + 5)]
    await f.created(store, hostId)
    await ended(store, hostId, f.T0 + 6, '')
    const first = { runId: early, length: 2, head: `head-${f.T0 + 5}` }
    const second = { runId: late, length: 2, head: `head-${f.T0 + 9}` }
    expect(await store.unsealedRuns(10)).toEqual([first, second])
    expect(await store.unsealedRuns(1)).toEqual([first])

    expect(await store.putCheckpoint(f.checkpoint(0, { runs: [first] }))).toBe(true)
    expect(await store.unsealedRuns(10)).toEqual([second])
    expect((await store.readRun(null, early))?.checkpoint).toBe(0)
    expect((await store.readRun(null, late))?.checkpoint).toBeNull()
  })

  it('covers a fork that has ended by what it shares', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const source = await ended(store, hostId, f.T0 + 1)
    const runId = f.id('fork')
    await store.commit(f.commit(hostId, [f.fork(runId, source, 2)]))
    const unsealed = await store.unsealedRuns(10)
    expect(unsealed).toContainEqual({ runId, length: 2, head: 'hash-1' })
    expect(await store.putCheckpoint(f.checkpoint(0, { runs: unsealed }))).toBe(true)
    expect(await store.unsealedRuns(10)).toEqual([])
  })

  it('lists checkpoints by number and knows the latest', async () => {
    const { store } = await open()
    expect(await store.latestCheckpoint()).toBeUndefined()
    expect(await store.listCheckpoints(0, 10)).toEqual([])
    const all = [0, 1, 2, 3].map(seq =>
      f.checkpoint(seq, { runs: [{ runId: `r"${seq}`, length: seq + 1, head: 'h' }] }),
    )
    for (const checkpoint of all) expect(await store.putCheckpoint(checkpoint)).toBe(true)
    expect(await store.listCheckpoints(0, 10)).toEqual(all)
    expect(await store.listCheckpoints(1, 2)).toEqual(all.slice(1, 3))
    expect(await store.latestCheckpoint()).toEqual(all[3])
  })

  it('stores one of several checkpoints with the same number, and nothing of the others; a repetition is welcome', async () => {
    const { store, peer } = await open()
    const second = await peer()
    const hostId = await f.host(store)
    const runIds = await Promise.all(Array.from({ length: 10 }, (_, i) => ended(store, hostId, f.T0 + i)))
    const rivals = runIds.map((runId, i) =>
      f.checkpoint(0, { hash: `hash-${i}`, signature: `signature-${i}`, runs: [{ runId, length: 2, head: 'h' }] }),
    )
    const stored = await Promise.all(rivals.map((one, i) => (i % 2 ? second : store).putCheckpoint(one)))
    expect(stored.filter(one => one)).toHaveLength(1)
    const winner = stored.indexOf(true)
    expect(await store.listCheckpoints(0, 10)).toEqual([rivals[winner]])
    for (const [i, runId] of runIds.entries()) {
      expect((await store.readRun(null, runId))?.checkpoint).toBe(i === winner ? 0 : null)
    }
    expect(await store.putCheckpoint(rivals[winner]!)).toBe(true)
    expect(await store.putCheckpoint({ ...rivals[winner]!, signature: 'forged' })).toBe(false)
    expect(await store.listCheckpoints(0, 10)).toEqual([rivals[winner]])
  })

  it('leaves a run with the checkpoint that covered it first', async () => {
    const { store } = await open()
    const runId = await ended(store, await f.host(store), f.T0 + 1)
    const runs = await store.unsealedRuns(10)
    for (const seq of [0, 1]) expect(await store.putCheckpoint(f.checkpoint(seq, { runs }))).toBe(true)
    expect((await store.readRun(null, runId))?.checkpoint).toBe(0)
  })
}
