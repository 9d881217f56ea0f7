import pg from 'pg'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.js'
import { SQL } from '../../../src/store/postgres/statements.js'
import { startPostgres, type TestPostgres } from '../../support/postgres.js'
import * as f from './fixtures.js'
import { JOURNAL_ATTACKS, type Raw, tryAttack } from './journal-attacks.js'
import * as j from './journal-fixtures.js'

let server: TestPostgres
let url: string
const toClose: (() => Promise<void>)[] = []

beforeAll(async () => {
  server = await startPostgres({ durable: false })
})
afterAll(() => server.stop())
beforeEach(async () => {
  url = await server.createDatabase()
})
afterEach(async () => {
  for (const close of toClose.splice(0)) await close()
})

const connect = async (): Promise<pg.Client> => {
  const client = new pg.Client({ connectionString: url, options: '-c search_path=assay' })
  await client.connect()
  toClose.unshift(() => client.end())
  return client
}

async function database() {
  const store = await openPostgresStore(url)
  toClose.unshift(() => store.close())
  const db = await connect()
  const insert: Raw['insert'] = async (runId, { sequence, type, nodeId, payload, secret, at }) => {
    const columns = 'run_id, seq, type, node_id, payload, secret, at, epoch'
    const values = [runId, sequence, type, nodeId, payload, secret, at]
    await db.query(`INSERT INTO events (${columns}) VALUES ($1, $2, $3, $4, $5, $6, $7, 1)`, values)
  }
  return { db, store, insert }
}

