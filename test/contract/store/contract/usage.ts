import { expect, it } from 'vitest'
import type { StoredQuotas } from '../../../../src/core/quotas.js'
import type { CommitResult, NewRun, StreamAppend } from '../../../../src/engine/ports/event-log.js'
import type { Store } from '../../../../src/engine/ports/store.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'

const MANY = Number.MAX_SAFE_INTEGER
const quotas = (given: Partial<StoredQuotas>): StoredQuotas => ({
  activeRuns: MANY,
  childrenPerRoot: MANY,
  storedBytes: MANY,
  ...given,
})

const create = (
  store: Store,
  hostId: string,
  given: Partial<StoredQuotas>,
  run: Partial<NewRun> = {},
  stream: Partial<StreamAppend> = {},
  runId = f.id('run'),
): Promise<CommitResult> => store.commit(f.commit(hostId, [f.creation(runId, stream, run)], { quotas: quotas(given) }))

const over = (quota: keyof StoredQuotas, limit: number, left = 0) => ({ kind: 'over-quota', quota, limit, left })
const COMMITTED = { kind: 'committed' }
const ENDED = { events: [f.event(0), f.terminal(1)], status: 'completed' } as const

/** Bytes of what `f.creation` and `f.extension` write. */
const bytesOf = ({ events, snapshot = '' }: Pick<StreamAppend, 'events' | 'snapshot'>): number =>
  Buffer.byteLength(snapshot) +
  events.reduce(
    (sum, { payload, secret, input }) => sum + Buffer.byteLength(`${payload}${secret ?? ''}${input ?? ''}`),
    0,
  )

