import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { decideGoal } from '../../../src/core/goal/decide.js'
import { evolveGoal } from '../../../src/core/goal/evolve.js'
import type { GoalState } from '../../../src/core/goal/state.js'
import { checkGoal } from '../../../src/log-check/goal/check-goal.js'
import '../../support/seed.js'
import { boundsOf, Pair, stepOf } from './pair.js'

const SEEDS = 2_000
const checkOf = fc.constantFrom('verifier' as const, 'verifier' as const, 'host' as const)

describe('goals against a model of the page', () => {
  test('R-GOAL-5 R-GOAL-6 R-GOAL-15 R-GOAL-16 R-GOAL-18 R-GOAL-19: whatever happens, both say the same', () => {
    const counts = new Map<string, number>()
    const count = (what: string) => counts.set(what, (counts.get(what) ?? 0) + 1)
    fc.assert(
      fc.property(
        boundsOf,
        fc.constantFrom(0, 2, 3),
        fc.array(stepOf, { minLength: 5, maxLength: 60 }),
        checkOf,
        (bounds, breaker, steps, check) => {
          const pair = new Pair(bounds, breaker, decideGoal, check)
          pair.compare()
          for (const step of steps) {
            pair.take(step)
            pair.compare()
          }
          expect(checkGoal(pair.log as never)).toEqual([])
          // Folded from its log it is the same goal.
          const folded = pair.log.reduce<GoalState>(evolveGoal, { phase: 'absent' })
          expect(folded).toEqual(pair.state)
          for (const closing of pair.model.closings) count(closing)
          for (const { satisfied } of pair.model.evaluations)
            count(satisfied ? 'judged to be reached' : 'judged not to be')
          if (check === 'host') for (const _ of pair.model.evaluations) count('judged by the host')
          if (pair.counted.has('could not be probed')) count('could not be probed')
          if (pair.model.isOver) count('over')
        },
      ),
      { numRuns: SEEDS },
    )
    // Each of these has happened often enough to count.
    for (const what of [
      'escalated',
      'satisfied',
      'abandoned',
      'bound-exceeded',
      'judged to be reached',
      'judged not to be',
      'judged by the host',
      'could not be probed',
      'over',
    ])
      expect(counts.get(what) ?? 0, what).toBeGreaterThan(40)
  }, 300_000)

  const oldProbesCount: typeof decideGoal = (state, input) =>
    decideGoal(
      state,
      input.type === 'HostJudged' && state.phase === 'open' ? { ...input, version: state.version } : input,
    )

  const judgeErrorGoesOn: typeof decideGoal = (state, input) =>
    decideGoal(
      state,
      'said' in input && input.said?.verdict === 'none' ? { ...input, said: { verdict: 'fail' } } : input,
    )

  const counterIsLost: typeof decideGoal = (state, input) =>
    decideGoal(state.phase === 'open' && state.reserved > 1 ? { ...state, reserved: state.reserved - 1 } : state, input)

  const timeIsIgnored: typeof decideGoal = (state, input) => decideGoal(state, { ...input, now: 0 })

  const heldIsForgotten: typeof decideGoal = (state, input) =>
    decideGoal(state, 'heldNano' in input ? { ...input, heldNano: 0 } : input)

  test.each([
    ['an error of the judge is taken for an answer', judgeErrorGoesOn],
    ['the counter is written apart from the run, and lost', counterIsLost],
    ['the deadline is not looked at', timeIsIgnored],
    ['what nobody knows the cost of is free', heldIsForgotten],
    ['probes of an older objective count', oldProbesCount],
  ])('a sabotage is noticed: %s', (_, decide) => {
    const told = () =>
      fc.assert(
        fc.property(boundsOf, checkOf, fc.array(stepOf, { minLength: 5, maxLength: 60 }), (bounds, check, steps) => {
          const pair = new Pair(bounds, 0, decide, check)
          for (const step of steps) {
            pair.take(step)
            pair.compare()
          }
        }),
        { numRuns: 1_000, endOnFailure: true },
      )
    expect(told).toThrow()
  })
})
