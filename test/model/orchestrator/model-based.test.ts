import fc from 'fast-check'
import { afterAll, describe, expect, it } from 'vitest'
import { counts, countTold } from './counts.js'
import { Story } from './driver.js'
import { checkBranch, checkReplay } from './forks.js'
import { brokenLaws } from './laws.js'
import { type Move, moves } from './moves.js'
import { SETUPS } from './random-setup.js'
import type { Setup } from './setup.js'
import '../../support/seed.js'

/** fast-check prints the seed and the shrunk story on failure; give it here to see it again. */
const SEEDS = { script: 1_200, rules: 400, hold: 400, nobody: 400, itself: 150, everywhere: 25 }
const seen = counts()

function told(setup: Setup, story: readonly Move[]): Story {
  const run = new Story(setup, seen)
  run.tell(story)
  countTold(seen, run.log)
  expect(brokenLaws(run.log, setup.floor)).toEqual([])
  return run
}

/** Every story agrees with the model from its first event to its last, and so does what is forked from it. */
function agree(setups: fc.Arbitrary<Setup>, numRuns: number): void {
  const cut = fc.nat({ max: 10_000 })
  fc.assert(
    fc.property(setups, moves, cut, cut, (setup, story, replayAt, branchAt) => {
      const run = told(setup, story)
      const { length } = run.log
      checkReplay(run, replayAt % (length + 1), seen)
      checkBranch(run, 1 + (branchAt % length), setup, seen)
    }),
    { numRuns },
  )
}

describe('the core does what the model of the contract foresees, event by event', { timeout: 300_000 }, () => {
  it('agents §3, agents §4, agents §5, agents §6, agents §10: a supervisor with a script', () => {
    agree(SETUPS.script, SEEDS.script)
  })

  it('R-LOOP-2 R-HANDOFF-12 R-STATE-3 R-STATE-9 R-BOUND-3: a supervisor that goes by variables, workers and answers', () => {
    agree(SETUPS.rules, SEEDS.rules)
  })

  it('R-LOWC-1 R-LOWC-2 R-LOWC-3 R-LOWC-5: a supervisor whose first decision is held', () => {
    agree(SETUPS.hold, SEEDS.hold)
  })

  it('R-HANDOFF-1 R-HANDOFF-5 R-MAP-3 R-MAP-9 R-ATTEST-4 R-ATTEST-5: a sub-workflow', () => {
    agree(SETUPS.nobody, SEEDS.nobody)
  })

  it('R-LOOP-2 R-LOOP-3 R-ORCH-5: a supervisor without a dispatch', () => {
    agree(SETUPS.itself, SEEDS.itself)
  })

  it('R-LOOP-9 R-STATE-2: any story is retold, and goes on as a branch, from each of its events', () => {
    fc.assert(
      fc.property(fc.oneof(...Object.values(SETUPS)), moves, (setup, story) => {
        const run = told(setup, story)
        for (let fromSeq = 0; fromSeq <= run.log.length; fromSeq += 1) {
          checkReplay(run, fromSeq, seen)
          if (fromSeq > 0) checkBranch(run, fromSeq, setup, seen)
        }
      }),
      { numRuns: SEEDS.everywhere },
    )
  })

  it('all of it has happened', () => {
    for (const [what, count] of Object.entries(seen)) expect(count, what).toBeGreaterThan(0)
  })

  afterAll(() => {
    const seeds = Object.values(SEEDS).reduce((sum, each) => sum + each)
    console.log(`orchestrator, ${seeds} seeds: ${JSON.stringify(seen)}`)
  })
})
