import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, describe, expect, it } from 'vitest'
import { UnverifiedMerge } from '../../../src/engine/ports/event-log.js'
import { Connection } from '../../../src/store/sqlite/connection.js'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.js'
import * as f from './fixtures.js'
import * as g from './gate-fixtures.js'
import { MERGE_ATTACKS } from './merge-attacks.js'

const folders: string[] = []
const toClose: { close(): unknown }[] = []

afterEach(async () => {
  for (const one of toClose.splice(0)) await one.close()
})
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true })
})

/** A database whose schema `change` has had its hands on, and a store on it. */
async function database(change: (db: Connection) => void = () => undefined) {
  const folder = await mkdtemp(join(tmpdir(), 'assay-sqlite-'))
  folders.push(folder)
  const path = join(folder, 'assay.db')
  await (await openSqliteStore(path)).close()
  const db = new Connection(path, 0, [])
  change(db)
  const store = await openSqliteStore(path)
  toClose.push(db, store)
  return { db, store, hostId: await f.host(store) }
}

/** The table of merges, without something. */
const mergesWithout =
  (...pieces: RegExp[]) =>
  (db: Connection) => {
    const { sql } = db.get(`SELECT sql FROM sqlite_schema WHERE name = 'merges'`)!
    let changed = String(sql)
    for (const piece of pieces) {
      expect(changed).toMatch(piece)
      changed = changed.replace(piece, '')
    }
    const triggers = db.all(`SELECT sql FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'merges'`)
    db.exec(`DROP TABLE merges; ${changed}; ${triggers.map(trigger => String(trigger.sql)).join(';')}`)
  }

describe('sqlite: what holds S10', () => {
  const stage = g.staged('node')
  const sabotages: { what: string; change: (db: Connection) => void; attack: g.Loose[] }[] = [
    {
      what: 'the trigger on events',
      change: db => db.exec('DROP TRIGGER events_gates'),
      attack: [g.merge('node')],
    },
    {
      what: 'NOT NULL',
      change: mergesWithout(
        /(?<=verdict_seq INTEGER) NOT NULL/,
        /(?<=verdict +TEXT) NOT NULL/,
        /(?<=label +TEXT) NOT NULL/,
      ),
      attack: [stage, g.merge('node')],
    },
    {
      what: 'the check for a pass',
      change: mergesWithout(/CONSTRAINT merges_pass CHECK \(.*\),/),
      attack: [stage, g.judged('fail'), g.merge('node')],
    },
    {
      what: 'the check of the order',
      change: mergesWithout(/CONSTRAINT merges_order CHECK \(.*\),/),
      attack: [g.judged('pass'), stage, g.merge('node')],
    },
    {
      what: 'the primary key',
      change: mergesWithout(/PRIMARY KEY \(.*\),/, / WITHOUT ROWID/),
      attack: [stage, g.judged('pass'), g.merge('node'), g.merge('node')],
    },
  ]

  it.each(sabotages)('S10 $what: with it an attack is refused, without it the same attack succeeds', async one => {
    const whole = await database()
    const refused = await g.gatedRun(whole.store, whole.hostId, [g.gatedPoint('node')])
    await expect(refused.together(...one.attack)).rejects.toBeInstanceOf(UnverifiedMerge)
    const broken = await database(one.change)
    const merged = await g.gatedRun(broken.store, broken.hostId, [g.gatedPoint('node')])
    expect(await merged.together(...one.attack)).toEqual({ kind: 'committed' })
  })

  const gone: Record<string, (db: Connection) => void> = {
    merges_hash: mergesWithout(/CONSTRAINT merges_hash CHECK \(.*\),/),
    merges_coverage: mergesWithout(/CONSTRAINT merges_coverage CHECK \([^;]*?\)\),/),
    merges_one_hash: db => db.exec('DROP TRIGGER merges_one_hash'),
    goal: db => db.exec('DROP TRIGGER events_goal'),
    writes: db => db.exec('DROP TRIGGER events_writes'),
    artifacts: db => db.exec('DROP TRIGGER events_artifacts'),
    tools: db => db.exec('DROP TRIGGER events_tools'),
  }

  it.each(Object.entries(gone))('S10 %s alone refuses its attacks: without it they succeed', async (name, change) => {
    const broken = await database(change)
    const attacks = MERGE_ATTACKS.filter(({ constraint }) => constraint === name)
    expect(attacks).not.toEqual([])
    for (const { what, gated, log } of attacks) {
      const run = await g.gatedRun(broken.store, broken.hostId, gated)
      expect(await run.together(...log), what).toEqual({ kind: 'committed' })
    }
    for (const { what, gated, log } of MERGE_ATTACKS.filter(({ constraint }) => constraint !== name)) {
      const run = await g.gatedRun(broken.store, broken.hostId, gated)
      await expect(run.together(...log), what).rejects.toBeInstanceOf(UnverifiedMerge)
    }
  })

  it('S10 the database itself refuses it, past the store, and a merge that is made up', async () => {
    const { db, store, hostId } = await database()
    const { runId, together } = await g.gatedRun(store, hostId, [g.gatedPoint('node')])
    const insert = (seq: number) =>
      db.exec(`INSERT INTO events (run_id, seq, type, node_id, payload, secret, at, epoch)
               VALUES ('${runId}', ${seq}, 'node.completed', 'n1', '{}', '{"resultHash":"h"}', 0, 1)`)
    const invent = (stagedSeq: number, verdictSeq: number, hash: string, label = 'verified') =>
      db.exec(`INSERT INTO merges (run_id, seq, gate_id, staged_seq, target, result_hash, verdict_seq, verdict, label)
               VALUES ('${runId}', 9, 'g', ${stagedSeq}, 't', '${hash}', ${verdictSeq}, 'pass', '${label}')`)
    expect(() => insert(2)).toThrow(/NOT NULL constraint failed: merges.staged_seq/)
    expect(() => invent(2, 3, 'h')).toThrow(/FOREIGN KEY/)
    await together(g.staged('node'), g.judged('fail'))
    expect(() => insert(4)).toThrow(/CHECK constraint failed: merges_pass/)
    expect(() => invent(2, 3, 'h')).toThrow(/FOREIGN KEY/)
    await together(g.judged('pass'))
    expect(() => invent(2, 4, 'another')).toThrow(/FOREIGN KEY/)
    expect(() => invent(2, 4, 'h', 'conditional')).toThrow(/FOREIGN KEY/)
    insert(5)
    expect(() => insert(6)).toThrow(/UNIQUE constraint failed: merges/)
    expect(() => db.exec(`DELETE FROM verdicts WHERE verdict = 'pass'`)).toThrow(/FOREIGN KEY/)
    expect(() => db.exec(`UPDATE verdicts SET result_hash = 'other'`)).toThrow(/FOREIGN KEY/)
  })

  it('finds stagings in an index', async () => {
    const { db } = await database()
    const sql = `SELECT max(seq) FROM staged WHERE run_id = 'r' AND gate_id = 'g' AND point = 'run' AND place = ''`
    expect(String(db.get(`EXPLAIN QUERY PLAN ${sql}`)?.detail)).toContain(
      'staged_places (run_id=? AND gate_id=? AND point=? AND place=?)',
    )
  })
})
