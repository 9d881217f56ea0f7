import { expect, it } from 'vitest'
import { WAKE_NOW } from '../../../../src/core/run/wake-time.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'

export function hostContract(open: () => Promise<Opened>): void {
  it('fences earlier incarnations of the same name only, at once', async () => {
    const { store } = await open()
    const name = f.id('name')
    const [old, bystander] = [await f.host(store, name), await f.host(store)]
    const fresh = await f.fence(store, name)
    expect(await store.heartbeat(old, f.HOUR, Date.now())).toBe(false)
    expect(await store.heartbeat(bystander, f.HOUR, Date.now())).toBe(true)
    expect(await store.heartbeat(fresh, f.HOUR, Date.now())).toBe(true)
    expect(await store.heartbeat('nobody', f.HOUR, Date.now())).toBe(false)
  })

  it('never revives a fenced host, but registering a living one again is harmless', async () => {
    const { store } = await open()
    const hostName = f.id('name')
    const old = await f.host(store, hostName)
    await f.created(store, old)
    const fresh = await f.fence(store, hostName)
    const again = (hostId: string) => store.registerHost({ hostId, hostName, leaseMs: f.HOUR, now: Date.now() })
    await expect(again(old)).rejects.toThrow(/fenced/)
    await again(fresh)
    expect(await store.heartbeat(fresh, f.HOUR, Date.now())).toBe(true)
  })

  it('S8 claims runs of a host whose lease is over, and that host is fenced from then on', async () => {
    const { store } = await open()
    const late = await f.host(store, f.id('name'), 1)
    const runId = await f.created(store, late)
    const peer = await f.host(store)
    const claimed = await f.eventually('the lease is over', async () => {
      return (await store.claimOrphans(peer, Date.now(), 10)) || undefined
    })
    expect(claimed).toBe(1)
    expect(await store.readRun(null, runId)).toMatchObject({ owner: peer, epoch: 2 })
    expect(await store.heartbeat(late, f.HOUR, Date.now())).toBe(false)
    expect(await store.commit(f.commit(late, [f.extension(runId, 2)]))).toEqual({ kind: 'fenced' })
  })

  it('S8 counts a lease as over in the very millisecond in which it ends, and not before', async () => {
    const { store } = await open()
    const [holder, peer] = [await f.host(store), await f.host(store)]
    const runId = await f.created(store, holder)
    const now = Date.now()
    await store.heartbeat(holder, f.HOUR, now)
    expect(await store.claimOrphans(peer, now + f.HOUR - 1, 10)).toBe(0)
    await store.heartbeat(holder, 0, now)
    expect(await store.claimOrphans(peer, now, 10)).toBe(1)
    expect(await store.readRun(null, runId)).toMatchObject({ owner: peer, epoch: 2 })
  })

  it('S8 lets a host whose lease is over write and renew until somebody fences it', async () => {
    const { store } = await open()
    const late = await f.host(store, f.id('name'), 1)
    const end = Date.now() + 20
    await f.eventually('the lease is over', async () => Date.now() > end)
    await f.created(store, late)
    expect(await store.heartbeat(late, f.HOUR, Date.now())).toBe(true)
    const peer = await f.host(store)
    expect(await store.claimOrphans(peer, Date.now(), 10)).toBe(0)
  })

  it('S8 leaves the runs of living hosts alone, however long the claimer asks', async () => {
    const { store } = await open()
    const [owner, peer] = [await f.host(store), await f.host(store)]
    const runId = await f.created(store, owner, { wakeAt: 0 })
    for (let i = 0; i < 5; i += 1) expect(await store.claimOrphans(peer, Date.now(), 10)).toBe(0)
    expect(await store.readRun(null, runId)).toMatchObject({ owner, epoch: 1, attempts: 0 })
  })

  it('gives up all claims on release, so that nobody waits for the lease', async () => {
    const { store } = await open()
    const [leaver, peer] = [await f.host(store), await f.host(store)]
    const runId = await f.created(store, leaver)
    await store.releaseHost(leaver)
    expect(await store.heartbeat(leaver, f.HOUR, Date.now())).toBe(false)
    expect(await store.commit(f.commit(leaver, [f.extension(runId, 2)]))).toEqual({ kind: 'fenced' })
    expect(await store.claimOrphans(peer, f.T0, 10)).toBe(1)
    await store.releaseHost('nobody')
  })

  it('counts an attempt for runs that a fenced host left with work in hand, before that work; an append forgets them', async () => {
    const { store } = await open()
    const name = f.id('name')
    let hostId = await f.host(store, name)
    const due = await f.created(store, hostId, { wakeAt: WAKE_NOW })
    const later = await f.created(store, hostId, { wakeAt: f.T0 })
    const idle = await f.created(store, hostId, { wakeAt: null })
    const ended = await f.created(store, hostId, { events: [f.event(0), f.terminal(1)], status: 'failed' })
    for (let epoch = 2; epoch <= 4; epoch += 1) {
      hostId = await f.fence(store, name)
      expect(await store.claimOrphans(hostId, f.T0, 100)).toBe(3)
      expect(await store.readRun(null, due)).toMatchObject({ owner: hostId, epoch, attempts: epoch - 1 })
      expect(await store.readRun(null, later)).toMatchObject({ owner: hostId, epoch, attempts: 0 })
      expect(await store.readRun(null, idle)).toMatchObject({ owner: hostId, epoch, attempts: 0 })
    }
    expect(await store.dueRuns(hostId, 1, 10)).toEqual([
      { runId: due, epoch: 4, attempts: 3, wakeAt: WAKE_NOW, length: 2 },
    ])
    await store.releaseHost(hostId)
    hostId = await f.host(store)
    expect(await store.claimOrphans(hostId, f.T0, 100)).toBe(3)
    expect(await store.readRun(null, due)).toMatchObject({ epoch: 5, attempts: 3 })
    expect(await store.readRun(null, ended)).toMatchObject({ epoch: 1 })
    await store.commit(f.commit(hostId, [f.extension(due, 2, { epoch: 5, wakeAt: 0 })]))
    expect(await store.dueRuns(hostId, 0, 10)).toEqual([{ runId: due, epoch: 5, attempts: 0, wakeAt: 0, length: 3 }])
  })

  it('claims at most `limit`, due runs first; a fenced host claims nothing', async () => {
    const { store } = await open()
    const name = f.id('name')
    const old = await f.host(store, name)
    const idle = await f.created(store, old, { wakeAt: null })
    const second = await f.created(store, old, { wakeAt: 20 })
    const first = await f.created(store, old, { wakeAt: 10 })
    const fresh = await f.fence(store, name)
    expect(await store.claimOrphans(old, f.T0, 10)).toBe(0)
    expect(await store.claimOrphans(fresh, f.T0, 1)).toBe(1)
    expect((await store.readRun(null, first))?.owner).toBe(fresh)
    expect(await store.claimOrphans(fresh, f.T0, 1)).toBe(1)
    expect((await store.readRun(null, second))?.owner).toBe(fresh)
    expect((await store.readRun(null, idle))?.owner).toBe(old)
    expect(await store.claimOrphans(fresh, f.T0, 10)).toBe(1)
    expect(await store.claimOrphans(fresh, f.T0, 10)).toBe(0)
  })

  it('S8 gives each orphan to exactly one of several claimers', async () => {
    const { store, peer } = await open()
    const name = f.id('name')
    const old = await f.host(store, name)
    const runIds = await Promise.all(Array.from({ length: 40 }, () => f.created(store, old)))
    await store.releaseHost(old)
    const stores = [store, await peer(), store]
    const hosts = await Promise.all(stores.map(one => f.host(one)))
    const claims = await Promise.all(
      Array.from({ length: 12 }, (_, i) => stores[i % 3]!.claimOrphans(hosts[i % 3]!, f.T0, 7)),
    )
    let total = claims.reduce((sum, n) => sum + n, 0)
    while (total < 40) total += await store.claimOrphans(hosts[0]!, f.T0, 7)
    expect(total).toBe(40)
    for (const runId of runIds) {
      const run = (await store.readRun(null, runId))!
      expect(hosts).toContain(run.owner)
      expect(run.epoch).toBe(2)
    }
  })

  it('lists due runs of one host, earliest first; one that was woken is due at once', async () => {
    const { store } = await open()
    const [hostId, other] = [await f.host(store), await f.host(store)]
    const at = async (wakeAt: number | null, owner = hostId) => f.created(store, owner, { wakeAt })
    const [c, a, b] = [await at(300), await at(100), await at(200)]
    await at(null)
    await at(400)
    await at(50, other)
    const due = await store.dueRuns(hostId, 300, 10)
    expect(due.map(run => run.runId)).toEqual([a, b, c])
    expect((await store.dueRuns(hostId, 300, 2)).map(run => run.runId)).toEqual([a, b])
    expect(await store.dueRuns(hostId, 99, 10)).toEqual([])
    await store.commit(f.commit(hostId, [], { wakes: [c] }))
    expect(await store.dueRuns(hostId, 0, 10)).toMatchObject([{ runId: c, wakeAt: 0 }])
  })

  it('hints to other hosts that a run has new events or was woken', async () => {
    const { store, peer } = await open()
    const second = await peer()
    const hostId = await f.host(store)
    await f.host(second)
    const woken = await f.created(store, hostId)
    const heard = new Set<string>()
    const stop = second.onHint(runId => heard.add(runId))
    const sent = new Set<string>()
    // Hints may be lost while a listener is being set up, so the sender repeats itself.
    await f.eventually('hints arrive', async () => {
      const runId = await f.created(store, hostId)
      sent.add(runId)
      await store.commit(f.commit(hostId, [f.extension(runId, 2)], { wakes: [woken] }))
      return heard.has(woken) && heard.size > 1
    })
    for (const runId of heard) expect(runId === woken || sent.has(runId)).toBe(true)
    stop()
  })

  it('R-CAP-6: the lasting id is the first that is wanted, for all who ask, however many at once', async () => {
    const { store, peer } = await open()
    const stores = [store, await peer(), await peer()]
    const made = await Promise.all(
      Array.from({ length: 12 }, (_, i) => stores[i % 3]!.lastingId({ id: `made-${i}`, given: false })),
    )
    expect(new Set(made).size).toBe(1)
    expect(made[0]).toMatch(/^made-\d+$/)
    for (const one of stores) expect(await one.lastingId({ id: 'later', given: false })).toBe(made[0])
  })

  it('R-CAP-6: a lasting id that is given takes the place of one that was made, and of no other', async () => {
    const { store, peer } = await open()
    const other = await peer()
    await store.lastingId({ id: 'made', given: false })
    const given = await Promise.all([
      store.lastingId({ id: 'a.example', given: true }),
      other.lastingId({ id: 'b.example', given: true }),
    ])
    expect(new Set(given).size).toBe(1)
    expect(['a.example', 'b.example']).toContain(given[0])
    expect(await other.lastingId({ id: 'made-again', given: false })).toBe(given[0])
    expect(await store.lastingId({ id: 'c.example', given: true })).toBe(given[0])
    expect(await store.lastingId({ id: given[0]!, given: true })).toBe(given[0])
  })
}
