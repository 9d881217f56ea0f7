import { expect, it } from 'vitest'
import type { Store } from '../../../../src/engine/ports/store.js'
import { TenantErased } from '../../../../src/engine/ports/tenants.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'
import { trailRecord } from './trail.js'
import { gatedPoint, gatedRun, judged, merge, staged } from '../gate-fixtures.js'

const LEASE = { now: f.T0, leaseMs: 1_000 }

/** A tenant that only this test knows, with a run of `events` events that has ended. */
async function tenantWithRun(store: Store, hostId: string, events = 3) {
  const tenant = f.id('tenant')
  const log = [...f.events(0, events - 1), f.terminal(events - 1)]
  const run = { tenant, tags: ['urgent'], scopeId: 'scope', workflowDigest: f.id('digest') }
  const stream = { events: log, status: 'completed' as const, head: `hash-${events - 1}`, snapshot: '{"folded":1}' }
  const runId = await f.created(store, hostId, stream, run)
  return { tenant, runId, digest: run.workflowDigest }
}

/** Claims until it is this tenant's turn; what other tests have left is finished on the way. */
async function claim(store: Store, hostId: string, tenant: string, lease = LEASE): Promise<boolean> {
  for (;;) {
    const claimed = await store.claimErasure({ hostId, ...lease })
    if (claimed === undefined || claimed === tenant) return claimed === tenant
    await eraseContent(store, hostId, claimed)
  }
}

async function eraseContent(store: Store, hostId: string, tenant: string, limit = 100): Promise<string> {
  for (;;) {
    const run = await store.nextToErase(tenant)
    if (run === undefined) {
      const result = await store.finishErasure({ tenant, hostId, at: f.T0 + 90, limit })
      if (result !== 'more') return result
      continue
    }
    const { runId, fromSeq, length } = run
    const own = Array.from({ length: length - fromSeq }, (_, i) => ({ sequence: fromSeq + i, erased: `left-${i}` }))
    await store.eraseEvents({ tenant, hostId, runId }, own)
    if (!(await store.eraseRun({ tenant, hostId, runId }))) return 'lost'
  }
}

