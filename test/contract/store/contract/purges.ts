import { expect, it } from 'vitest'
import type { ExpiredRuns } from '../../../../src/engine/ports/retention.js'
import type { Store } from '../../../../src/engine/ports/store.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'

type Member = { readonly at?: number; readonly run?: Partial<Parameters<typeof f.newRun>[0]>; readonly events?: number }

/** A run that has ended, with two events or more. */
async function ended(store: Store, hostId: string, { at = f.T0 + 9, run, events = 2 }: Member = {}): Promise<string> {
  const log = [...f.events(0, events - 1), { ...f.terminal(events - 1), at }]
  return f.created(store, hostId, { events: log, status: 'completed', head: `hash-${events - 1}` }, run)
}

let checkpoints = 0
async function seal(store: Store): Promise<void> {
  const [runs, purged] = [await store.unsealedRuns(1_000), await store.unsealedPurges(1_000)]
  if (runs.length + purged.length === 0) return
  const seq = ((await store.latestCheckpoint())?.seq ?? -1) + 1
  checkpoints += 1
  await store.putCheckpoint(f.checkpoint(seq, { runs, purged, hash: `seal-${checkpoints}` }))
}

/** A root with two children and a grandchild, all ended and sealed. */
async function family(store: Store, hostId: string) {
  const root = await ended(store, hostId, { events: 7 })
  const child = await ended(store, hostId, { run: { parentRunId: root } })
  const other = await ended(store, hostId, { run: { parentRunId: root } })
  const grandchild = await ended(store, hostId, { run: { parentRunId: child } })
  await seal(store)
  return { root, members: [root, child, other, grandchild] }
}

const LEASE = { now: f.T0, leaseMs: 1_000 }
const EXPIRED: ExpiredRuns = { endedBefore: f.T0 + 1_000, limit: 100 }

async function deleteAll(store: Store, hostId: string, limit = 2): Promise<number> {
  const root = await store.claimPurge({ hostId, ...LEASE })
  if (root === undefined) return 0
  let slices = 1
  while ((await store.deletePurged(root, hostId, limit)) === 'more') slices += 1
  return slices
}

