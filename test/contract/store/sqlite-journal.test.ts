import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { Connection } from '../../../src/store/sqlite/connection.js'
import { Reader } from '../../../src/store/sqlite/reader.js'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.js'
import { SQL } from '../../../src/store/sqlite/statements.js'
import * as f from './fixtures.js'
import { JOURNAL_ATTACKS, type Raw, tryAttack } from './journal-attacks.js'
import * as j from './journal-fixtures.js'

const folders: string[] = []
const toClose: { close(): unknown }[] = []

afterEach(async () => {
  for (const one of toClose.splice(0)) await one.close()
})
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true })
})

async function database() {
  const folder = await mkdtemp(join(tmpdir(), 'assay-sqlite-'))
  folders.push(folder)
  const path = join(folder, 'assay.db')
  const store = await openSqliteStore(path)
  const db = new Connection(path, 0, [])
  toClose.push(db, store)
  const insert: Raw['insert'] = async (runId, { sequence, type, nodeId, payload, secret, at }) => {
    const columns = 'run_id, seq, type, node_id, payload, secret, at, epoch'
    db.run(
      `INSERT INTO events (${columns}) VALUES (?, ?, ?, ?, ?, ?, ?, 1)`,
      runId,
      sequence,
      type,
      nodeId,
      payload,
      secret,
      at,
    )
  }
  return { db, store, insert }
}

describe('sqlite: what holds S15', () => {
  it.each(JOURNAL_ATTACKS)('S15 the database itself publishes nothing of $what', async attack => {
    const { store, insert } = await database()
    expect(await tryAttack(store, { insert }, attack)).toEqual({ refused: attack.refused, published: 0 })
  })

  it('S15 triggers make the rows: without them there are none', async () => {
    const { db, store, insert } = await database()
    const { start, keep, said } = await j.journaling(store)
    const runId = await start()
    await insert(runId, j.wrote(await keep('made by a row'))(2))
    expect(await said()).toBe('made by a row')
    db.exec('DROP TRIGGER events_journal')
    await insert(runId, j.wrote(j.content('not kept'), { id: 'b' })(3))
    expect(await said({}, 'b')).toBe(undefined)
  })

  it('S15 the database itself leaves no position out and gives none out twice', async () => {
    const { db, store } = await database()
    const { start, put } = await j.journaling(store)
    await put(await start(), 'one')
    const add = (pos: number) =>
      db.exec(
        `INSERT INTO journal (scope_id, pos, write_id, ref, id, at) SELECT scope_id, ${pos}, 1, 'r', 'i', 0 FROM journal`,
      )
    for (const pos of [0, 1, 2, 3]) expect(() => add(pos), `${pos}`).toThrow()
    db.exec('DROP TRIGGER journal_dense; DROP INDEX journal_once')
    add(3)
  })

  it('S14 leaves nothing of destroyed words in the file', async () => {
    const { db, store } = await database()
    const { start, put } = await j.journaling(store)
    await put(await start(), 'unspeakable words')
    expect(await store.destroyContent('acme', 'memory', j.SCOPE, { ref: 'notes', id: 'a' })).toBe(1)
    expect(db.get('SELECT count(*) AS n FROM journal_words')).toEqual({ n: 0 })
    expect(db.get('SELECT count(*) AS n FROM journal_contents')).toEqual({ n: 0 })
  })

  it('S14 words go with their row, when it is superseded and when it is gone', async () => {
    const { db, store } = await database()
    const { start, put, keep, tell } = await j.journaling(store)
    const runId = await start()
    const tagged = async () => j.wrote(await keep('', { text: null }), { id: 'b', tags: ['T'] })
    await put(runId, 'old words')
    await tell(runId, await tagged())
    await put(runId, 'new words')
    await tell(runId, await tagged())
    const words = async () => {
      const rows = db.all('SELECT word, span, pos FROM journal_words ORDER BY word, span, pos')
      return rows.map(({ word, span, pos }) => `${word} ${span} ${pos}`)
    }
    const latest = ['#t 0 4', 'new 0 3', 'words 0 3']
    expect(await words()).toEqual([...latest, '#t 1 2', 'old 1 1', 'words 1 1'].sort())
    expect(await store.collectJournal(f.T0 + 1000, 1)).toBe(1)
    expect(await words()).toEqual([...latest, '#t 1 2'].sort())
    for (const id of ['a', 'b']) await store.destroyContent('acme', 'memory', j.SCOPE, { ref: 'notes', id })
    expect(await words()).toEqual([])
  })

  it('J1 the parts of one answer are read from one state, whatever is written in between', async () => {
    const { db, store } = await database()
    const { start, put } = await j.journaling(store)
    const runId = await start()
    await put(runId, 'one')
    const file = db.get('PRAGMA database_list')?.file
    const reader = new Reader(String(file))
    toClose.push(reader)
    const until = () => reader.get('SELECT until FROM journal WHERE pos = 1')?.until
    const write = () => db.exec(`UPDATE journal SET until = coalesce(until, 1) + 1, span = 1 WHERE pos = 1`)
    expect(reader.together(() => [until(), write(), until()])).toEqual([null, undefined, null])
    expect([until(), write(), until()]).toEqual([2, undefined, 3])
  })

  const READS = [
    'head',
    'own',
    'ownOfKey',
    'published',
    'listed',
    'listedOfRef',
    'beginningSo',
    'listedOfPrefix',
    'rarest',
    'matching',
    'copies',
  ] as const

  it.each(READS)('finds %s in indexes, and scans no table of the journal', async name => {
    const { db } = await database()
    const steps = db.all(`EXPLAIN QUERY PLAN ${SQL.journal[name]}`).map(({ detail }) => String(detail))
    expect(steps.filter(step => /^SCAN (?!r\b|keys\b|json_each|v\b|\(|CONSTANT)/.test(step))).toEqual([])
    if (name === 'listed')
      expect(steps.join('\n')).toMatch(/INDEX journal_spans \(scope_id=\? AND span=\? AND pos>\? AND pos<\?\)/)
    if (name === 'listedOfRef')
      expect(steps.join('\n')).toMatch(/INDEX journal_ref_spans \(scope_id=\? AND ref=\? AND span=\? AND pos>\?/)
    if (name === 'published')
      expect(steps.join('\n')).toMatch(/journal_keys \(scope_id=\? AND ref=\? AND id=\? AND pos<\?\)/)
    if (name === 'matching')
      expect(steps.join('\n')).toMatch(/SEARCH f USING PRIMARY KEY \(scope_id=\? AND word=\? AND span=\? AND pos>\?/)
  })
})
