import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import type { CheckedRun } from '../../src/log-check/checked.js'
import type { Sketch } from '../../src/testing/workflow.js'
import { findingsOf } from '../support/stored-runs.js'
import { counts } from './counts.js'
import { type Happening, happenings } from './happenings.js'
import { randomWorkflow } from './random-workflow.js'
import { Story } from './story.js'
import '../support/seed.js'

/** fast-check prints the seed and the shrunk example on failure; give it here to see it again. */
const RUNS = 2_000
const TWICE = 60
const seen = counts()

const simulate = (workflow: Sketch, story: readonly Happening[]): Promise<CheckedRun[]> =>
  new Story(seen).tell(workflow, story)

describe('simulation: random workflows, random faults, one clock', () => {
  it('every run ends, every log is legal, every fork is true to its source', { timeout: 300_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(randomWorkflow, happenings, async (workflow, story) => {
        expect(findingsOf(await simulate(workflow, story))).toEqual([])
      }),
      { numRuns: RUNS },
    )
  })

  it('the same faults at the same moments make the same log, byte for byte', { timeout: 120_000 }, async () => {
    await fc.assert(
      fc.asyncProperty(randomWorkflow, happenings, async (workflow, story) => {
        const [once, twice] = [await simulate(workflow, story), await simulate(workflow, story)]
        expect(twice.map(run => run.events)).toEqual(once.map(run => run.events))
      }),
      { numRuns: TWICE },
    )
  })

  afterAll(() => {
    console.log(`simulation, ${RUNS + TWICE} seeds: ${JSON.stringify(seen)}`)
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0)
  })
})
