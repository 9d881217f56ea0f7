import pg from 'pg'
import { type AppliedStep, refuseOlderLine, stepsFrom } from '../migration.js'
import { clientConfig, directConfig, type Settings } from './connections.js'
import { MIGRATIONS } from './migrations/index.js'
import { NOT_POSTGRES } from './probe.js'
import { MIGRATE } from './statements.js'

/**
 * Creates the schema if it is absent and applies the missing migrations, in one transaction; hosts take turns. Whatever
 * the connection is told holds for this transaction only, so it may be a pooler's. What is refused stays as it was.
 */
export async function migrate(settings: Settings): Promise<void> {
  const { schema } = settings
  const client = new pg.Client({ ...(directConfig(settings) ?? clientConfig(settings)), query_timeout: 0 })
  await client.connect()
  try {
    await client.query(`BEGIN; SET LOCAL search_path = ${schema}; SET LOCAL synchronous_commit = on;
      SET LOCAL statement_timeout = 0; SET LOCAL lock_timeout = 0`)
    await client.query(MIGRATE.takeTurns, [`assay.migrate.${schema}`])
    await client.query(MIGRATE.createSchema)
    await client.query(MIGRATE.createMigrations)
    const { rows: applied } = await client.query<AppliedStep>(MIGRATE.readApplied)
    refuseOlderLine(applied, MIGRATIONS, `the schema "${schema}" of the database`)
    for (const { version, name, sql } of stepsFrom(applied.at(-1)?.version ?? 0, MIGRATIONS, 'the database')) {
      await client.query(sql).catch(refuseStep)
      await client.query(MIGRATE.putApplied, [version, name])
    }
    await client.query(MIGRATE.pinFunctions)
    await client.query('COMMIT')
  } finally {
    // Ends the transaction too, if something went wrong.
    await client.end()
  }
}

/** What it does not know: a feature, a word, a type, a function. */
const UNKNOWN = new Set(['0A000', '42601', '42704', '42883'])

function refuseStep(error: unknown): never {
  if (!(error instanceof pg.DatabaseError) || !UNKNOWN.has(error.code ?? '')) throw error
  throw new Error(`the database cannot hold the tables of Assay: ${error.message}. ${NOT_POSTGRES}`, { cause: error })
}
