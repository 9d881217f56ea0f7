import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { isThorough } from '../../support/thorough.js'
import { counts } from './counts.js'
import { storesForTests } from './stores.js'
import { story } from './story.js'
import { SCOPE, TwoTenants } from './two-tenants.js'
import '../../support/seed.js'

const open = storesForTests()

describe.each(['SQLite', 'PostgreSQL', 'memory'] as const)('two tenants with the same names, %s', name => {
  it('R-MEM-2 R-MEM-14 R-LIVE-29: never meet, by list, word, time to live, consolidation, fork, moment, file or staged write', async () => {
    const seen = counts()
    let tried = 0
    await fc.assert(
      fc.asyncProperty(story, async told => {
        const store = await open(name)
        try {
          const both = new TwoTenants(store, { ...told, scope: SCOPE }, seen)
          await both.tell()
          tried += both.tried
          await both.world.engine.stop(0)
        } finally {
          await store.close()
        }
      }),
      { numRuns: isThorough ? 20 : 2, endOnFailure: !isThorough },
    )
    console.log(`tenants, ${name}: ${tried} attempts, ${JSON.stringify(seen)}`)
    expect(tried).toBeGreaterThan(500)
    expect(seen['reads in forks']).toBeGreaterThan(50)
  })
})