export function purgeContract(open: () => Promise<Opened>): void {
  it('S12 hides the whole family at once, and leaves of each run how it ended', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const { root, members } = await family(store, hostId)
    const bystander = await ended(store, hostId)
    const rows = await Promise.all(members.map(runId => store.readRun(null, runId)))
    expect(await store.purgeFamily(root, f.T0 + 50)).toEqual({ kind: 'purged', runs: 4 })
    for (const [i, runId] of members.entries()) {
      expect(await store.readRun(null, runId)).toBeUndefined()
      expect(await store.readRun('acme', runId)).toBeUndefined()
      const { tenant, length, head, endedAt } = rows[i]!
      const left = { runId, rootRunId: root, tenant, length, head, endedAt, purgedAt: f.T0 + 50, checkpoint: null }
      expect(await store.readPurged('acme', runId)).toEqual(left)
      expect(await store.readPurged('rival', runId)).toBeUndefined()
    }
    expect((await store.listRuns({ tenant: null, limit: 10 })).map(({ runId }) => runId)).toEqual([bystander])
    expect(await store.childrenOf(root, 10)).toEqual([])
    expect(await store.readPurged(null, bystander)).toBeUndefined()
    expect(await store.purgeFamily(root, f.T0 + 60)).toEqual({ kind: 'gone' })
  })

  it('S12 S13 counts no run below a root that is gone', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const { root } = await family(store, hostId)
    const most = Number.MAX_SAFE_INTEGER
    const quotas = { activeRuns: most, storedBytes: most, childrenPerRoot: 3 }
    const below = () => {
      const child = f.creation(f.id('run'), {}, { parentRunId: root, parentNodeId: 'n1' })
      return store.commit(f.commit(hostId, [child], { quotas }))
    }
    expect(await below()).toEqual({ kind: 'over-quota', quota: 'childrenPerRoot', limit: 3, left: 0 })
    await store.purgeFamily(root, f.T0)
    await seal(store)
    await deleteAll(store, hostId, 100)
    expect(await below()).toEqual({ kind: 'committed' })
  })

  it('S12 deletes nothing before a checkpoint tells of it, and then everything, a slice at a time', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const { root, members } = await family(store, hostId)
    const effect = f.claim(hostId, { runId: root })
    await store.claimEffect(effect)
    await store.finishEffect(effect.id, hostId, { said: 'much' })
    await store.purgeFamily(root, f.T0 + 50)
    expect(await store.claimPurge({ hostId, ...LEASE })).toBeUndefined()
    expect(await store.deletePurged(root, hostId, 100)).toBe('lost')
    expect(await store.readEvents(root, 0)).toHaveLength(7)
    expect((await store.unsealedPurges(10)).map(({ runId }) => runId).sort()).toEqual([...members].sort())
    expect(await store.unsealedPurges(3)).toHaveLength(3)

    await seal(store)
    expect(await store.unsealedPurges(10)).toEqual([])
    expect((await store.readPurged(null, root))?.checkpoint).toBe((await store.latestCheckpoint())?.seq)
    expect((await store.latestCheckpoint())?.purged).toHaveLength(4)
    expect(await deleteAll(store, hostId)).toBeGreaterThanOrEqual(7)
    for (const runId of members) {
      expect(await store.readEvents(runId, 0)).toEqual([])
      expect((await store.readPurged(null, runId))?.length).toBe(runId === root ? 7 : 2)
    }
    expect(await store.readEffect(effect.id)).toBeUndefined()
    expect(await store.claimPurge({ hostId, ...LEASE })).toBeUndefined()
    // S13: what is gone is no longer counted.
    expect(await store.usageOf('acme')).toEqual({ activeRuns: 0, storedBytes: 0 })
  })

  it('S12 leaves a family alone that has not ended, that nobody vouches for, or that is somebody’s child', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const root = await ended(store, hostId)
    expect(await store.purgeFamily(root, f.T0)).toEqual({ kind: 'unsealed' })
    const child = await f.created(store, hostId, {}, { parentRunId: root })
    await seal(store)
    expect(await store.purgeFamily(root, f.T0)).toEqual({ kind: 'open' })
    expect(await store.purgeFamily(child, f.T0)).toEqual({ kind: 'gone' })
    expect(await store.purgeFamily('run_never', f.T0)).toEqual({ kind: 'gone' })
    expect(await store.readRun(null, root)).toBeDefined()
    expect(await store.unsealedPurges(10)).toEqual([])
  })

  it('S12 keeps what a fork shares until the fork is gone, and forks nothing that is purged', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const { root, members } = await family(store, hostId)
    const fork = f.id('fork')
    await store.commit(f.commit(hostId, [f.fork(fork, members[1]!, 1, [{ ...f.terminal(1), at: f.T0 + 9 }])]))
    await seal(store)
    expect(await store.purgeFamily(root, f.T0)).toEqual({ kind: 'forked' })
    expect(await store.readEvents(fork, 0)).toHaveLength(2)

    expect(await store.purgeFamily(fork, f.T0)).toEqual({ kind: 'purged', runs: 1 })
    expect(await store.purgeFamily(root, f.T0)).toEqual({ kind: 'forked' })
    await seal(store)
    await deleteAll(store, hostId)
    expect(await store.readEvents(members[1]!, 0)).toHaveLength(2)
    expect(await store.purgeFamily(root, f.T0)).toEqual({ kind: 'purged', runs: 4 })
    const late = f.commit(hostId, [f.fork(f.id('fork'), root, 1)])
    await expect(store.commit(late)).rejects.toThrow()
  })

  it('S12 has one who deletes at a time; who was fenced, or whose lease is over, has lost it', async () => {
    const { store, peer } = await open()
    const second = await peer()
    const name = f.id('name')
    const [one, two] = [await f.host(store, name), await f.host(second)]
    const { root } = await family(store, one)
    await store.purgeFamily(root, f.T0)
    await seal(store)
    const claims = await Promise.all([
      store.claimPurge({ hostId: one, ...LEASE }),
      second.claimPurge({ hostId: two, ...LEASE }),
    ])
    expect(claims.filter(claim => claim === root)).toHaveLength(1)
    const [holder, other] = claims[0] === root ? [one, two] : [two, one]
    expect(await store.deletePurged(root, other, 100)).toBe('lost')
    expect(await store.deletePurged(root, holder, 1)).toBe('more')
    expect(await store.claimPurge({ hostId: other, now: f.T0 + 999, leaseMs: 1 })).toBeUndefined()
    expect(await store.claimPurge({ hostId: other, now: f.T0 + 1_000, leaseMs: 1_000 })).toBe(root)
    expect(await store.deletePurged(root, holder, 1)).toBe('lost')
    const fenced = f.host(store, name)
    if (other === one) {
      const heir = await fenced
      expect(await store.claimPurge({ hostId: heir, ...LEASE })).toBe(root)
      expect(await store.claimPurge({ hostId: one, ...LEASE })).toBeUndefined()
    } else await fenced
  })

  it('finds the roots whose time is over by tenant and workflow, the first to end first', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const at = (n: number) => f.T0 + n
    const late = await ended(store, hostId, { at: at(500) })
    const early = await ended(store, hostId, { at: at(100) })
    const rival = await ended(store, hostId, { at: at(200), run: { tenant: 'rival' } })
    const nightly = await ended(store, hostId, { at: at(300), run: { workflowId: 'nightly' } })
    await ended(store, hostId, { at: at(100), run: { parentRunId: late } })
    await f.created(store, hostId)
    const found = async (query: Partial<ExpiredRuns>) =>
      (await store.expiredRoots({ ...EXPIRED, ...query })).map(({ runId }) => runId)
    expect(await found({})).toEqual([early, rival, nightly, late])
    expect(await found({ endedBefore: at(300) })).toEqual([early, rival])
    expect(await found({ tenant: 'rival' })).toEqual([rival])
    expect(await found({ exceptTenants: ['rival'], exceptWorkflows: ['nightly'] })).toEqual([early, late])
    expect(await found({ workflowId: 'nightly' })).toEqual([nightly])
    expect(await found({ after: { runId: rival, endedAt: at(200) }, limit: 1 })).toEqual([nightly])
    await seal(store)
    await store.purgeFamily(early, f.T0)
    expect(await found({})).toEqual([rival, nightly, late])
  })

  it('tells nobody any more of a run that is purged', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const hook = f.webhook()
    await store.putWebhook(hook)
    const runId = f.id('run')
    const events = [f.event(0), { ...f.terminal(1), at: f.T0 + 1 }]
    const stream = f.creation(runId, { events, status: 'completed' })
    await store.commit(f.commit(hostId, [stream], { deliveries: [f.delivery(hook, runId, 1)] }))
    await seal(store)
    expect(await store.nextDeliveryAt()).not.toBeNull()
    await store.purgeFamily(runId, f.T0)
    expect(await store.nextDeliveryAt()).toBeNull()
    expect(await store.listDeliveries('acme', hook.webhookId, 10)).toEqual([])
  })
}
