import { stripVTControlCharacters } from 'node:util'
import { describe, expect, test } from 'vitest'
import type { RunSnapshot } from '../../client/wire-shapes.js'
import { exitCodeOf, hasGivenUp } from '../terminal/exit-code.js'
import { givenUp } from './convergence.js'
import { gateRows, goalRows, spendRows } from './run-details.js'

type Convergence = NonNullable<RunSnapshot['convergence']>

const run = (convergence?: Convergence, more: Partial<RunSnapshot> = {}): RunSnapshot => ({
  runId: 'r',
  workflowId: 'w',
  status: 'completed',
  completedAt: '2026-01-01T00:00:00.000Z',
  eventLogSchemaVersion: 2,
  ...(convergence && { convergence }),
  ...more,
})

const UNMET: Convergence = {
  successCriteria: [
    { key: 'complete', met: true },
    { key: 'grounded', met: false },
    { key: 'short', met: true },
  ],
  goalSatisfied: false,
  verdicts: [],
}
const HELD: Convergence = {
  goalSatisfied: false,
  verdicts: [
    { target: 'c-1', verdict: 'pass' },
    { target: 'c-2', verdict: 'fail' },
  ],
}
const FORCED: Convergence = {
  goalSatisfied: false,
  against: [{ what: 'forced', gateId: 'quality', nodeId: 'hand' }],
  verdicts: [{ target: 'c-1', verdict: 'pass' }],
}
const REACHED: Convergence = { goalSatisfied: true, verdicts: [{ target: 'c-1', verdict: 'pass' }] }

const plain = (lines: readonly string[]) => lines.map(stripVTControlCharacters)

describe('R-VERIFY-19: a give-up is not taken for success', () => {
  test('it ends with 1, like a failure; a goal that was reached, or that nobody set, with 0', () => {
    expect([UNMET, HELD].map(one => exitCodeOf(run(one)))).toEqual([1, 1])
    expect([REACHED, undefined].map(one => exitCodeOf(run(one)))).toEqual([0, 0])
  })

  test('a forced pass ends with 1 like any other, unless that, and only that, is allowed', () => {
    const allowed = (one: Convergence) => exitCodeOf(run(one), { allowForced: true })
    expect(exitCodeOf(run(FORCED))).toBe(1)
    expect(allowed(FORCED)).toBe(0)
    const more: Convergence = { ...FORCED, against: [...FORCED.against!, { what: 'gave-up', nodeId: 'other' }] }
    expect([more, { ...FORCED, ...UNMET, against: FORCED.against! }, UNMET, HELD].map(allowed)).toEqual([1, 1, 1, 1])
  })

  test('what has not ended has not given up', () => {
    expect(hasGivenUp(run(HELD, { status: 'running' }))).toBe(false)
    expect(exitCodeOf(run(HELD, { status: 'waiting-approval' }))).toBe(3)
  })

  test('it says what is missing, labels what it made, and says where to look', () => {
    expect(plain(givenUp(run(UNMET), { letter: 'dear\u001b[2J' }))).toEqual([
      'gave up: 1 of 3 criteria not met (grounded)',
      'outputs, unverified: {"letter":"dear\\u001b[2J"}',
      'next:  assay runs get r',
    ])
    expect(plain(givenUp(run(HELD), undefined))).toEqual([
      'gave up: 1 of 2 results not passed (c-2)',
      'next:  assay runs findings r',
    ])
    const nothing = { tokens: 0, costUsd: 0, toolCalls: 0, retries: 0 }
    const cost = { cost: { execution: nothing, verification: nothing }, attemptCosts: [] }
    const gates = [{ gateId: 'quality', nodeId: 'hand', target: 'c-2', attempts: 2, ...cost }]
    const gated = { assay: { spend: nothing, gates } }
    expect(plain(givenUp(run(HELD, gated), undefined))[0]).toBe('gave up: 1 of 2 results not passed (quality)')
    expect(plain(givenUp(run({ ...UNMET, verdicts: HELD.verdicts }, gated), undefined))[0]).toBe(
      'gave up: 1 of 3 criteria not met (grounded)',
    )
    expect(plain(givenUp(run({ goalSatisfied: false, verdicts: [] }), undefined))[0]).toBe(
      'gave up: the goal is not satisfied',
    )
  })
})

describe('runs get', () => {
  test('R-VERIFY-19: says whether the goal was reached, once the run has ended', () => {
    expect(goalRows(run(REACHED))).toEqual([['goal', 'satisfied']])
    expect(goalRows(run(UNMET))).toEqual([['goal', 'not satisfied: 1 of 3 criteria not met (grounded)']])
    const { completedAt: _, ...going } = run(HELD, { status: 'running' })
    expect(goalRows(going)).toEqual([])
    expect(goalRows(run())).toEqual([])
  })

  test('R-DWS-27 R-DWS-28: shows each gate with what work and judging have cost there, and what of the spending went to verifiers', () => {
    const spent = { tokens: 10, costUsd: 0.5, toolCalls: 0, retries: 0 }
    const cost = { cost: { execution: { ...spent, costUsd: 2 }, verification: spent }, attemptCosts: [] }
    const gates = [
      {
        gateId: 'quality',
        nodeId: 'hand',
        workerId: 'writer',
        target: 'c',
        verdict: 'revise' as const,
        attempts: 2,
        blocking: 1,
        ...cost,
      },
      { gateId: 'tone', nodeId: 'write', target: 'r:1', attempts: 0, ...cost },
    ]
    const judged = run(undefined, { assay: { spend: { ...spent, execution: spent, verification: spent }, gates } })
    expect(gateRows(judged)).toEqual([
      ['quality', 'hand', 'writer', 'revise', '2', '1', '$2', '$0.5'],
      ['tone', 'write', '', 'open', '0', '0', '$2', '$0.5'],
    ])
    expect(spendRows(judged).at(-1)).toEqual(['verifying', '10 tokens, $0.5 of it'])
    expect(spendRows(run(undefined, { assay: { spend: spent } })).map(([name]) => name)).not.toContain('verifying')
  })
})