export function erasureContract(open: () => Promise<Opened>): void {
  it('S14 marks nothing while a run is open, and says how many are', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const { tenant } = await tenantWithRun(store, hostId)
    await f.created(store, hostId, {}, { tenant: `${tenant}~test` })
    await store.putKey(f.apiKey({ tenant }))
    expect(await store.eraseTenants([f.mark(tenant), f.mark(`${tenant}~test`)])).toEqual({ kind: 'open', runs: 1 })
    expect(await store.readErasure(tenant)).toBeUndefined()
    expect((await store.listKeys()).some(key => key.tenant === tenant)).toBe(true)
    expect(await store.nextToErase(tenant)).toBeUndefined()
  })

  it('S14 a standing stream keeps no tenant: it is ended with the mark, and whoever holds it is fenced', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const { tenant } = await tenantWithRun(store, hostId)
    const streams = ['assay-goal', 'assay-schedule', 'assay-commitment']
    const ids: string[] = []
    for (const workflowId of streams) ids.push(await f.created(store, hostId, { wakeAt: f.T0 }, { tenant, workflowId }))
    expect(await store.eraseTenants([f.mark(tenant)])).toEqual({ kind: 'marked' })
    const due = await store.dueRuns(hostId, f.T0 + 1_000_000, 1_000)
    expect(due.filter(({ runId }) => ids.includes(runId))).toEqual([])
    for (const runId of ids) {
      expect(await store.readRun(null, runId)).toMatchObject({ endedAt: f.mark(tenant).askedAt, wakeAt: null })
      expect(await store.commit(f.commit(hostId, [f.extension(runId, 2, { epoch: 1 })]))).toEqual({ kind: 'fenced' })
    }
    expect(await claim(store, hostId, tenant)).toBe(true)
    expect(await eraseContent(store, hostId, tenant)).toBe('done')
    for (const runId of ids)
      expect((await store.readEvents(runId, 0)).map(({ payload }) => payload)).toEqual(['{}', '{}'])
  })

  it('S17 S14 the trail goes with all of an erased tenant, which gets no new one', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const { tenant } = await tenantWithRun(store, hostId)
    expect(await store.appendTrail(trailRecord(tenant, 1))).toBe(true)
    await store.eraseTenants([f.mark(tenant)])
    await expect(store.appendTrail(trailRecord(tenant, 2))).rejects.toThrow(TenantErased)
    expect(await store.readTrail(tenant, { limit: 10 })).toHaveLength(1)
    expect(await claim(store, hostId, tenant)).toBe(true)
    expect(await eraseContent(store, hostId, tenant)).toBe('done')
    expect(await store.readTrail(tenant, { limit: 10 })).toEqual([])
    await expect(store.appendTrail(trailRecord(tenant, 1))).rejects.toThrow(TenantErased)
  })

  it('S14 destroys the keys at once, and stores nothing more of the tenant', async () => {
    const { store, peer } = await open()
    const hostId = await f.host(store)
    const { tenant, runId } = await tenantWithRun(store, hostId)
    await store.putKey(f.apiKey({ tenant }))
    await store.putWebhook(f.webhook({ tenant }))
    const [one, two] = await Promise.all([
      store.putDataKey(tenant, 'first'),
      (await peer()).putDataKey(tenant, 'second'),
    ])
    expect(one).toBe(two)
    expect(await store.readDataKey(tenant)).toBe(one)
    expect(await store.putDataKey(tenant, 'third')).toBe(one)

    expect(await store.eraseTenants([f.mark(tenant, f.T0 + 60)])).toEqual({ kind: 'marked' })
    const mark = { ...f.mark(tenant, f.T0 + 50), keyId: 'key-2', signature: 'other' }
    expect(await store.eraseTenants([mark])).toEqual({ kind: 'marked' })
    expect(await store.readErasure(tenant)).toEqual({ ...mark, erasedAt: null })
    expect(await store.readDataKey(tenant)).toBeUndefined()
    expect((await store.listKeys()).filter(key => key.tenant === tenant)).toEqual([])
    expect(await store.listWebhooks(tenant)).toEqual([])

    expect(await store.readRun(tenant, runId)).toBeUndefined()
    expect(await store.listRuns({ tenant, limit: 10 })).toEqual([])
    expect((await store.readRun(null, runId))?.tenant).toBe(tenant)

    const fork = f.fork(f.id('fork'), runId, 1, [], { run: { tenant } })
    const record = { tenant, workflowId: 'wf', digest: f.id('digest'), definition: '{}', updatedAt: f.T0 }
    const standard = { tenant, kind: 'gate', id: 'g', hash: 'h', body: '{}', updatedAt: f.T0 } as const
    const response = f.response({ tenant })
    const elsewhere = f.creation(f.id('run'))
    const writes = [
      () => store.commit(f.commit(hostId, [f.creation(f.id('run'), {}, { tenant })])),
      () => store.commit(f.commit(hostId, [fork])),
      () => store.commit(f.commit(hostId, [elsewhere], { response })),
      () => store.claimResponse(response, f.T0),
      () => store.putWorkflow(record),
      () => store.putStandard(standard),
      () => store.putKey(f.apiKey({ tenant })),
      () => store.putWebhook(f.webhook({ tenant })),
      () => store.putDataKey(tenant, 'fourth'),
      () => store.claimEffect(f.claim(hostId, { tenant, runId })),
    ]
    for (const write of writes) await expect(write()).rejects.toThrow(TenantErased)
    expect(await store.readRun(null, elsewhere.runId)).toBeUndefined()
    expect(await store.getResponse(response)).toBeUndefined()
    // One who is refused takes nobody with it.
    const both = await Promise.allSettled([
      store.commit(f.commit(hostId, [f.creation(f.id('run'), {}, { tenant })])),
      store.commit(f.commit(hostId, [f.creation(f.id('run'))])),
    ])
    expect(both.map(({ status }) => status)).toEqual(['rejected', 'fulfilled'])
    await claim(store, hostId, tenant)
    await eraseContent(store, hostId, tenant)
  })

  it('S14 leaves of a run its ids, types, times, hashes and digests, and nothing of what it said', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const { tenant, runId, digest } = await tenantWithRun(store, hostId)
    const fork = f.id('zfork')
    await store.commit(f.commit(hostId, [f.fork(fork, runId, 2, [f.terminal(2)], { run: { tenant } })]))
    const effect = f.claim(hostId, { tenant, runId })
    await store.claimEffect(effect)
    await store.finishEffect(effect.id, hostId, { said: 'much' }, 'c'.repeat(64))
    const kept = f.response({ tenant })
    await store.claimResponse(kept, f.T0)
    const shared = f.id('digest')
    const record = { tenant, workflowId: 'wf', digest, definition: '{"own":1}', updatedAt: f.T0 }
    await store.putWorkflow(record)
    await store.putWorkflow({ ...record, workflowId: 'other', digest: shared })
    await store.putWorkflow({ ...record, tenant: 'acme', workflowId: f.id('wf'), digest: shared })
    await store.putStandard({ tenant, kind: 'gate', id: 'g', hash: 'h', body: '{}', updatedAt: f.T0 })
    const gated = await gatedRun(store, hostId, [gatedPoint('node')], { tenant })
    await gated.together(staged('node'), judged('pass'), merge('node'), f.terminal)
    expect((await store.readGateRows(gated.runId)).merges).toHaveLength(1)
    expect(await store.listVerdicts({ tenant, limit: 10 })).toHaveLength(1)
    const bystander = await tenantWithRun(store, hostId)
    const [row, other] = [await store.readRun(null, runId), await store.readEvents(bystander.runId, 0)]
    const [used, usedByOther] = [await store.usageOf(tenant), await store.usageOf(bystander.tenant)]

    await store.eraseTenants([f.mark(tenant, f.T0 + 50)])
    expect(await claim(store, hostId, tenant)).toBe(true)
    expect(await eraseContent(store, hostId, tenant, 1)).toBe('done')

    expect(await store.readErasure(tenant)).toEqual({ ...f.mark(tenant, f.T0 + 50), erasedAt: f.T0 + 90 })
    const blank = { payload: '{}', secret: null, input: null, salt: null }
    const left = [0, 1, 2].map(i => ({ ...(i === 2 ? f.terminal(i) : f.event(i)), ...blank, erased: `left-${i}` }))
    expect(await store.readEvents(runId, 0)).toEqual(left)
    expect((await store.readEvents(fork, 0)).map(({ erased }) => erased)).toEqual(['left-0', 'left-1', 'left-0'])
    expect(await store.readRun(null, runId)).toEqual({ ...row, tags: [], scopeId: null })
    expect(await store.readSnapshot(runId, 100)).toBeUndefined()
    expect(await store.readGateRows(gated.runId)).toEqual({ gated: [], staged: [], verdicts: [], merges: [] })
    expect(await store.listVerdicts({ tenant, limit: 10 })).toEqual([])
    expect(await store.readEffect(effect.id)).toBeUndefined()
    expect(await store.getResponse(kept)).toBeUndefined()
    expect(await store.listStandards(tenant)).not.toContainEqual(expect.objectContaining({ tenant }))
    expect((await store.listWorkflows(tenant)).filter(one => one.tenant === tenant)).toEqual([])
    expect(await store.getDefinition(digest)).toBeUndefined()
    expect(await store.getDefinition(shared)).toBe('{"own":1}')
    expect(await store.readEvents(bystander.runId, 0)).toEqual(other)
    expect((await store.readSnapshot(bystander.runId, 100))?.state).toBe('{"folded":1}')
    expect(await claim(store, hostId, tenant)).toBe(false)
    // S13: what is erased is no longer counted; of each event of its own a run keeps `{}`.
    const lengths = await Promise.all(
      [runId, gated.runId].map(async id => (await store.readRun(null, id))?.length ?? 0),
    )
    const own = lengths.reduce((sum, length) => sum + length, 1)
    expect(used.storedBytes).toBeGreaterThan(2 * own)
    expect(await store.usageOf(tenant)).toEqual({ activeRuns: 0, storedBytes: 2 * own })
    expect(await store.usageOf(bystander.tenant)).toEqual(usedByOther)
  })

  it('S14 a run that begins while its tenant is marked is counted, or refused', async () => {
    const { store, peer } = await open()
    const [second, hostId] = [await peer(), await f.host(store)]
    for (let i = 0; i < 20; i += 1) {
      const { tenant } = await tenantWithRun(store, hostId)
      const run = f.creation(f.id('run'), {}, { tenant })
      const [marked, begun] = await Promise.allSettled([
        second.eraseTenants([f.mark(tenant)]),
        store.commit(f.commit(hostId, [run])),
      ])
      const isOpen = (await store.readRun(null, run.runId)) !== undefined
      expect(begun.status).toBe(isOpen ? 'fulfilled' : 'rejected')
      expect(marked).toMatchObject({ value: isOpen ? { kind: 'open', runs: 1 } : { kind: 'marked' } })
      expect((await store.readErasure(tenant)) === undefined).toBe(isOpen)
    }
  })

  it('S14 has one who erases at a time, and none is done while a run is left', async () => {
    const { store } = await open()
    const name = f.id('name')
    const [one, two] = [await f.host(store, name), await f.host(store)]
    const { tenant, runId } = await tenantWithRun(store, one)
    await store.eraseTenants([f.mark(tenant)])
    expect(await claim(store, one, tenant)).toBe(true)
    expect(await store.claimErasure({ hostId: two, ...LEASE })).toBeUndefined()
    const stranger = { tenant, hostId: two }
    expect(await store.eraseEvents({ ...stranger, runId }, [{ sequence: 0, erased: 'left' }])).toBe(false)
    expect(await store.eraseRun({ ...stranger, runId })).toBe(false)
    expect(await store.finishErasure({ ...stranger, at: f.T0, limit: 9 })).toBe('lost')
    expect(await store.finishErasure({ tenant, hostId: one, at: f.T0, limit: 9 })).toBe('more')
    expect((await store.readEvents(runId, 0))[0]?.erased).toBeNull()
    expect(await store.claimErasure({ hostId: two, now: f.T0 + 1_000, leaseMs: 1_000 })).toBe(tenant)
    expect(await store.eraseRun({ tenant, hostId: one, runId })).toBe(false)
    expect(await eraseContent(store, two, tenant)).toBe('done')
  })
}
