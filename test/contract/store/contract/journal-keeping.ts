import { describe, expect, it } from 'vitest'
import { forkScope, type LayerBefore, runScope } from '../../../../src/core/journal/place.js'
import type { Store } from '../../../../src/engine/ports/store.js'
import { TenantErased } from '../../../../src/engine/ports/tenants.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'
import { judged, staged } from '../gate-fixtures.js'
import * as j from '../journal-fixtures.js'

const COMMITTED = { kind: 'committed' }

/** What concerns the journal outside of runs: writes by a key, what is collected, destroyed, purged and erased. */
export function journalKeepingContract(open: () => Promise<Opened>): void {
  const opened = async () => j.journaling((await open()).store)

  describe('writes outside of runs', () => {
    it('are published at once, all or none, with what the tenant is told', async () => {
      const { store, said } = await opened()
      const told = { type: 'assay.memory.changed', payload: '{"n":1}', at: f.T0 }
      const both = [j.outside(j.content('one'), { tags: ['t'] }), j.outside(j.content('two'), { id: 'b' })]
      expect(await store.writeOutside('acme', both, told)).toEqual({
        kind: 'written',
        rows: [
          { position: 1, version: null },
          { position: 2, version: null },
        ],
      })
      expect([await said(), await said({}, 'b'), await said({ upTo: 1 }, 'b')]).toEqual(['one', 'two', undefined])
      expect(await store.entryAt('acme', 'memory', j.whole(), { ref: 'notes', id: 'b' })).toMatchObject({
        runId: 'tenant:acme',
        sequence: 1,
        nodeId: null,
        agentId: null,
        bytes: 3,
      })
      expect(await store.readTenantEvents('acme', 0, 10)).toEqual([{ sequence: 0, ...told }])
      const failing = [j.outside(j.content('three'), { id: 'c' }), j.outside(null, { id: 'nowhere' })]
      expect(await store.writeOutside('acme', failing, told)).toEqual({ kind: 'absent', id: 'nowhere' })
      expect(await said({}, 'c')).toBe(undefined)
      expect(await store.readContent('acme', failing[0]!.content!.contentId)).toBe(undefined)
      expect(await store.writeOutside('acme', [j.outside(null)], null)).toMatchObject({ kind: 'written' })
      expect(await said()).toBe(null)
      expect(await store.writeOutside('acme', [j.outside(null)], null)).toEqual({ kind: 'absent', id: 'a' })
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 3, workspace: 0 })
      expect(await store.readTenantEvents('acme', 0, 10)).toHaveLength(1)
    })

    it('have the size that their writer says, which what is sealed does not show', async () => {
      const { store } = await opened()
      const sizes = [j.outside(j.content('sealed'), { bytes: 2 }), j.outside(j.content('plain'), { id: 'b' })]
      await store.writeOutside('acme', sizes, null)
      const reach = { scope: j.SCOPE, upTo: 2, runs: [] }
      const { rows } = await store.entriesAt('acme', 'memory', reach, { limit: 10 })
      expect(rows.map(({ id, bytes }) => [id, bytes])).toEqual([
        ['b', 5],
        ['a', 2],
      ])
    })

    it('of files keep to versions, also to those of runs', async () => {
      const { store, start, put } = await opened()
      const file = (text: string | null, over = {}) =>
        j.outside(text === null ? null : j.content(text), {
          space: 'workspace',
          scope: '',
          ref: '',
          id: 'a.txt',
          ...over,
        })
      const write = (...writes: ReturnType<typeof file>[]) => store.writeOutside('acme', writes, null)
      expect(await write(file('one', { ifMatch: 0 }))).toEqual({ kind: 'written', rows: [{ position: 1, version: 1 }] })
      const runId = await start()
      expect(await put(runId, 'two', j.file({ ifMatch: 1 }))).toEqual(COMMITTED)
      expect(await write(file('three', { ifMatch: 1 }))).toEqual({ kind: 'conflict', id: 'a.txt', currentVersion: 2 })
      expect(await write(file('three', { ifMatch: 2 }), file('four', { ifMatch: 3 }))).toMatchObject({
        rows: [{ version: 3 }, { version: 4 }],
      })
      expect(await write(file(null, { ifMatch: 3 }))).toEqual({ kind: 'conflict', id: 'a.txt', currentVersion: 4 })
      expect(await write(file(null))).toMatchObject({ rows: [{ position: 5, version: 5 }] })
      expect(await write(file('six', { ifMatch: 5 }))).toEqual({ kind: 'conflict', id: 'a.txt', currentVersion: 0 })
      const versions = (await store.readTenantEvents('acme', 0, 10)).map(({ payload }) => JSON.parse(payload).version)
      expect(versions).toEqual([1, 2, 3, 4, 5])
    })

    it('and runs count on in one scope, whoever comes first', async () => {
      const { store, start, put } = await opened()
      const runs = await Promise.all(Array.from({ length: 5 }, () => start()))
      await Promise.all([
        ...runs.map(runId => put(runId, 'x', j.file({ id: runId }))),
        ...runs.map(runId =>
          store.writeOutside(
            'acme',
            [j.outside(j.content('y'), { space: 'workspace', scope: '', ref: '', id: runId })],
            { type: 'told', payload: '{}', at: f.T0 },
          ),
        ),
      ])
      expect(await store.heads('acme', undefined)).toEqual({ memory: 0, workspace: 10 })
      const told = await store.readTenantEvents('acme', 0, 100)
      expect(told.map(({ sequence }) => sequence)).toEqual(Array.from({ length: 15 }, (_, i) => i))
    })
  })

  it('counts what gates hold, with those who have it and who wrote it, once for each key and not what is there already', async () => {
    const { store, start, put, tell } = await opened()
    await put(await start(), 'there', { id: 'there' })
    const above = await start({ gated: [j.gate('run')] })
    const runId = await start({ gated: [j.gate('node', { nodeId: 'n1' })] })
    const count = (...held: LayerBefore[]) => store.countEntries('acme', 'memory', j.SCOPE, held)
    expect(await count({ runId, before: 1 }, { runId: above, before: 1 })).toBe(1)
    for (const id of ['a', 'a', 'b', 'there']) await put(above, 'held at the exit', { id })
    for (const id of ['c', 'd', 'd', 'there', 'e']) await put(runId, 'held at the node', { id })
    await tell(runId, j.wrote(null, { id: 'e' }))
    await put(runId, 'elsewhere', { scope: 'other' })
    await put(runId, 'elsewhere', j.file())
    expect([await count(), await count({ runId, before: 1 })]).toEqual([1, 3])
    expect(await count({ runId, before: 1 }, { runId: above, before: 1 })).toBe(5)
    // What an attempt before this one wrote is in no layer, and in the way of nobody.
    expect(await count({ runId, before: 1_000 }, { runId: above, before: 1 })).toBe(3)
    expect(await store.countEntries('beta', 'memory', j.SCOPE, [{ runId, before: 1 }])).toBe(0)
  })

  it('lists scopes with what is in them, by name and in pages', async () => {
    const { store, start, put, tell } = await opened()
    const runId = await start()
    for (const scope of ['b', 'a', 'c']) await put(runId, 'x', { scope })
    await put(runId, 'y', { scope: 'b' })
    await put(runId, 'y', { scope: 'b', id: 'b' })
    await tell(runId, j.wrote(null, { scope: 'b', id: 'b' }))
    await put(await start({ gated: [j.gate('run')] }), 'held', { scope: 'held' })
    const scope = { head: 1, entries: 1, horizon: 0 }
    const all = [
      { scope: 'a', ...scope },
      { scope: 'b', head: 4, entries: 1, horizon: 0 },
      { scope: 'c', ...scope },
    ]
    expect(await store.listScopes('acme', 'memory', 10)).toEqual(all)
    expect(await store.listScopes('acme', 'memory', 2)).toEqual(all.slice(0, 2))
    expect(await store.listScopes('acme', 'memory', 10, 'a')).toEqual(all.slice(1))
    expect(await store.listScopes('acme', 'workspace', 10)).toEqual([])
  })

  it('knows who wrote an entry and who has read it', async () => {
    const { store, start, put, tell } = await opened()
    const [writer, reader] = [await start(), await start()]
    await put(writer, 'one')
    await put(writer, 'two')
    const name = { runId: writer, sequence: 2 }
    expect(await store.copiesOf('acme', name)).toEqual([writer])
    await tell(reader, j.readEntries([`${writer}:2`]), j.readEntries([`${writer}:2`, 'tenant:acme:0']))
    expect(await store.copiesOf('acme', name)).toEqual([writer, reader].sort())
    expect(await store.copiesOf('acme', { runId: writer, sequence: 3 })).toEqual([writer])
    expect(await store.copiesOf('acme', { runId: 'tenant:acme', sequence: 0 })).toEqual([reader])
  })

  describe('collecting', () => {
    it('deletes what was superseded before a time, and says from where on the scope can be read', async () => {
      const { store, start, put, tell, said } = await opened()
      const runId = await start()
      for (const [i, id] of ['a', 'b', 'a', 'a', 'b'].entries()) await put(runId, `${i}`, { id, at: f.T0 + 10 * i })
      await tell(runId, j.wrote(null, { id: 'b', at: f.T0 + 50 }))
      const contents = async () => (await store.usageOf('acme')).storedBytes
      const before = await contents()
      expect(await store.collectJournal(f.T0 + 20, 10)).toBe(0)
      // Positions 1 (until 3), 3 (until 4): the first to be superseded first.
      expect(await store.collectJournal(f.T0 + 31, 1)).toBe(1)
      expect(await store.horizonOf('acme', 'memory', j.SCOPE)).toBe(3)
      expect(await store.collectJournal(f.T0 + 31, 10)).toBe(1)
      expect(await store.horizonOf('acme', 'memory', j.SCOPE)).toBe(4)
      expect(await contents()).toBe(before - 2)
      expect([await said({ upTo: 4 }), await said({ upTo: 4 }, 'b')]).toEqual(['3', '1'])
      expect(await said({ upTo: 4, runs: [{ runId, before: 4 }] })).toBe('3')
      expect(await store.collectJournal(f.T0 + 1000, 10)).toBe(2)
      expect(await store.horizonOf('acme', 'memory', j.SCOPE)).toBe(6)
      expect(await store.countEntries('acme', 'memory', j.SCOPE)).toBe(1)
      expect([await said(), await said({}, 'b')]).toEqual(['3', null])
      expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 6, workspace: 0 })
      expect(await store.collectJournal(f.T0 + 1000, 10)).toBe(0)
    })

    it('deletes what has expired once no view can answer with it any more', async () => {
      const { store, start, put, said } = await opened()
      const runId = await start()
      await put(runId, 'brief', { expiresAt: f.T0 + 50, at: f.T0 + 1 })
      expect(await store.collectJournal(f.T0 + 1000, 10)).toBe(0)
      await put(runId, 'within its time', { id: 'b', at: f.T0 + 49 })
      expect(await store.collectJournal(f.T0 + 1000, 10)).toBe(0)
      await put(runId, 'after its end', { id: 'c', at: f.T0 + 60 })
      expect(await store.collectJournal(f.T0 + 50, 10)).toBe(0)
      expect(await store.countEntries('acme', 'memory', j.SCOPE)).toBe(3)
      // Whoever began before what was published then would be refused what they saw.
      expect(await store.collectJournal(f.T0 + 60, 10)).toBe(0)
      expect(await store.collectJournal(f.T0 + 61, 10)).toBe(1)
      expect(await store.countEntries('acme', 'memory', j.SCOPE)).toBe(2)
      expect(await store.horizonOf('acme', 'memory', j.SCOPE)).toBe(3)
      expect([await said(), await said({}, 'b'), await said({}, 'c')]).toEqual([
        undefined,
        'within its time',
        'after its end',
      ])
    })
  })

  it('destroys every version of a key in a scope, held ones too, and leaves rows and hashes', async () => {
    const { store, start, put, said } = await opened()
    const [runId, holding] = [await start(), await start({ gated: [j.gate('run')] })]
    await put(runId, 'the name', { tags: ['private'] })
    await put(runId, 'the name again')
    await put(holding, 'the name held')
    await put(runId, 'another key', { id: 'b' })
    await put(runId, 'another scope', { scope: 'other' })
    const find = (words: string[]) => store.searchAt('acme', 'memory', j.whole({ upTo: 1 }), { words, limit: 5 })
    expect(await find(['name'])).toHaveLength(1)
    const before = (await store.usageOf('acme')).storedBytes
    expect(await store.destroyContent('acme', 'memory', j.SCOPE, { ref: 'notes', id: 'a' })).toBe(3)
    expect(await store.destroyContent('acme', 'memory', j.SCOPE, { ref: 'notes', id: 'a' })).toBe(0)
    expect((await store.usageOf('acme')).storedBytes).toBe(before - 8 - 14 - 13)
    const row = await store.entryAt('acme', 'memory', j.whole({ upTo: 1 }), { ref: 'notes', id: 'a' })
    expect(row).toMatchObject({ op: 'put', tags: [], hash: expect.stringMatching(/^[0-9a-f]{64}$/), position: 1 })
    expect([await said(), await said(j.ownOf(holding))]).toEqual([undefined, undefined])
    expect([await find(['name']), await find(['private'])]).toEqual([[], []])
    expect([await said({}, 'b'), await said({ scope: 'other' })]).toEqual(['another key', 'another scope'])
  })

  it('S13 counts bodies once, whoever keeps them', async () => {
    const { store, start, tell } = await opened()
    const used = async () => (await store.usageOf('acme')).storedBytes
    const kept = j.content('0123456789')
    await store.keepContent(kept)
    await store.keepContent(kept)
    expect(await used()).toBe(10)
    await store.writeOutside('acme', [j.outside(j.content('12345'))], null)
    expect(await used()).toBe(15)
    const runId = await start()
    const before = await used()
    const event = j.wrote(kept)
    await tell(runId, event)
    const { payload, secret } = event(2)
    expect(await used()).toBe(before + payload.length + (secret?.length ?? 0))
  })

  describe('purging and erasing', () => {
    it('S12 a purged family takes what was its own and unpublished, and leaves what everybody sees', async () => {
      const { store, hostId, start, put, tell, keep, said } = await opened()
      const root = await start()
      const child = await start({ parentRunId: root, parentNodeId: 'n1', gated: [j.gate('run')] })
      await put(root, 'published')
      await put(root, 'own scope', { scope: runScope(root), id: 'own' })
      await put(child, 'never passed', { id: 'held' })
      await keep('draft', { runId: root, contentId: 'draft' })
      await tell(root, j.readEntries(['tenant:acme:0']), j.chained('child.completed', child), j.ended)
      await tell(child, staged('run'), judged('fail'), sequence => f.terminal(sequence, 'run.failed'))
      const held = await store.entryAt('acme', 'memory', j.ownOf(child), { ref: 'notes', id: 'held' })
      await purge(store, hostId, root, [root, child])
      expect(await said()).toBe('published')
      expect(await store.entryAt('acme', 'memory', j.ownOf(root), { ref: 'notes', id: 'a' })).toBe(undefined)
      expect(await said({ scope: runScope(root) }, 'own')).toBe(undefined)
      expect(await store.readContent('acme', held!.contentId!)).toBe(undefined)
      expect(await store.readContent('acme', 'draft')).toBe(undefined)
      expect(await store.copiesOf('acme', { runId: 'tenant:acme', sequence: 0 })).toEqual([])
      expect((await store.listScopes('acme', 'memory', 10)).map(({ scope }) => scope)).toEqual([j.SCOPE])
      expect((await store.usageOf('acme')).storedBytes).toBe('published'.length)
    })

    it('S12 what a branch has stays as long as the branch, and its scopes go with it', async () => {
      const { store, hostId, start, put, tell, said } = await opened()
      const gated = [j.gate('node')]
      const source = await start({ gated })
      await put(source, 'held')
      await tell(source, sequence => f.terminal(sequence, 'run.cancelled'))
      const branch = f.id('run')
      await store.commit(f.commit(hostId, [f.fork(branch, source, 3, [], { run: { gated } })]))
      expect(await tell(branch, staged('node'), judged('pass'), j.completedNode(1, 'n1', 'h'), j.ended)).toEqual(
        COMMITTED,
      )
      await seal(store, [source, branch])
      expect(await store.purgeFamily(source, f.T0)).toEqual({ kind: 'forked' })
      expect(await said({ scope: forkScope(branch) })).toBe('held')
      await purge(store, hostId, branch, [branch])
      expect(await store.heads('acme', forkScope(branch))).toEqual({ memory: 0, workspace: 0 })
      await purge(store, hostId, source, [source])
      expect((await store.usageOf('acme')).storedBytes).toBe(0)
    })

    it('S14 nothing of an erased tenant is stored any more, and nothing is left', async () => {
      const { store, hostId, start, put, tell, keep } = await j.journaling((await open()).store, 'gone')
      const runId = await start({ gated: [j.gate('node', { nodeId: 'held' })] })
      for (let i = 0; i < 3; i += 1) await put(runId, `word ${i}`, { id: `${i}`, tags: ['t'] })
      await put(runId, 'held', { nodeId: 'held' })
      await put(runId, 'file', j.file())
      await keep('draft', { contentId: 'draft' })
      await store.writeOutside('gone', [j.outside(j.content('outside', { tenant: 'gone' }))], null)
      await tell(runId, j.readEntries(['x:1']), j.ended)
      expect(await store.eraseTenants([f.mark('gone')])).toEqual({ kind: 'marked' })
      const content = j.content('more', { tenant: 'gone' })
      await expect(store.keepContent(content)).rejects.toBeInstanceOf(TenantErased)
      await expect(store.writeOutside('gone', [j.outside(content)], null)).rejects.toBeInstanceOf(TenantErased)
      expect(await store.claimErasure({ hostId, now: f.T0, leaseMs: 1000 })).toBe('gone')
      const erasing = { tenant: 'gone', hostId }
      const { length } = (await store.readRun(null, runId))!
      const events = Array.from({ length }, (_, sequence) => ({ sequence, erased: 'e' }))
      expect(await store.eraseEvents({ ...erasing, runId }, events)).toBe(true)
      expect(await store.eraseRun({ ...erasing, runId })).toBe(true)
      let steps = 0
      while ((await store.finishErasure({ ...erasing, at: f.T0, limit: 2 })) === 'more') steps += 1
      expect(steps).toBeGreaterThan(0)
      expect(await store.readContent('gone', 'draft')).toBe(undefined)
      expect(await store.entriesAt('gone', 'memory', j.whole(), { limit: 10 })).toEqual({ rows: [] })
      expect(await store.searchAt('gone', 'memory', j.whole(), { words: ['word'], limit: 10 })).toEqual([])
      expect(await store.heads('gone', j.SCOPE)).toEqual({ memory: 0, workspace: 0 })
      expect(await store.readTenantEvents('gone', 0, 10)).toEqual([])
      expect(await store.listScopes('gone', 'memory', 10)).toEqual([])
      expect((await store.usageOf('gone')).storedBytes).toBe(2 * length)
    })
  })
}

let checkpoints = 0

async function seal(store: Store, runIds: readonly string[]): Promise<void> {
  const latest = await store.latestCheckpoint()
  const runs = (await store.unsealedRuns(100)).filter(({ runId }) => runIds.includes(runId))
  const purged = await store.unsealedPurges(100)
  checkpoints += 1
  const next = f.checkpoint((latest?.seq ?? -1) + 1, { runs, purged, hash: `seal-${checkpoints}` })
  expect(await store.putCheckpoint(next)).toBe(true)
}

async function purge(store: Store, hostId: string, root: string, runIds: readonly string[]): Promise<void> {
  await seal(store, runIds)
  expect(await store.purgeFamily(root, f.T0)).toEqual({ kind: 'purged', runs: runIds.length })
  await seal(store, [])
  expect(await store.claimPurge({ hostId, now: f.T0, leaseMs: 1000 })).toBe(root)
  while ((await store.deletePurged(root, hostId, 2)) === 'more');
}
