import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import pg from 'pg'
import { afterAll } from 'vitest'
import type { Store } from '../../../src/engine/ports/store.js'
import { MemoryStore } from '../../../src/store/memory/memory-store.js'
import { openPostgresStore } from '../../../src/store/postgres/postgres-store.js'
import { openSqliteStore } from '../../../src/store/sqlite/sqlite-store.js'
import { startPostgres } from '../../support/postgres.js'

export type StoreUnderTest = {
  readonly name: 'memory' | 'sqlite' | 'postgres'
  /** An empty store. */
  readonly open: () => Promise<Store>
}

/** Each store there is, for suites that need an empty one again and again. What they leave is gone with the suite. */
export function emptyStores(): StoreUnderTest[] {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-retention-'))
  let files = 0
  let database: Promise<string> | undefined
  let stop: () => Promise<void> = async () => undefined
  const start = async () => {
    const server = await startPostgres({ durable: false })
    stop = server.stop
    const url = await server.createDatabase()
    await (await openPostgresStore(url)).close()
    return url
  }
  afterAll(async () => {
    await stop()
    rmSync(scratch, { recursive: true })
  })
  return [
    { name: 'memory', open: async () => new MemoryStore() },
    {
      name: 'sqlite',
      open: () => {
        files += 1
        return openSqliteStore(path.join(scratch, `${files}.db`))
      },
    },
    {
      name: 'postgres',
      open: async () => {
        database ??= start()
        await emptyTables(await database)
        return openPostgresStore(await database)
      },
    },
  ]
}

/** Faster than a schema of its own for each. */
async function emptyTables(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  try {
    const { rows } = await client.query<{ name: string }>(
      `SELECT format('assay.%I', tablename) AS name FROM pg_tables WHERE schemaname = 'assay' AND tablename <> 'migrations'`,
    )
    await client.query(`TRUNCATE ${rows.map(({ name }) => name).join(', ')}`)
  } finally {
    await client.end()
  }
}
