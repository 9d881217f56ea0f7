import { expect, test } from 'vitest'
import { backtestReport, type PastVerdict } from './backtest.js'
import { trialOf } from './testing/trial.js'

const past: PastVerdict = {
  runId: 'run-1',
  attempt: 1,
  dwsVerdict: 'conditional_pass',
  failed: [],
  label: 'verified',
  resultHash: 'r',
}

test('R-DWS-26: a verdict flips only where the very same result passed then and fails now, or the other way round', () => {
  const report = backtestReport([
    trialOf(past, { verdict: 'pass' }),
    trialOf(past, { verdict: 'fail', runId: 'stricter' }),
    trialOf({ ...past, dwsVerdict: 'fail', failed: ['tone'] }, { verdict: 'conditional_pass', runId: 'milder' }),
    trialOf(past, { verdict: 'fail', resultHash: 'masked' }),
    trialOf(past, {}),
  ])
  expect(report).toMatchObject({ rejudged: 3, masked: 1, unjudged: { count: 1 } })
  expect(report.flips.map(({ was, now, failed, trialRunId }) => [was, now, failed, trialRunId])).toEqual([
    ['conditional_pass', 'fail', ['grounded'], 'stricter'],
    ['fail', 'conditional_pass', ['tone'], 'milder'],
  ])
})
