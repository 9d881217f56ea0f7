import { expect, it } from 'vitest'
import type { RunQuery } from '../../../../src/engine/ports/run-index.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'

export function readContract(open: () => Promise<Opened>): void {
  it('reads events from a sequence on, at most `limit`', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const log = f.events(0, 10)
    const runId = await f.created(store, hostId, { events: log })
    expect(await store.readEvents(runId, 4)).toEqual(log.slice(4))
    expect(await store.readEvents(runId, 4, 3)).toEqual(log.slice(4, 7))
    expect(await store.readEvents(runId, 10)).toEqual([])
    expect(await store.readEvents('no-such-run', 0)).toEqual([])
  })

  it('reads no more events than come to so many bytes, and always one', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const log = [10, 10, 300, 10, 10].map((bytes, i) => f.event(i, { payload: JSON.stringify('é'.repeat(bytes / 2)) }))
    const runId = await f.created(store, hostId, { events: log })
    const read = async (from: number, maxBytes: number) =>
      (await store.readEvents(runId, from, 4, maxBytes)).map(({ sequence }) => sequence)
    // Each is two bytes longer than what it quotes.
    expect(await read(0, 24)).toEqual([0, 1])
    expect(await read(0, 23)).toEqual([0])
    expect(await read(1, 100)).toEqual([1])
    expect(await read(2, 100)).toEqual([2])
    expect(await read(3, 0)).toEqual([3])
    expect(await read(0, 1_000)).toEqual([0, 1, 2, 3])
    expect(await read(5, 100)).toEqual([])
  })

  it('S6 R-AUTH-5: shows a run, its place in lists and its children to its tenant only', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const runId = await f.created(store, hostId, {}, { tenant: 'acme', tags: ['t'], workflowId: 'w' })
    expect((await store.readRun('acme', runId))?.runId).toBe(runId)
    expect((await store.readRun(null, runId))?.runId).toBe(runId)
    for (const tenant of ['other', '', 'ACME', 'acme ', '%', '*']) {
      expect(await store.readRun(tenant, runId)).toBeUndefined()
      expect(await store.listRuns({ tenant, limit: 10 })).toEqual([])
      expect(await store.listRuns({ tenant, limit: 10, tag: 't', workflowId: 'w', status: ['running'] })).toEqual([])
    }
    expect(await store.readRun(null, 'no-such-run')).toBeUndefined()
  })

  it('S6 keeps workflows of one tenant from another', async () => {
    const { store } = await open()
    const record = { tenant: 'acme', workflowId: 'w', digest: 'd1', definition: '{"v":1}', updatedAt: f.T0 }
    await store.putWorkflow(record)
    expect(await store.getWorkflow('acme', 'w')).toEqual(record)
    for (const tenant of ['other', '', '*']) {
      expect(await store.getWorkflow(tenant, 'w')).toBeUndefined()
      expect(await store.listWorkflows(tenant)).toEqual([])
    }
  })

  it('S6 keeps responses of one tenant from another', async () => {
    const { store } = await open()
    const response = f.response()
    await store.claimResponse(response, f.T0)
    expect(await store.getResponse(response)).toEqual(response)
    expect(await store.getResponse({ ...response, tenant: 'other' })).toBeUndefined()
    expect(await store.getResponse({ ...response, endpoint: 'cancelRun' })).toBeUndefined()
    await store.deleteResponse({ ...response, tenant: 'other' })
    expect(await store.getResponse(response)).toEqual(response)
  })

  it('filters lists by every field, alone and together', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const parent = await f.created(store, hostId, { status: 'waiting-external' }, { workflowId: 'a', tags: ['x', 'y'] })
    const child = await f.created(
      store,
      hostId,
      { status: 'failed' },
      { workflowId: 'b', parentRunId: parent, tags: ['y'] },
    )
    const other = await f.created(store, hostId, { status: 'running' }, { workflowId: 'b', tags: ['xy'] })
    const list = async (query: Partial<RunQuery>) => {
      const rows = await store.listRuns({ tenant: 'acme', limit: 50, ...query })
      return rows.map(row => row.runId).sort()
    }
    const all = [parent, child, other].sort()
    expect(await list({})).toEqual(all)
    expect(await list({ tenant: null })).toEqual(all)
    expect(await list({ status: ['failed'] })).toEqual([child])
    expect(await list({ status: ['failed', 'running'] })).toEqual([child, other].sort())
    expect(await list({ status: [] })).toEqual([])
    expect(await list({ workflowId: 'b' })).toEqual([child, other].sort())
    expect(await list({ except: ['b', 'c'] })).toEqual([parent])
    expect(await list({ except: [] })).toEqual(all)
    expect(await list({ except: ['a'], status: ['failed'] })).toEqual([child])
    expect(await list({ parentRunId: parent })).toEqual([child])
    expect(await list({ tag: 'y' })).toEqual([parent, child].sort())
    expect(await list({ tag: 'x' })).toEqual([parent])
    expect(await list({ tag: `y' OR 1=1 --` })).toEqual([])
    expect(await list({ tag: 'y', workflowId: 'b', status: ['failed'], parentRunId: parent })).toEqual([child])
    expect((await store.childrenOf(parent, 10)).map(row => row.runId)).toEqual([child])
    expect(await store.childrenOf(parent, 10, ['a'])).toHaveLength(1)
    expect(await store.childrenOf(parent, 10, ['b'])).toEqual([])
    expect(await store.childrenOf(child, 10)).toEqual([])
  })

  it('gives the latest children of a run, oldest first', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    await store.commit(f.commit(hostId, [f.creation('run_parent')]))
    for (const name of ['run_c', 'run_a', 'run_b'])
      await store.commit(f.commit(hostId, [f.creation(name, {}, { parentRunId: 'run_parent' })]))
    expect((await store.childrenOf('run_parent', 2)).map(row => row.runId)).toEqual(['run_b', 'run_c'])
  })

  it('pages newest first with the last id of a page as the cursor', async () => {
    const { store } = await open()
    const hostId = await f.host(store)
    const ids = ['a', 'B', 'b', '_', '-', 'Z', 'z', '0', '9', 'aa'].map(suffix => `run_${suffix}`)
    for (const runId of ids) await store.commit(f.commit(hostId, [f.creation(runId)]))
    const seen: string[] = []
    for (let before: string | undefined; ; before = seen.at(-1)) {
      const page = await store.listRuns({ tenant: 'acme', limit: 3, ...(before ? { before } : {}) })
      if (page.length === 0) break
      seen.push(...page.map(row => row.runId))
    }
    expect(seen).toEqual([...ids].sort().reverse())
  })

  it('answers a ping', async () => {
    const { store } = await open()
    await expect(store.ping()).resolves.toBeUndefined()
  })
}
