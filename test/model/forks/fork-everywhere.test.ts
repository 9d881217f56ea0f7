import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Store } from '../../../src/engine/ports/store.js'
import { loadProject } from '../../../src/project/load-project.js'
import { openStore } from '../../../src/store/open-store.js'
import { sketch } from '../../../src/testing/workflow.js'
import { CRASH_WORKFLOWS, withWorkers } from '../../crash/process/workflows.js'
import { startPostgres } from '../../support/postgres.js'
import { type ForkCounts, ForkedEverywhere, forkCounts } from './forked-everywhere.js'

const scratch = mkdtempSync(path.join(os.tmpdir(), 'assay-forks-'))
let postgres: Awaited<ReturnType<typeof startPostgres>>
beforeAll(async () => {
  postgres = await startPostgres({ durable: false })
})
afterAll(async () => {
  await postgres.stop()
  rmSync(scratch, { recursive: true, force: true })
})

const examples = fileURLToPath(new URL('../../../examples', import.meta.url))

type Workflow = { readonly id: string }

/** Every workflow that is shipped or killed in tests. */
async function projects(): Promise<readonly (readonly Workflow[])[]> {
  const shipped = readdirSync(examples, { withFileTypes: true }).filter(entry => entry.isDirectory())
  const loaded = await Promise.all(shipped.map(({ name }) => loadProject(path.join(examples, name))))
  return [
    ...loaded.map(({ workflows }) => workflows.map(({ definition }) => definition as Workflow)),
    CRASH_WORKFLOWS.map(workflow => sketch(workflow)),
  ]
}

const STORES: { readonly [name: string]: { open(): Promise<Store>; every: number } } = {
  memory: { open: () => openStore('memory:'), every: 1 },
  // A disk or a round trip for everything: sampled, so that they do not take longer than the rest together.
  SQLite: { open: () => openStore(`sqlite:${mkdtempSync(path.join(scratch, 'run-'))}/assay.db`), every: 4 },
  PostgreSQL: { open: async () => openStore(await postgres.createDatabase()), every: 7 },
}

describe.each(Object.entries(STORES))(
  'E20: a fork at every sequence of every run, or every so manieth, %s',
  (name, { open, every }) => {
    it('R-ORCH-7, R-REPLAY-12: is legal, leaves its source alone while that is appended to; a replay of an ended run is its equal and starts and calls nobody', async () => {
      const seen: ForkCounts = forkCounts()
      for (const definitions of await projects())
        for (const { id } of definitions) {
          const store = await open()
          try {
            await new ForkedEverywhere(store, seen, every).tell(withWorkers(definitions, id), id)
          } finally {
            await store.close()
          }
        }
      console.log(`forks, ${name}: ${JSON.stringify(seen)}`)
      for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0)
    })
  },
)
