import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { counts, countTold } from './counts.js'
import { brokenLaws } from './laws.js'
import { unforeseen } from './model.js'
import { moves, setup } from './setup.js'
import { Story } from './story.js'
import '../../support/seed.js'

/** fast-check prints the seed and the shrunk story on failure; give it here to see it again. */
const SEEDS = 600
const seen = counts()

describe('gates do what the model of the contract foresees', { timeout: 120_000 }, () => {
  it('R-VERIFY-10 R-VERIFY-21 R-VERIFY-22 R-DWS-22 R-DWS-34 R-DWS-36: whatever probes, verifiers, workers, people and hosts do', () => {
    fc.assert(
      fc.property(setup, moves, fc.nat(), (given, happenings, cut) => {
        const story = new Story(given, seen)
        story.tell(happenings)
        countTold(seen, story.log)
        expect(brokenLaws(given, story.log)).toEqual([])
        expect(unforeseen(given, story.log)).toEqual([])
        const fromSeq = cut % story.log.length
        story.checkReplay(fromSeq)
        if (fromSeq === 0) return
        const branch = story.branch(fromSeq)
        expect(brokenLaws(given, branch.log)).toEqual([])
        expect(unforeseen(given, branch.log)).toEqual([])
      }),
      { numRuns: SEEDS },
    )
  })

  it('all of it has happened', () => {
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0)
  })

  afterAll(() => console.log(`gates, ${SEEDS} stories: ${JSON.stringify(seen)}`))
})
