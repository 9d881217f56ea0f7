import { readdirSync, readFileSync } from 'node:fs'
import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { MIGRATIONS } from '../../../src/store/postgres/migrations/index.js'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.js'
import { HINTS, MIGRATE, PROBE, SQL } from '../../../src/store/postgres/statements.js'
import { startPostgres, type TestPostgres } from '../../support/postgres.js'
import { schemaOf } from '../../support/postgres-schema.js'

const FOLDER = new URL('../../../src/store/postgres/', import.meta.url)

const HEAD = `-- The schema after all migrations, as the catalogs tell it. Written by:
-- npx vitest run --project system test/contract/store/postgres-schema.test.ts --update

`

let server: TestPostgres
let url: string

beforeAll(async () => {
  server = await startPostgres({ durable: false })
})

afterAll(() => server.stop())

beforeEach(async () => {
  url = await server.createDatabase()
})

const migrate = async (): Promise<void> => (await openPostgresStore(url)).close()

const inDatabase = async <T>(use: (client: pg.Client) => Promise<T>): Promise<T> => {
  const client = new pg.Client({ connectionString: url, options: '-c search_path=assay' })
  await client.connect()
  try {
    return await use(client)
  } finally {
    await client.end()
  }
}
const sql = (text: string) => inDatabase(async client => (await client.query(text)).rows)

describe('the schema', () => {
  it('is what schema.sql says', async () => {
    await migrate()
    await expect(HEAD + (await schemaOf(url))).toMatchFileSnapshot(new URL('schema.sql', FOLDER).pathname)
  })

  it('comes about by numbered steps without a gap, the first of which is the baseline', () => {
    expect(MIGRATIONS.map(({ version }) => version)).toEqual(MIGRATIONS.map((_, i) => i + 1))
    expect(MIGRATIONS[0]).toMatchObject({ version: 1, name: 'baseline' })
  })

  /** Everything there is, rows with their places and transactions included: a row that was written anew has others. */
  const everything = async () => {
    const migrations = await sql('SELECT ctid, xmin, * FROM migrations ORDER BY version')
    return { schema: await schemaOf(url), migrations }
  }

  it.each([
    [1, ['tables']],
    [3, ['tables', 'commit', 'hosts']],
    [18, ['tables', 'commit', ...Array.from({ length: 16 }, (_, i) => `step-${i + 3}`)]],
  ])('of before the baseline, at version %i, is refused, and stays as it was', async (version, names) => {
    await sql('CREATE SCHEMA assay')
    await sql(MIGRATE.createMigrations)
    await sql('CREATE TABLE runs (run_id text PRIMARY KEY)')
    await sql(`CREATE FUNCTION unpinned() RETURNS integer LANGUAGE sql AS 'SELECT 1'`)
    for (const [i, name] of names.entries())
      await sql(`INSERT INTO migrations (version, name) VALUES (${i + 1}, '${name}')`)
    const before = await everything()
    const refused = openPostgresStore(url)
    await expect(refused).rejects.toThrow(/^the schema "assay" of the database was written before the first release/)
    await expect(refused).rejects.toThrow(`its schema begins with "tables" and has come to version ${version}`)
    await expect(refused).rejects.toThrow(
      /cannot be upgraded; nothing in it was changed. Start the Assay that wrote it, or /,
    )
    await expect(refused).rejects.toThrow(/name another with .*--database/)
    expect(await everything()).toEqual(before)
    await (await openPostgresStore(url, { schema: 'another' })).close()
  })

  it('of a newer Assay is refused, and stays as it was', async () => {
    await migrate()
    await sql(`INSERT INTO migrations (version, name) VALUES (999, 'from the future')`)
    await sql('ALTER FUNCTION commit_batch RESET search_path')
    const before = await everything()
    await expect(openPostgresStore(url)).rejects.toThrow(
      `the database has schema version 999, but this version of Assay knows only up to ${MIGRATIONS.at(-1)?.version}. ` +
        'Start the version of Assay that wrote it, or a newer one.',
    )
    expect(await everything()).toEqual(before)
  })
})

describe('the statements', () => {
  const pooled = Object.entries(SQL).map(([name, { text }]) => [name, text] as const)
  const statements = [...pooled, ...[MIGRATE, PROBE, HINTS].flatMap(file => Object.entries(file))]

  it('are all that stand in the files', () => {
    const sqlFolder = new URL('sql/', FOLDER)
    const files = readdirSync(sqlFolder).map(file => readFileSync(new URL(file, sqlFolder), 'utf8'))
    const names = files.flatMap(text => [...text.matchAll(/^-- name: (\w+)$/gm)].map(([, name]) => name))
    expect(statements.map(([name]) => name).sort()).toEqual(names.sort())
  })

  it('can each be prepared in the migrated schema; what cannot be prepared, runs', async () => {
    await migrate()
    const commands: string[] = []
    await inDatabase(async client => {
      for (const [name, text] of statements) {
        const isCommand = /^(DO|CREATE)\b/.test(text)
        if (isCommand) commands.push(name)
        await client.query(isCommand ? text : `PREPARE "${name}" AS ${text}`).catch((error: Error) => {
          throw new Error(`${name}: ${error.message}`)
        })
      }
    })
    expect(commands).toEqual(['createSchema', 'createMigrations', 'pinFunctions', 'insertOrphan'])
  })
})
