import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, describe, expect, test } from 'vitest'
import { BatchWriter } from './batch-writer.js'
import { Connection } from './connection.js'
import { prepareDatabase } from './database-file.js'
import { openDatabase } from './driver.js'
import { MIGRATIONS } from './migrations/index.js'
import { SQL } from './statements.js'

const folders: string[] = []
const freshPath = (): string => {
  const folder = mkdtempSync(join(tmpdir(), 'assay-schema-'))
  folders.push(folder)
  return join(folder, 'assay.db')
}
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true })
})

const migrated = (): string => {
  const path = freshPath()
  prepareDatabase(path)
  return path
}

/** Made without a prepared statement, which would keep the file open, and what it holds in its log, for a while. */
function made(...sql: string[]): string {
  const path = freshPath()
  const db = openDatabase(path, 0)
  db.exec(`PRAGMA journal_mode = WAL; ${sql.join(';')}`)
  db.close()
  expect(readdirSync(dirname(path))).toEqual(['assay.db'])
  return path
}

/** The names of steps that there were before the baseline. */
const STEPS = [
  'initial',
  'forks, deliveries and checkpoints',
  'latest children',
  'answers',
  'gates',
  'salts',
  'merged-results',
  'purges',
  'tool-gates',
  'usage',
  'erasures',
]

const older = (steps: number): string =>
  made(
    `CREATE TABLE migrations (
       version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at TEXT NOT NULL DEFAULT CURRENT_TIMESTAMP)`,
    `CREATE TABLE runs (run_id TEXT PRIMARY KEY) WITHOUT ROWID`,
    `INSERT INTO runs VALUES ('dear')`,
    ...STEPS.slice(0, steps).map((name, i) => `INSERT INTO migrations (version, name) VALUES (${i + 1}, '${name}')`),
  )

const newer = (): string =>
  made(
    ...MIGRATIONS.map(({ sql }) => sql),
    ...[...MIGRATIONS, { version: 999, name: 'from-the-future' }].map(
      ({ version, name }) => `INSERT INTO migrations (version, name) VALUES (${version}, '${name}')`,
    ),
  )

/** That nothing is written, to the file or to the log that is beside it while it is open. */
function expectRefused(path: string, message: string): void {
  const before = readFileSync(path)
  expect(() => prepareDatabase(path)).toThrow(message)
  expect(readFileSync(path).equals(before)).toBe(true)
  expect(statSync(`${path}-wal`, { throwIfNoEntry: false })?.size ?? 0).toBe(0)
}

describe('the schema', () => {
  test('is what schema.sql says', async () => {
    const db = new Connection(migrated(), 0, [])
    const things = db.all(`SELECT sql FROM sqlite_schema WHERE sql IS NOT NULL
                            ORDER BY tbl_name, type NOT IN ('table', 'view'), type, name`)
    db.close()
    const dump = [
      '-- Generated: what SQLite says of a database after all migrations. To write it anew:\n' +
        '-- npx vitest run --project unit src/store/sqlite/schema.test.ts --update',
      ...things.map(({ sql }) => `${sql};`),
    ]
    await expect(`${dump.join('\n\n')}\n`).toMatchFileSnapshot('./schema.sql')
  })

  test('its steps are numbered from 1 without a gap, and each is taken once', () => {
    expect(MIGRATIONS.map(({ version }) => version)).toEqual(MIGRATIONS.map((_, i) => i + 1))
    expect(MIGRATIONS[0]?.name).toBe('baseline')
    const path = migrated()
    prepareDatabase(path)
    const db = new Connection(path, 0, [])
    expect(db.all(SQL.migrations.list)).toEqual(MIGRATIONS.map(({ version, name }) => ({ version, name })))
    db.close()
  })
})

describe('a database of another version', () => {
  test.each([1, 6, 11])('of before the baseline, at step %i, is refused with what to do, and left as it is', steps => {
    const path = older(steps)
    expectRefused(
      path,
      `${path} was written before the first release of Assay (its schema begins with "initial" and has come to ` +
        `version ${steps}) and cannot be upgraded; nothing in it was changed. Start the Assay that wrote it, or begin ` +
        'with an empty database: move this one away, or name another with --data or --database.',
    )
  })

  test('that is newer is refused, and left as it is', () => {
    const path = newer()
    expectRefused(
      path,
      `${path} has schema version 999, but this version of Assay knows only up to ${MIGRATIONS.at(-1)?.version}. ` +
        'Start the version of Assay that wrote it, or a newer one.',
    )
  })

  test.each([
    ['older', () => older(MIGRATIONS.length)],
    ['newer', newer],
    ['empty', () => made()],
  ])('that is %s is never written to, should it come into the place of ours', (_, make) => {
    const writer = new BatchWriter({ path: make(), maxBytes: null })
    expect(writer.run([['probe', null]]).failures).toEqual([
      { index: 0, kind: 'unavailable', message: expect.stringContaining('has not the expected schema') },
    ])
    writer.close()
  })
})

describe('statements', () => {
  const named = Object.entries(SQL).flatMap(([subject, statements]) =>
    Object.entries(statements).map(([name, sql]) => ({ name: `${subject}.${name}`, sql })),
  )

  test('all can be prepared, in a database as it is after the migrations', () => {
    const db = openDatabase(migrated(), 0)
    const refused = named.flatMap(({ name, sql }) => {
      try {
        db.prepare(sql)
        return []
      } catch (error) {
        return [`${name}: ${(error as Error).message}`]
      }
    })
    db.close()
    expect(refused).toEqual([])
    expect(named.length).toBeGreaterThan(100)
  })

  test('every file of statements is read', () => {
    const files = readdirSync(new URL('./sql/', import.meta.url)).map(file => file.replace(/\.sql$/, ''))
    expect(files.sort()).toEqual(Object.keys(SQL).sort())
  })
})
