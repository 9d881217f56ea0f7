import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { afterAll, beforeAll } from 'vitest'
import type { Store } from '../../../src/engine/ports/store.js'
import { openStore } from '../../../src/store/open-store.js'
import { startPostgres } from '../../support/postgres.js'

export const STORE_NAMES = ['memory', 'SQLite', 'PostgreSQL'] as const
export type StoreName = (typeof STORE_NAMES)[number]

/** Empty stores of each kind, for the tests of a file. */
export function storesForTests(): (name: StoreName) => Promise<Store> {
  const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-journal-model-'))
  let postgres: Awaited<ReturnType<typeof startPostgres>>
  beforeAll(async () => {
    postgres = await startPostgres({ durable: false })
  })
  afterAll(async () => {
    await postgres.stop()
    rmSync(scratch, { recursive: true, force: true })
  })
  return async name => {
    if (name === 'memory') return openStore('memory:')
    if (name === 'SQLite') return openStore(`sqlite:${mkdtempSync(path.join(scratch, 'run-'))}/assay.db`)
    return openStore(await postgres.createDatabase())
  }
}