describe('postgres: what holds S15', () => {
  it.each(JOURNAL_ATTACKS)('S15 the database itself publishes nothing of $what', async attack => {
    const { store, insert } = await database()
    expect(await tryAttack(store, { insert }, attack)).toEqual({ refused: attack.refused, published: 0 })
  })

  it('S15 a trigger makes the rows: without it there are none', async () => {
    const { db, store, insert } = await database()
    const { start, keep, said } = await j.journaling(store)
    const runId = await start()
    await insert(runId, j.wrote(await keep('made by a row'))(2))
    expect(await said()).toBe('made by a row')
    await db.query('DROP TRIGGER events_journal ON events')
    await insert(runId, j.wrote(j.content('not kept'), { id: 'b' })(3))
    expect(await said({}, 'b')).toBe(undefined)
  })

  it('S15 the database itself leaves no position out and gives none out twice', async () => {
    const { db, store } = await database()
    const { start, put } = await j.journaling(store)
    await put(await start(), 'one')
    const add = (pos: number) =>
      db.query(`INSERT INTO journal (scope_id, pos, write_id, ref, id, at)
                SELECT scope_id, ${pos}, write_id, 'r', 'i', 0 FROM journal LIMIT 1`)
    for (const pos of [0, 1, 2, 3]) await expect(add(pos), `${pos}`).rejects.toThrow()
    await db.query('DROP TRIGGER journal_dense ON journal; DROP INDEX journal_once')
    await add(3)
  })

  it('S15 scopes are locked in one order, whatever the order of writes: nobody waits in a circle', async () => {
    const { db, store } = await database()
    const { start, keep, tell } = await j.journaling(store)
    const runId = await start()
    const { rows } = await db.query(
      `SELECT s, scope_lock('acme', 'memory', s)::text AS k FROM unnest(ARRAY['s1', 's2']) s
        ORDER BY scope_lock('acme', 'memory', s)`,
    )
    const [low, high] = rows as { s: string; k: string }[]
    await db.query('BEGIN')
    await db.query('SELECT pg_advisory_xact_lock($1)', [low?.k])
    let isDone = false
    const kept = await keep('x')
    const writing = tell(runId, j.wrote(kept, { scope: high!.s }), j.wrote(kept, { scope: low!.s })).then(result => {
      isDone = true
      return result
    })
    const other = await connect()
    const waits = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`
    await f.eventually('the commit waits', async () => (await other.query(waits)).rows.length > 0)
    // It waits for the first of them, and has not taken the second.
    expect((await other.query('SELECT pg_try_advisory_lock($1) AS free', [high?.k])).rows).toEqual([{ free: true }])
    await other.query('SELECT pg_advisory_unlock($1)', [high?.k])
    expect(isDone).toBe(false)
    await db.query('COMMIT')
    expect(await writing).toEqual({ kind: 'committed' })
    for (const scope of ['s1', 's2']) expect((await store.heads('acme', scope)).memory).toBe(1)
  })

  it('S15 a harvest locks the scopes of what it lets in beforehand, too', async () => {
    const { db, store } = await database()
    const { start, put, tell } = await j.journaling(store)
    const parent = await start({
      gated: [j.gate('run', { gateId: 'unused', point: 'tool', nodeId: 'x', workerId: 't' })],
    })
    const child = await start({ parentRunId: parent, parentNodeId: 'n1' })
    await put(child, 'one', { scope: 's1' })
    await db.query('BEGIN')
    await db.query(`SELECT pg_advisory_xact_lock(scope_lock('acme', 'memory', 's1'))`)
    const writing = tell(parent, j.chained('child.completed', child))
    const waits = `SELECT 1 FROM pg_locks WHERE locktype = 'advisory' AND NOT granted`
    const other = await connect()
    await f.eventually('the commit waits', async () => (await other.query(waits)).rows.length > 0)
    await db.query('COMMIT')
    expect(await writing).toEqual({ kind: 'committed' })
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
      const { rows } = await db.query('SELECT word, span, pos FROM journal_words ORDER BY word, span, pos')
      return rows.map(({ word, span, pos }) => `${word} ${span} ${pos}`)
    }
    const latest = ['#t 0 4', 'new 0 3', 'words 0 3']
    expect(await words()).toEqual([...latest, '#t 1 2', 'old 1 1', 'words 1 1'].sort())
    expect(await store.collectJournal(f.T0 + 1000, 1)).toBe(1)
    expect(await words()).toEqual([...latest, '#t 1 2'].sort())
    for (const id of ['a', 'b']) await store.destroyContent('acme', 'memory', j.SCOPE, { ref: 'notes', id })
    expect(await words()).toEqual([])
  })

  it('reads in indexes: no read scans a table of the journal', async () => {
    const { db, store } = await database()
    const { start, keep, tell } = await j.journaling(store)
    const runId = await start()
    const kept = await keep('words to find')
    for (let i = 0; i < 20; i += 1)
      await tell(runId, ...Array.from({ length: 100 }, (_, n) => j.wrote(kept, { id: `${i}-${n % 50}` })))
    await db.query('ANALYZE')
    const at = ["'acme'", "'memory'", `'${j.SCOPE}'`, '1900']
    const plan = async ({ text }: { text: string }, ...values: string[]) => {
      const filled = [...at, ...values].reduceRight((query, value, i) => query.replaceAll(`$${i + 1}`, value), text)
      return (await db.query(`EXPLAIN ${filled}`)).rows.map(row => String(row['QUERY PLAN'])).join('\n')
    }
    const runs = `'[{"runId":"${runId}","before":3}]'`
    const plans = {
      own: await plan(SQL.ownEntries, runs, 'NULL', 'NULL'),
      published: await plan(SQL.publishedEntry, "'notes'", "'3-4'"),
      listed: await plan(SQL.listEntries, '1500', 'NULL', 'NULL', 'NULL', '10'),
      ofRef: await plan(SQL.listEntriesOfRef, '1500', "'notes'", 'NULL', 'NULL', '10'),
      ofPrefix: await plan(SQL.listEntriesOfPrefix, '1500', "'notes'", "'3-'", 'NULL', '10'),
    }
    for (const [name, text] of Object.entries(plans))
      expect(text, name).not.toMatch(/Seq Scan on journal(_writes|_layers)?\b/)
    expect(plans.listed).toMatch(/journal_spans/)
    expect(plans.ofRef).toMatch(/journal_(ref_)?spans/)
    expect(plans.ofPrefix).toMatch(/journal_keys/)
    expect(plans.published).toMatch(/journal_keys/)
    await db.query('SET enable_seqscan = off')
    expect(await plan(SQL.matchEntries, `'{rare}'`, 'NULL', 'NULL', '10')).toMatch(/journal_words_pkey/)
  })
})
