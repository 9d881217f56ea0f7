import pg from 'pg'
import { stepsFrom } from '../migration.js'
import { clientConfig, type Settings } from './connections.js'
import { MIGRATIONS } from './migrations/index.js'

/** Creates the schema if it is absent and applies the missing migrations, in one transaction; hosts take turns. */
export async function migrate(settings: Settings): Promise<void> {
  const client = new pg.Client({ ...clientConfig(settings), statement_timeout: 0, lock_timeout: 0, query_timeout: 0 })
  await client.connect()
  try {
    await client.query('BEGIN')
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`assay.migrate.${settings.schema}`])
    await createSchema(client, settings.schema)
    for (const { version, name, sql } of stepsFrom(await appliedVersion(client), MIGRATIONS, 'the database')) {
      await client.query(sql)
      await client.query('INSERT INTO migrations (version, name) VALUES ($1, $2)', [version, name])
    }
    await client.query('COMMIT')
  } finally {
    // Ends the transaction too, if something went wrong.
    await client.end()
  }
}

async function createSchema(client: pg.Client, schema: string): Promise<void> {
  // CREATE SCHEMA asks for the right to create one even if it is there.
  const { rowCount } = await client.query('SELECT 1 FROM pg_namespace WHERE nspname = $1', [schema])
  if (rowCount === 0) await client.query(`CREATE SCHEMA ${client.escapeIdentifier(schema)}`)
  await client.query(`CREATE TABLE IF NOT EXISTS migrations (
    version integer PRIMARY KEY, name text NOT NULL, applied_at timestamptz NOT NULL DEFAULT clock_timestamp())`)
}

async function appliedVersion(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ version: number }>(
    'SELECT coalesce(max(version), 0) AS version FROM migrations',
  )
  return rows[0]!.version
}
