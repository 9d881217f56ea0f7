import { mkdtempSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import fc from 'fast-check'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../../src/engine/ports/store.js'
import { openStore } from '../../../src/store/open-store.js'
import { startPostgres } from '../../support/postgres.js'
import { isThorough } from '../../support/thorough.js'
import { counts } from './counts.js'
import { ForkedStory } from './forked-story.js'
import { story } from './story.js'
import '../../support/seed.js'

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-journal-model-'))
let postgres: Awaited<ReturnType<typeof startPostgres>>
beforeAll(async () => {
  postgres = await startPostgres({ durable: false })
})
afterAll(async () => {
  await postgres.stop()
  rmSync(scratch, { recursive: true, force: true })
})

const STORES: { readonly [name: string]: { open(): Promise<Store>; stories: number; cuts: number } } = {
  memory: { open: () => openStore('memory:'), stories: 8, cuts: 6 },
  SQLite: { open: () => openStore(`sqlite:${mkdtempSync(path.join(scratch, 'run-'))}/assay.db`), stories: 8, cuts: 6 },
  PostgreSQL: { open: async () => openStore(await postgres.createDatabase()), stories: 8, cuts: 6 },
}

describe.each(Object.entries(STORES))('forks at every event of random runs, %s', (name, { open, stories, cuts }) => {
  it('R-MEM-8 R-MEM-9 R-MEM-19 R-MEM-21 R-WS-3: read what their source could see there, whatever others do afterwards', async () => {
    const seen = counts()
    await fc.assert(
      fc.asyncProperty(story, async told => {
        const store = await open()
        try {
          await new ForkedStory(store, told, seen, isThorough ? 1_000 : cuts).tell()
        } finally {
          await store.close()
        }
      }),
      { numRuns: isThorough ? 10 * stories : stories, endOnFailure: !isThorough },
    )
    console.log(`journal, ${name}: ${JSON.stringify(seen)}`)
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0)
    expect(seen.branches + seen.replays).toBeGreaterThanOrEqual(500)
  })
})
