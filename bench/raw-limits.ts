import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { openDatabase } from '../src/store/sqlite/driver.js'

const PAYLOAD = JSON.stringify({ nodeId: 'a', outputs: {} })

/** What SQLite gives with full sync and nothing around it: commits of one row, and rows in commits of a hundred. */
export function rawSqlite(seconds: number): { commitsPerSecond: number; rowsPerSecond: number } {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'assay-raw-'))
  const database = openDatabase(path.join(folder, 'raw.db'), 0)
  database.exec('PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL')
  database.exec(
    'CREATE TABLE events (run TEXT, seq INTEGER, type TEXT, payload TEXT, at INTEGER, PRIMARY KEY (run, seq)) WITHOUT ROWID',
  )
  const insert = database.prepare('INSERT INTO events VALUES (?, ?, ?, ?, ?)')
  let count = 0
  const write = () => {
    count += 1
    insert.run(`run-${Math.floor(count / 4)}`, count % 4, 'node.completed', PAYLOAD, count)
  }
  const singles = rate(seconds, write)
  const hundreds = rate(seconds, () => {
    database.exec('BEGIN IMMEDIATE')
    for (let i = 0; i < 100; i += 1) write()
    database.exec('COMMIT')
  })
  database.close()
  rmSync(folder, { recursive: true })
  return { commitsPerSecond: Math.round(singles), rowsPerSecond: Math.round(hundreds * 100) }
}

/** What PostgreSQL gives: commits of one row, by one client and by sixteen. */
export async function rawPostgres(url: string, seconds: number): Promise<{ one: number; sixteen: number }> {
  const admin = new pg.Client({ connectionString: url })
  await admin.connect()
  await admin.query(
    'CREATE TABLE IF NOT EXISTS raw (run TEXT, seq INT, type TEXT, payload TEXT, at BIGINT, PRIMARY KEY (run, seq))',
  )
  await admin.end()
  const clients = async (count: number) => {
    let commits = 0
    const end = performance.now() + seconds * 1000
    const work = async (name: number) => {
      const client = new pg.Client({ connectionString: url })
      await client.connect()
      for (let i = 0; performance.now() < end; i += 1) {
        await client.query({
          name: 'raw',
          text: 'INSERT INTO raw VALUES ($1, $2, $3, $4, $5)',
          values: [`${count}-${name}-${i}`, 0, 'x', PAYLOAD, i],
        })
        commits += 1
      }
      await client.end()
    }
    await Promise.all(Array.from({ length: count }, (_, name) => work(name)))
    return Math.round(commits / seconds)
  }
  return { one: await clients(1), sixteen: await clients(16) }
}

function rate(seconds: number, step: () => void): number {
  const began = performance.now()
  let steps = 0
  for (; performance.now() - began < seconds * 1000; steps += 1) step()
  return (steps * 1000) / (performance.now() - began)
}

const TABLES = ['runs', 'events', 'prefixes', 'snapshots'] as const

/** Rows that runs and their logs take up. */
export async function rowsIn(kind: 'SQLite' | 'PostgreSQL', database: string): Promise<number> {
  const schema = kind === 'SQLite' ? 'main' : 'assay'
  const count = `SELECT ${TABLES.map(table => `(SELECT count(*) FROM ${schema}.${table})`).join(' + ')} AS n`
  if (kind === 'SQLite') {
    const file = openDatabase(database.slice('sqlite:'.length), 1_000)
    const row = file.prepare(count).get() as { n: number }
    file.close()
    return row.n
  }
  const client = new pg.Client({ connectionString: database })
  await client.connect()
  const { rows } = await client.query(count)
  await client.end()
  return Number(rows[0].n)
}
