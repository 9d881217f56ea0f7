import { describe, expect, it } from 'vitest'
import type { AttemptBefore, Reach } from '../../../../src/core/journal/place.js'
import type { EntriesQuery, WriteRow } from '../../../../src/engine/ports/journal.js'
import type { Opened } from '../adapter.js'
import * as f from '../fixtures.js'
import { harvest, judged, staged } from '../gate-fixtures.js'
import * as j from '../journal-fixtures.js'

const COMMITTED = { kind: 'committed' }

const ids = (rows: readonly WriteRow[]) => rows.map(({ id, op }) => (op === 'put' ? id : `-${id}`)).join(' ')

/** What is read of the journal: lists, searches, and files with their versions. */
export function journalReadContract(open: () => Promise<Opened>): void {
  const opened = async () => j.journaling((await open()).store)

  describe('lists', () => {
    it('have each key once, what the runs see of their own first, then by position, newest first', async () => {
      const { store, start, put, tell } = await opened()
      const [shared, own] = [await start(), await start({ gated: [j.gate('run')] })]
      for (const id of ['a', 'b', 'c', 'a', 'd']) await put(shared, id, { id })
      await tell(shared, j.wrote(null, { id: 'b' }))
      await put(own, 'mine', { id: 'c' })
      await put(own, 'mine', { id: 'x' })
      const list = async (reach: Partial<Reach>, query: Partial<EntriesQuery> = {}) =>
        ids((await store.entriesAt('acme', 'memory', j.whole(reach), { limit: 100, ...query })).rows)
      expect(await list({})).toBe('-b d a c')
      expect(await list({ upTo: 3 })).toBe('c b a')
      expect(await list({ upTo: 4 })).toBe('a c b')
      expect(await list({ upTo: 0 })).toBe('')
      const runs = [{ runId: own, before: 100 }]
      expect(await list({ runs })).toBe('x c -b d a')
      expect(await list({ runs: [{ runId: own, before: 3 }] })).toBe('c -b d a')
      expect(await list({ upTo: 1, runs: [...runs, { runId: shared, before: 100 }] })).toBe('x c -b d a')
    })

    it('come in pages, and what fits by reference, prefix and tag only', async () => {
      const { store, start, put } = await opened()
      const [shared, own] = [await start(), await start({ gated: [j.gate('run')] })]
      const keys = ['n/1', 'n/2', 'm/1', 'n%', 'n_2', 'n/3', 'ä/1']
      for (const [i, id] of keys.entries()) await put(shared, id, { id, tags: i % 2 === 0 ? ['even', 'e'] : [] })
      await put(shared, 'again', { id: 'n/1', tags: ['even'] })
      await put(shared, 'elsewhere', { ref: 'other', id: 'n/9', tags: ['even'] })
      for (const id of ['n/2', 'own']) await put(own, 'mine', { id, tags: ['even'] })
      const pages = async (limit: number, query: Partial<EntriesQuery> = {}, reach: Partial<Reach> = {}) => {
        const found: string[] = []
        let after: string | undefined
        do {
          const asked = { limit, ...query, ...(after === undefined ? {} : { after }) }
          const page = await store.entriesAt('acme', 'memory', j.whole({ ...reach }), asked)
          expect(page.rows.length).toBeLessThanOrEqual(limit)
          found.push(...page.rows.map(({ id }) => id))
          after = page.cursor
        } while (after !== undefined)
        return found.join(' ')
      }
      const runs = [{ runId: own, before: 100 }]
      for (const limit of [1, 2, 3, 100]) {
        expect(await pages(limit)).toBe('n/9 n/1 ä/1 n/3 n_2 n% m/1 n/2')
        expect(await pages(limit, {}, { runs })).toBe('own n/2 n/9 n/1 ä/1 n/3 n_2 n% m/1')
        expect(await pages(limit, { ref: 'notes' })).toBe('n/1 ä/1 n/3 n_2 n% m/1 n/2')
        expect(await pages(limit, { ref: 'notes', prefix: 'n/' })).toBe('n/1 n/3 n/2')
        expect(await pages(limit, { ref: 'notes', prefix: 'n/' }, { upTo: 7 })).toBe('n/3 n/2 n/1')
        expect(await pages(limit, { prefix: 'n/' })).toBe('n/9 n/1 n/3 n/2')
        expect(await pages(limit, { prefix: 'n%' })).toBe('n%')
        expect(await pages(limit, { ref: 'notes', prefix: 'ä' })).toBe('ä/1')
        expect(await pages(limit, { tag: 'even' }, { runs })).toBe('own n/2 n/9 n/1 ä/1 n_2 m/1')
        expect(await pages(limit, { tag: 'e', ref: 'notes' }, { upTo: 7 })).toBe('ä/1 n_2 m/1 n/1')
        expect(await pages(limit, { tag: 'none' })).toBe('')
      }
      expect(await store.entriesAt('acme', 'memory', j.whole(), { limit: 5, after: 'nonsense' })).toEqual({ rows: [] })
    })
  })

  describe('searches', () => {
    it('find what has all the words, in any case, best first, of equal ones the newest', async () => {
      const { store, start, put } = await opened()
      const runId = await start()
      await put(runId, 'The Quick brown fox', { id: 'a', tags: ['t'] })
      await put(runId, 'quick-witted: "FOX!" and more words that make it long', { id: 'b' })
      await put(runId, 'a fox, a fox, a quick fox', { id: 'c', tags: ['t'] })
      await put(runId, 'Über größe ÄÖÜ 42', { id: 'd' })
      await put(runId, 'The Quick brown fox', { id: 'e', ref: 'other' })
      const find = async (words: string[], query = {}, reach: Partial<Reach> = {}) =>
        ids(await store.searchAt('acme', 'memory', j.whole(reach), { words, limit: 10, ...query }))
      expect(await find(['quick', 'FOX'])).toBe('c e a b')
      expect(await find(['quick fox'], { limit: 2 })).toBe('c e')
      expect(await find(['brown'])).toBe('e a')
      expect(await find(['brown'], { ref: 'notes' })).toBe('a')
      expect(await find(['fox'], { tag: 't' })).toBe('c a')
      expect(await find(['ÜBER', 'GRÖSSE'])).toBe('')
      expect(await find(['über', 'größe', '42'])).toBe('d')
      expect(await find(['qui'])).toBe('')
      expect(await find(['fox'], {}, { upTo: 1 })).toBe('a')
      expect(await find(['fox', 'absent'])).toBe('')
      expect(await find([])).toBe('e d c b a')
      expect(await find([], { tag: 't' })).toBe('c a')
    })

    it('see what a view sees: as of its anchor, its own first, nothing that was forgotten or is held', async () => {
      const { store, start, put, tell } = await opened()
      const [shared, own] = [await start(), await start({ gated: [j.gate('run')] })]
      await put(shared, 'apple one', { id: 'a' })
      await put(shared, 'apple two', { id: 'b' })
      await put(shared, 'pear', { id: 'a' })
      await tell(shared, j.wrote(null, { id: 'b' }))
      await put(own, 'apple held', { id: 'c' })
      await put(own, 'plum', { id: 'a' })
      const find = async (word: string, upTo: number, runs: Reach['runs'] = []) =>
        ids(await store.searchAt('acme', 'memory', j.whole({ upTo, runs }), { words: [word], limit: 10 }))
      expect(await find('apple', 1)).toBe('a')
      expect(await find('apple', 2)).toBe('b a')
      expect(await find('apple', 3)).toBe('b')
      expect(await find('apple', 4)).toBe('')
      expect(await find('pear', 4)).toBe('a')
      const runs = [{ runId: own, before: 100 }]
      expect(await find('apple', 2, runs)).toBe('c b')
      expect(await find('pear', 4, runs)).toBe('')
      expect(await find('plum', 4, runs)).toBe('a')
      expect(await find('apple', 0, [{ runId: shared, before: 4 }])).toBe('b a')
    })

    it('find what has no text by its whole tags alone', async () => {
      const { store, start, keep, tell } = await opened()
      const runId = await start()
      const sealed = await keep('secret words', { text: null, sealed: true })
      const plain = await keep('plain words')
      await tell(runId, j.wrote(sealed, { id: 'a', tags: ['Billing', 'q3-report'] }))
      await tell(runId, j.wrote(plain, { id: 'b', tags: ['Billing'] }))
      const find = async (...words: string[]) =>
        ids(await store.searchAt('acme', 'memory', j.whole(), { words, limit: 10 }))
      expect(await find('billing')).toBe('a')
      expect(await find('BILLING', 'q3-report')).toBe('a')
      expect(await find('report')).toBe('')
      expect(await find('words')).toBe('b')
      const own = await store.searchAt('acme', 'memory', j.ownOf(runId), { words: ['billing'], limit: 10 })
      expect(ids(own)).toBe('a')
    })

    it('take whatever is typed as words, and never as syntax', async () => {
      const { store, start, put } = await opened()
      const runId = await start()
      await put(runId, "or and not near x' drop table", { id: 'a' })
      const find = async (...words: string[]) =>
        ids(await store.searchAt('acme', 'memory', j.whole(), { words, limit: 10 }))
      const typed = ['*', '"', "'", 'a OR b', 'NEAR(a, b)', 'x" OR "y', "'; --", '!a', 'a:*', '(', '\\', '%', '#', '@1']
      for (const words of typed) expect(await find(words), words).toBe('')
      for (const words of ['OR', '* OR *', 'or:and']) expect(await find(words)).toBe('a')
      expect(await find('not', 'near')).toBe('a')
      expect(await find("x'")).toBe('a')
      expect(await find('drop" table')).toBe('a')
      expect(await find('\u0000')).toBe('')
    })
  })

  describe('files', () => {
    it('S15 have versions, which a removal counts on, and tell the tenant of each', async () => {
      const { store, start, put, tell, said } = await opened()
      const runId = await start()
      await put(runId, 'one', j.file({ at: f.T0 + 7 }))
      await put(runId, 'two', j.file())
      await tell(runId, j.wrote(null, j.file()))
      await put(runId, 'three', j.file({ seen: 9 }))
      await put(runId, 'other', j.file({ id: 'b/ü "q".txt' }))
      const version = async (upTo: number) =>
        (await store.entryAt('acme', 'workspace', { scope: '', upTo, runs: [] }, { ref: '', id: 'a.txt' }))?.version
      expect([await version(1), await version(2), await version(3), await version(4)]).toEqual([1, 2, 3, 4])
      expect(await said({ scope: '' }, 'a.txt', 'workspace')).toBe('three')
      expect(await store.heads('acme', undefined)).toEqual({ memory: 0, workspace: 5 })
      const told = await store.readTenantEvents('acme', 0, 100)
      expect(told.map(({ sequence, type, payload }) => [sequence, type, JSON.parse(payload)])).toEqual([
        [0, 'workspace.updated', { path: 'a.txt', version: 1 }],
        [1, 'workspace.updated', { path: 'a.txt', version: 2 }],
        [2, 'workspace.updated', { path: 'a.txt', version: 3 }],
        [3, 'workspace.updated', { path: 'a.txt', version: 4 }],
        [4, 'workspace.updated', { path: 'b/ü "q".txt', version: 1 }],
      ])
      expect(told[0]?.at).toBe(f.T0 + 7)
      expect((await store.readTenantEvents('acme', 3, 1)).map(({ sequence }) => sequence)).toEqual([3])
    })

    it("of a branch go on from the version that it saw, and are nobody else's to hear of", async () => {
      const { store, start, put, hostId } = await opened()
      const source = await start()
      await put(source, 'one', j.file())
      const branch = f.id('run')
      await store.commit(f.commit(hostId, [f.fork(branch, source, 3)]))
      const scope = `fork:${branch}`
      expect(await put(branch, 'two', j.file({ scope, seen: 1, ifMatch: 1 }))).toEqual(COMMITTED)
      expect(await put(branch, 'three', j.file({ scope, seen: 1, ifMatch: 2 }))).toEqual(COMMITTED)
      const row = await store.entryAt('acme', 'workspace', j.whole({ scope }), { ref: '', id: 'a.txt' })
      expect(row).toMatchObject({ position: 2, version: 3 })
      expect(await store.readTenantEvents('acme', 0, 10)).toHaveLength(1)
      expect(await store.heads('acme', undefined, scope)).toEqual({ memory: 0, workspace: 2 })
    })

    it('S15 that have another version than they must have make the commit a conflict, and nothing of it is written', async () => {
      const { store, start, stream, keep, put, tell, hostId } = await opened()
      const runId = await start()
      await put(runId, 'one', j.file())
      const others = [await start(), await start()]
      const [kept, note] = [await keep('two'), await keep('note')]
      const attempt = async (over: Parameters<typeof j.file>[0], id = 'a.txt') => {
        const own = await stream(runId, j.wrote(note, { id: 'n' }), j.wrote(kept, j.file({ id, ...over })))
        const before = await store.readRun('acme', runId)
        const [result, ...neighbours] = await Promise.all([
          store.commit(f.commit(hostId, [own])),
          ...others.map(async (other, i) => put(other, `${i}`, { id: `${i}` })),
        ])
        expect(neighbours).toEqual([COMMITTED, COMMITTED])
        if (result?.kind !== 'committed') expect(await store.readRun('acme', runId)).toEqual(before)
        return result
      }
      const conflict = { kind: 'workspace-conflict', runId, sequence: 4 }
      expect(await attempt({ ifMatch: 0 })).toEqual({ ...conflict, path: 'a.txt', currentVersion: 1 })
      expect(await attempt({ ifMatch: 7 })).toEqual({ ...conflict, path: 'a.txt', currentVersion: 1 })
      expect(await attempt({ ifMatch: 1 }, 'new.txt')).toEqual({ ...conflict, path: 'new.txt', currentVersion: 0 })
      expect(await store.entryAt('acme', 'memory', j.whole(), { ref: 'notes', id: 'n' })).toBe(undefined)
      expect(await attempt({ ifMatch: 1 })).toEqual(COMMITTED)
      expect(await tell(runId, j.wrote(null, j.file()))).toEqual(COMMITTED)
      expect(await put(runId, 'x', j.file({ ifMatch: 3 }))).toMatchObject({
        kind: 'workspace-conflict',
        currentVersion: 0,
      })
      expect(await put(runId, 'x', j.file({ ifMatch: 0 }))).toEqual(COMMITTED)
    })

    it('S15 are held against the version that is current when a gate lets them pass, by the event that does', async () => {
      const { start, put, tell, said } = await opened()
      const parent = await start({ gated: [j.gate('harvest')] })
      const child = await start({ parentRunId: parent, parentNodeId: 'n1' })
      await put(child, 'fine', j.file({ id: 'b.txt' }))
      expect(await put(child, 'held', j.file({ ifMatch: 0 }))).toEqual(COMMITTED)
      await put(await start(), 'meanwhile', j.file())
      const judging = [staged('harvest', { target: child }), judged('pass', { target: child })]
      expect(await tell(parent, ...judging)).toEqual(COMMITTED)
      const merging = harvest({ workerId: 'wf', childRunId: child })
      const expected = { kind: 'workspace-conflict', runId: parent, sequence: 4, path: 'a.txt', currentVersion: 1 }
      expect(await tell(parent, merging)).toEqual(expected)
      expect(await said({ scope: '' }, 'b.txt', 'workspace')).toBe(undefined)
      expect(await said(j.ownOf(parent, { scope: '' }), 'b.txt', 'workspace')).toBe(undefined)
    })
  })

  it('S15 S6 what one attempt wrote is found while it is held, by its own tenant, and in a branch of what it shares', async () => {
    const { store, hostId, start, put, tell } = await opened()
    const gated = [j.gate('node')]
    const runId = await start({ gated })
    const { length: first } = (await store.readRun(null, runId))!
    const events = [
      ['rejected', { since: 1 }],
      ['draft', { since: 2 }],
      ['final', { since: 2 }],
      ['elsewhere', { since: 2, nodeId: 'n2' }],
      ['another file', { since: 2, id: 'b.txt' }],
    ] as const
    for (const [text, over] of events) await put(runId, text, j.file(over))
    const attempt = { runId, nodeId: 'n1', since: 2, before: 100 }
    const found = async (over: Partial<AttemptBefore>, id = 'a.txt') => {
      const row = await store.entryOfAttempt('acme', 'workspace', { ...attempt, ...over }, { ref: '', id })
      return row?.op === 'put' ? j.textOf(store, 'acme', row) : row?.op
    }
    expect(await found({})).toBe('final')
    expect(await found({ before: first + 2 })).toBe('draft')
    expect(await found({ before: first + 1 })).toBe(undefined)
    expect(await found({ since: 1 })).toBe('rejected')
    expect(await found({ nodeId: 'n2' })).toBe('elsewhere')
    expect(await found({}, 'b.txt')).toBe('another file')
    expect(await found({}, 'none')).toBe(undefined)
    expect(await store.entryOfAttempt('other', 'workspace', attempt, { ref: '', id: 'a.txt' })).toBe(undefined)
    expect(await store.entryOfAttempt('acme', 'memory', attempt, { ref: '', id: 'a.txt' })).toBe(undefined)
    const [branch, second] = [f.id('run'), f.id('run')]
    await store.commit(f.commit(hostId, [f.fork(branch, runId, first + 2, [], { run: { gated } })]))
    expect(await found({ runId: branch })).toBe('draft')
    await put(branch, 'of the branch', j.file({ since: 2 }))
    expect(await found({ runId: branch })).toBe('of the branch')
    expect(await found({ runId: branch, before: first + 2 })).toBe('draft')
    expect(await found({ runId: branch, before: first + 1 })).toBe(undefined)
    await store.commit(f.commit(hostId, [f.fork(second, branch, first + 3, [], { run: { gated } })]))
    expect(await found({ runId: second })).toBe('of the branch')
    await tell(runId, j.wrote(null, j.file({ since: 2 })))
    expect(await found({})).toBe('forget')
    expect(await found({ runId: second })).toBe('of the branch')
  })

  it('S15 positions are dense and in order, however many write at once', async () => {
    const { store, peer } = await open()
    const stores = [store, await peer()]
    const sides = await Promise.all(stores.map(one => j.journaling(one)))
    const runs = await Promise.all(sides.flatMap(side => Array.from({ length: 6 }, () => side.start())))
    const scopes = ['s1', 's2', 's3']
    await Promise.all(
      runs.map(async (runId, i) => {
        const side = sides[i < 6 ? 0 : 1]!
        for (let n = 0; n < 5; n += 1) {
          // Several scopes in one commit, each in another order.
          const order = i % 2 === 0 ? scopes : scopes.toReversed()
          const kept = await side.keep(`${i}.${n}`)
          const events = order.map(scope => j.wrote(kept, { scope, id: n % 2 === 0 ? 'same' : runId }))
          expect(await side.tell(runId, ...events)).toEqual(COMMITTED)
        }
      }),
    )
    for (const scope of scopes) {
      expect((await store.heads('acme', scope)).memory).toBe(60)
      const at = async (upTo: number) =>
        (await store.entriesAt('acme', 'memory', j.whole({ scope, upTo }), { limit: 1 })).rows[0]?.position
      for (const upTo of [1, 17, 60]) expect(await at(upTo)).toBe(upTo)
      expect((await store.listScopes('acme', 'memory', 10)).find(one => one.scope === scope)).toMatchObject({
        entries: 13,
      })
    }
  })

  it('S6 CTI-1 J2 finds nothing of another tenant, whatever is asked by its names', async () => {
    const { store } = await open()
    const mine = await j.journaling(store)
    const theirs = await j.journaling(store, 'other')
    const runId = await theirs.start()
    await theirs.put(runId, 'secret word', { tags: ['t'] })
    await theirs.put(runId, 'secret file', j.file())
    const held = await theirs.start({ gated: [j.gate('run')] })
    await theirs.put(held, 'secret draft', { id: 'held' })
    const reach = j.whole({ runs: [runId, held].map(one => ({ runId: one, before: 100 })) })
    const row = (await store.entryAt('other', 'memory', reach, { ref: 'notes', id: 'a' }))!
    expect(row).toMatchObject({ op: 'put' })
    for (const id of ['a', 'held'])
      expect(await store.entryAt('acme', 'memory', reach, { ref: 'notes', id })).toBe(undefined)
    expect(await store.entriesAt('acme', 'memory', reach, { limit: 10 })).toEqual({ rows: [] })
    expect(await store.searchAt('acme', 'memory', reach, { words: ['secret'], limit: 10 })).toEqual([])
    expect(await store.searchAt('acme', 'memory', reach, { words: [], limit: 10, tag: 't' })).toEqual([])
    expect(await store.readContent('acme', row.contentId!)).toBe(undefined)
    expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 0, workspace: 0 })
    expect(await store.readTenantEvents('acme', 0, 10)).toEqual([])
    expect(await store.listScopes('acme', 'memory', 10)).toEqual([])
    expect(await store.countEntries('acme', 'memory', j.SCOPE)).toBe(0)
    expect(await store.horizonOf('acme', 'memory', j.SCOPE)).toBe(0)
    expect(await store.copiesOf('acme', row)).toEqual([])
    expect(await store.destroyContent('acme', 'memory', j.SCOPE, { ref: 'notes', id: 'a' })).toBe(0)
    expect(await store.readContent('other', row.contentId!)).toMatchObject({ text: 'secret word' })
    // The same names are another thing there.
    const own = await mine.start()
    await mine.put(own, 'my word')
    expect(await mine.said()).toBe('my word')
    expect(await theirs.said()).toBe('secret word')
    expect(await store.heads('acme', j.SCOPE)).toEqual({ memory: 1, workspace: 0 })
  })

  it('J3 no read changes when something expires', async () => {
    const { store, start, put, said } = await opened()
    const runId = await start()
    await put(runId, 'brief', { expiresAt: f.T0 + 50 })
    const read = () => store.entryAt('acme', 'memory', j.whole(), { ref: 'notes', id: 'a' })
    const before = await read()
    expect(before).toMatchObject({ expiresAt: f.T0 + 50 })
    await said()
    await store.searchAt('acme', 'memory', j.whole(), { words: ['brief'], limit: 1 })
    await store.entriesAt('acme', 'memory', j.whole(), { limit: 1 })
    expect(await read()).toEqual(before)
  })
}
