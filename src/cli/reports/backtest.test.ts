import { describe, expect, test } from 'vitest'
import { backtestReport } from '../../calibration/backtest.js'
import { trialOf } from '../../calibration/testing/trial.js'
import type { JudgedResult } from '../../client/wire-shapes.js'
import { backtestLines, flipRow } from './backtest.js'

const past = (more: Partial<JudgedResult>): JudgedResult => ({
  runId: 'run-1',
  sequence: 9,
  at: '2026-01-01T00:00:00Z',
  nodeId: 'write',
  target: 'child',
  attempt: 2,
  verdict: 'pass',
  dwsVerdict: 'pass',
  label: 'verified',
  failed: [],
  gateHash: 'gate',
  resultHash: 'r',
  output: {},
  ...more,
})

const REPORT = backtestReport([
  trialOf(past({}), { verdict: 'conditional_pass' }),
  trialOf(past({}), { verdict: 'fail' }),
  trialOf(past({ runId: 'run-2', dwsVerdict: 'fail', verdict: 'fail', label: 'unverified', failed: ['tone'] }), {
    verdict: 'pass',
  }),
  trialOf(past({}), { verdict: 'fail', resultHash: 'without its secrets' }),
  trialOf(past({}), { faults: ['verifier_off_schema'] }),
])

describe('R-DWS-26: back-tests', () => {
  test('a verdict flips when what was merged would not be, or the other way round', () => {
    expect(REPORT.flips.map(flipRow)).toEqual([
      ['run-1', '2', 'pass → fail', 'grounded', 'verified', 'trial'],
      ['run-2', '2', 'fail → pass', 'tone', 'unverified', 'trial'],
    ])
  })

  test('only what is the same result is compared, and what nobody could judge is left out', () => {
    expect(REPORT).toMatchObject({ rejudged: 3, masked: 1, unjudged: { count: 1, faults: { verifier_off_schema: 1 } } })
    expect(backtestLines(REPORT)).toEqual([
      '3 results judged again: 1 that passed would fail, 1 that failed would pass',
      'left out: 1 result with secrets; those are not kept, so what was judged is not there any more',
    ])
  })
})
