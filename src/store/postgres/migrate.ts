import pg from 'pg'
import { stepsFrom } from '../migration.js'
import { clientConfig, directConfig, type Settings } from './connections.js'
import { MIGRATIONS } from './migrations/index.js'
import { NOT_POSTGRES } from './probe.js'

/**
 * Creates the schema if it is absent and applies the missing migrations, in one transaction; hosts take turns. Whatever
 * the connection is told holds for this transaction only, so it may be a pooler's.
 */
export async function migrate(settings: Settings): Promise<void> {
  const { schema } = settings
  const client = new pg.Client({ ...(directConfig(settings) ?? clientConfig(settings)), query_timeout: 0 })
  await client.connect()
  try {
    await client.query(`BEGIN; SET LOCAL search_path = ${schema}; SET LOCAL synchronous_commit = on;
      SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0`)
    await client.query('SELECT pg_advisory_xact_lock(hashtextextended($1, 0))', [`assay.migrate.${schema}`])
    await createSchema(client, schema)
    for (const { version, name, sql } of stepsFrom(await appliedVersion(client), MIGRATIONS, 'the database')) {
      await client.query(sql).catch(refuseStep)
      await client.query('INSERT INTO migrations (version, name) VALUES ($1, $2)', [version, name])
    }
    await pinFunctions(client, schema)
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

/**
 * The texts of the steps name things without their schema. So every function looks for them in its own schema, whatever
 * the connection's search path: triggers too. Immutable ones name nothing but what is built in, and are left as they
 * are, so that they can be inlined. A function that a step defines anew loses its setting, so this comes after each.
 */
async function pinFunctions(client: pg.Client, schema: string): Promise<void> {
  const { rows } = await client.query<{ signature: string }>(
    `SELECT p.oid::regprocedure::text AS signature FROM pg_proc p
      WHERE p.pronamespace = (SELECT oid FROM pg_namespace WHERE nspname = $1) AND p.provolatile <> 'i'
        AND NOT coalesce(p.proconfig, '{}') @> ARRAY[$2] ORDER BY 1`,
    [schema, `search_path=${schema}, pg_temp`],
  )
  for (const { signature } of rows) {
    await client.query(`ALTER FUNCTION ${signature} SET search_path = ${schema}, pg_temp`)
  }
}

/** What it does not know: a feature, a word, a type, a function. */
const UNKNOWN = new Set(['0A000', '42601', '42704', '42883'])

function refuseStep(error: unknown): never {
  if (!(error instanceof pg.DatabaseError) || !UNKNOWN.has(error.code ?? '')) throw error
  throw new Error(`the database cannot hold the tables of Assay: ${error.message}. ${NOT_POSTGRES}`, { cause: error })
}