export function usageContract(open: () => Promise<Opened>): void {
  it('S13 Q3 takes as many unfinished runs of a tenant as its quota says and not one more, until one ends', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const [tenant, other] = [f.id('tenant'), f.id('tenant')]
    const runIds = [f.id('run'), f.id('run')]
    for (const runId of runIds)
      expect(await create(store, hostId, { activeRuns: 2 }, { tenant }, {}, runId)).toEqual(COMMITTED)
    expect(await create(store, hostId, { activeRuns: 2 }, { tenant })).toEqual(over('activeRuns', 2))
    expect(await store.usageOf(tenant)).toMatchObject({ activeRuns: 2 })
    // One that is over at once takes no place, other tenants have places of their own, and a fork is a run.
    expect(await create(store, hostId, { activeRuns: 2 }, { tenant }, ENDED)).toEqual(COMMITTED)
    expect(await create(store, hostId, { activeRuns: 2 }, { tenant: other })).toEqual(COMMITTED)
    const fork = f.fork(f.id('run'), runIds[0]!, 1, [f.event(1)], { run: { tenant } })
    const forking = f.commit(hostId, [fork], { quotas: quotas({ activeRuns: 2 }) })
    expect(await store.commit(forking)).toEqual(over('activeRuns', 2))
    // What runs goes on.
    const goesOn = f.commit(hostId, [f.extension(runIds[0]!, 2)], { quotas: quotas({ activeRuns: 1, storedBytes: 1 }) })
    expect(await store.commit(goesOn)).toEqual(COMMITTED)
    const ends = f.extension(runIds[0]!, 3, { events: [f.terminal(3)], status: 'completed' })
    expect(await store.commit(f.commit(hostId, [ends]))).toEqual(COMMITTED)
    expect(await store.usageOf(tenant)).toMatchObject({ activeRuns: 1 })
    expect(await store.commit(forking)).toEqual(COMMITTED)
    expect(await create(store, hostId, { activeRuns: 2 }, { tenant })).toEqual(over('activeRuns', 2))
  })

  it('S13 Q3 takes exactly as many when many ask at once', async () => {
    const { store, peer } = await open()
    const stores = [store, await peer()]
    const hosts = [await f.host(store), await f.host(stores[1]!)]
    const tenant = f.id('tenant')
    const results = await Promise.all(
      Array.from({ length: 60 }, (_, i) => create(stores[i % 2]!, hosts[i % 2]!, { activeRuns: 7 }, { tenant })),
    )
    expect(f.kinds(results)).toEqual({ committed: 7, 'over-quota': 53 })
    expect(await store.usageOf(tenant)).toMatchObject({ activeRuns: 7 })
  })

  it('S13 says the same again of an append that was made already', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const tenant = f.id('tenant')
    const commit = f.commit(hostId, [f.creation(f.id('run'), {}, { tenant })], { quotas: quotas({ activeRuns: 1 }) })
    expect(await store.commit(commit)).toEqual(COMMITTED)
    expect(await store.commit(commit)).toEqual(COMMITTED)
    expect(await store.usageOf(tenant)).toEqual({ activeRuns: 1, storedBytes: bytesOf(f.creation('run')) })
  })

  it('S13 Q4 counts the runs below a root however deep they are, and starts not one too many', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const [root, child, grandchild] = [f.id('run'), f.id('run'), f.id('run')]
    const under = (parentRunId: string) => ({ parentRunId, parentNodeId: 'n1' })
    const family = [f.creation(root), f.creation(child, {}, under(root))]
    expect(await store.commit(f.commit(hostId, family, { quotas: quotas({ childrenPerRoot: 3 }) }))).toEqual(COMMITTED)
    expect(await create(store, hostId, { childrenPerRoot: 3 }, under(child), ENDED, grandchild)).toEqual(COMMITTED)
    // Of two at once neither, and it is said how many could be.
    const twins = [1, 2].map(() => f.creation(f.id('run'), {}, under(grandchild)))
    const both = f.commit(hostId, twins, { quotas: quotas({ childrenPerRoot: 3 }) })
    expect(await store.commit(both)).toEqual(over('childrenPerRoot', 3, 1))
    expect(await create(store, hostId, { childrenPerRoot: 3 }, under(grandchild))).toEqual(COMMITTED)
    expect(await create(store, hostId, { childrenPerRoot: 3 }, under(root))).toEqual(over('childrenPerRoot', 3))
    // Children are not held to what is for new runs, and another family is another.
    expect(await create(store, hostId, { activeRuns: 1, storedBytes: 1 }, under(root))).toEqual(COMMITTED)
    expect(await create(store, hostId, { childrenPerRoot: 3 }, under(f.id('run')))).toEqual(COMMITTED)
  })

  it('S13 Q4 starts exactly as many when all of a family ask at once', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const root = await f.created(store, hostId)
    const parents = await Promise.all(
      Array.from({ length: 4 }, () => f.created(store, hostId, {}, { parentRunId: root, parentNodeId: 'n1' })),
    )
    const results = await Promise.all(
      Array.from({ length: 40 }, (_, i) =>
        create(store, hostId, { childrenPerRoot: 9 }, { parentRunId: parents[i % 4]!, parentNodeId: 'n1' }),
      ),
    )
    expect(f.kinds(results)).toEqual({ committed: 5, 'over-quota': 35 })
  })

  it('S13 Q6 counts the bytes of logs, kept states and outcomes, and refuses new runs to who has as many', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const tenant = f.id('tenant')
    const first = f.creation(f.id('run'), { events: [f.event(0, { payload: '{"ü":"€"}', secret: '"s"' })] }, { tenant })
    expect(await store.commit(f.commit(hostId, [first]))).toEqual(COMMITTED)
    const more = f.extension(first.runId, 1, { snapshot: '{"kept":"ü"}' })
    expect(await store.commit(f.commit(hostId, [more]))).toEqual(COMMITTED)
    const bytes = bytesOf(first) + bytesOf(more)
    expect(await store.usageOf(tenant)).toEqual({ activeRuns: 1, storedBytes: bytes })
    expect(await create(store, hostId, { storedBytes: bytes }, { tenant }, ENDED)).toEqual(over('storedBytes', bytes))
    const fork = f.fork(f.id('run'), first.runId, 2, [], { run: { tenant } })
    const forking = f.commit(hostId, [fork], { quotas: quotas({ storedBytes: bytes }) })
    expect(await store.commit(forking)).toEqual(over('storedBytes', bytes))
    expect(await create(store, hostId, { storedBytes: bytes + 1 }, { tenant }, ENDED)).toEqual(COMMITTED)
    // A fork shares what it does not own, and what runs is written whatever the quota says.
    const before = (await store.usageOf(tenant)).storedBytes
    expect(await store.commit(f.commit(hostId, [fork]))).toEqual(COMMITTED)
    expect((await store.usageOf(tenant)).storedBytes).toBe(before)
    const long = f.extension(first.runId, 2, { events: [f.event(2, { payload: JSON.stringify('x'.repeat(9_000)) })] })
    expect(await store.commit(f.commit(hostId, [long], { quotas: quotas({ storedBytes: 1 }) }))).toEqual(COMMITTED)
    expect((await store.usageOf(tenant)).storedBytes).toBe(before + 9_002)

    const claim = f.claim(hostId, { tenant, at: 1 })
    await store.claimEffect(claim)
    await store.finishEffect(claim.id, hostId, { said: 'ü' })
    expect((await store.usageOf(tenant)).storedBytes).toBe(before + 9_002 + Buffer.byteLength('{"said":"ü"}'))
    await store.purgeEffects(2)
    expect((await store.usageOf(tenant)).storedBytes).toBe(before + 9_002)
  })

  it('S13 counts nothing of a commit that is refused, and knows nobody who has nothing', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const tenant = f.id('tenant')
    expect(await store.usageOf(tenant)).toEqual({ activeRuns: 0, storedBytes: 0 })
    expect(await create(store, hostId, { activeRuns: 0 }, { tenant })).toEqual(over('activeRuns', 0))
    const conflicting = f.commit(hostId, [f.creation(f.id('run'), {}, { tenant }), f.extension(f.id('run'), 1)])
    expect(await store.commit(conflicting)).toMatchObject({ kind: 'conflict' })
    expect(await store.usageOf(tenant)).toEqual({ activeRuns: 0, storedBytes: 0 })
  })

  it('Q8 lists due runs of tenants in turns, and in proportion to weights, of each the earliest first', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const names = new Map<string, string>()
    const due = async (tenant: string, wakeAt: number) =>
      names.set(await f.created(store, hostId, { wakeAt }, { tenant }), `${tenant}${wakeAt}`)
    for (let i = 2; i <= 7; i += 1) await due('a', i)
    // Of equal turns the tenant that is first by name, whose run is not the earliest.
    for (const [tenant, at] of [
      ['c', 1],
      ['b', 9],
      ['b', 8],
    ] as const)
      await due(tenant, at)
    const order = async (limit: number, weights?: { others: number; of: { [tenant: string]: number } }) =>
      (await store.dueRuns(hostId, 10, limit, weights)).map(({ runId }) => names.get(runId)).join(' ')
    expect(await order(20)).toBe('a2 b8 c1 a3 b9 a4 a5 a6 a7')
    expect(await order(3)).toBe('a2 b8 c1')
    expect(await order(20, { others: 1, of: { a: 2 } })).toBe('a2 a3 b8 c1 a4 a5 b9 a6 a7')
    expect(await order(4, { others: 4, of: { a: 1 } })).toBe('b8 c1 b9 a2')
  })

  it('Q8 claims what a host has left in turns of tenants', async () => {
    const { store } = await open()
    const name = f.id('name')
    const old = await f.host(store, name)
    const of = new Map<string, string>()
    const leave = async (tenant: string, times: number, wakeAt: number | null) => {
      for (let i = 0; i < times; i += 1) of.set(await f.created(store, old, { wakeAt }, { tenant }), tenant)
    }
    await leave('a', 29, 1)
    await leave('b', 2, 50)
    await leave('c', 2, null)
    await store.releaseHost(old)
    const peer = await f.host(store)
    const owned = async () => {
      const counts: { [tenant: string]: number } = {}
      for (const [runId, tenant] of of)
        if ((await store.readRun(null, runId))?.owner === peer) counts[tenant] = (counts[tenant] ?? 0) + 1
      return counts
    }
    expect(await store.claimOrphans(peer, f.T0, 6)).toBe(6)
    expect(await owned()).toEqual({ a: 2, b: 2, c: 2 })
    expect(await store.claimOrphans(peer, f.T0, 100)).toBe(27)
    expect(await owned()).toEqual({ a: 29, b: 2, c: 2 })
  })
}
