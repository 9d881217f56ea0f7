import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { Connection } from '../../../src/store/sqlite/connection.js'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.js'
import { trailRecord } from './contract/trail.js'

const folders: string[] = []
afterAll(async () => {
  for (const folder of folders) await rm(folder, { recursive: true })
})

/** A database with two records of one tenant, as whoever opens its file sees it. */
async function database(without?: string): Promise<Connection> {
  const folder = await mkdtemp(join(tmpdir(), 'assay-trail-'))
  folders.push(folder)
  const path = join(folder, 'assay.db')
  const store = await openSqliteStore(path)
  for (const seq of [1, 2]) await store.appendTrail(trailRecord('acme', seq))
  await store.close()
  const db = new Connection(path, 0, [])
  if (without !== undefined) db.exec(`DROP TRIGGER ${without}`)
  return db
}

const INSERT = 'INSERT INTO trail (tenant, seq, at, principal, credential, action, object, outcome, previous, hash)'

/** What somebody with the file may try, and the constraint that stands in the way. */
const ATTACKS: readonly (readonly [trigger: string, sql: string])[] = [
  ['trail_unchanged', `UPDATE trail SET outcome = 'refused' WHERE seq = 1`],
  ['trail_kept', 'DELETE FROM trail WHERE seq = 2'],
  ['trail_chained', `${INSERT} VALUES ('acme', 4, 1, 'a', 'k', 'x', '-', 'allowed', 'hash-2', 'h')`],
  ['trail_chained', `${INSERT} VALUES ('acme', 3, 1, 'a', 'k', 'x', '-', 'allowed', 'hash-1', 'h')`],
]

describe('S17: the audit trail in the file of a database', () => {
  it.each(ATTACKS)('%s refuses %s', async (trigger, sql) => {
    const db = await database()
    expect(() => db.exec(sql)).toThrow(trigger)
    db.close()
  })

  it.each(ATTACKS)('and nothing else does: without %s it is done: %s', async (trigger, sql) => {
    const db = await database(trigger)
    expect(() => db.exec(sql)).not.toThrow()
    db.close()
  })
})
