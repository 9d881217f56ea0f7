import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { findingsOf, runsIn } from '../../support/stored-runs.js'
import { isThorough } from '../../support/thorough.js'
import { counts } from './counts.js'
import { ForkedStory } from './forked-story.js'
import { STORE_NAMES, storesForTests } from './stores.js'
import { story } from './story.js'
import { World } from './world.js'
import '../../support/seed.js'

const open = storesForTests()
const [STORIES, CUTS] = isThorough ? [80, 1_000] : [8, 6]

describe.each(STORE_NAMES)('forks at events of random runs, %s', name => {
  it('R-MEM-8 R-MEM-9 R-MEM-19 R-MEM-21 R-WS-3: read what their source could see there, whatever others do afterwards', async () => {
    const seen = counts()
    await fc.assert(
      fc.asyncProperty(story, async told => {
        const store = await open(name)
        try {
          const world = new World(store, told, seen)
          await world.boot()
          await new ForkedStory(world, told, seen, CUTS).tell()
          expect(findingsOf(await runsIn(store))).toEqual([])
          await world.engine.stop(0)
        } finally {
          await store.close()
        }
      }),
      // To look for the shortest story takes longer than all that are told.
      { numRuns: STORIES, endOnFailure: !isThorough },
    )
    console.log(`journal, ${name}: ${JSON.stringify(seen)}`)
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0)
    expect(seen.branches + seen.replays).toBeGreaterThanOrEqual(500)
  })
})
