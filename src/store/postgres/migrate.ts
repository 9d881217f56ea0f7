import pg from 'pg'
import { stepsFrom } from '../migration.js'
import { clientConfig, directConfig, type Settings } from './connections.js'
import { MIGRATIONS } from './migrations/index.js'
import { NOT_POSTGRES } from './probe.js'
import { MIGRATE } from './statements.js'

type Applied = { readonly version: number; readonly name: string }

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
    const { rows: applied } = await client.query<Applied>(MIGRATE.readApplied)
    refuseFormerLine(schema, applied)
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

/**
 * Before the first release there was another line of steps, which began with tables and had eighteen. Its numbers mean
 * other things than ours, so it is told by the name of its first, whatever its last.
 */
function refuseFormerLine(schema: string, applied: readonly Applied[]): void {
  const [[ours], [theirs]] = [MIGRATIONS, applied]
  if (theirs === undefined || (theirs.version === ours?.version && theirs.name === ours.name)) return
  throw new Error(
    `the schema "${schema}" of the database was made before the first release of Assay (it begins with ` +
      `"${theirs.name}" instead of "${ours?.name}"), and there is no upgrade from it. ` +
      'Start the version of Assay that wrote it, or give an empty database, or another schema.',
  )
}

/** What it does not know: a feature, a word, a type, a function. */
const UNKNOWN = new Set(['0A000', '42601', '42704', '42883'])

function refuseStep(error: unknown): never {
  if (!(error instanceof pg.DatabaseError) || !UNKNOWN.has(error.code ?? '')) throw error
  throw new Error(`the database cannot hold the tables of Assay: ${error.message}. ${NOT_POSTGRES}`, { cause: error })
}
