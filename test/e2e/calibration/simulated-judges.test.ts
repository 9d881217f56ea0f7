import { beforeAll, describe, expect, it } from 'vitest'
import { type Chance, chanceOf, pick } from '../../../src/calibration/chance.js'
import type { Estimate } from '../../../src/calibration/estimate.js'
import type { Planted } from '../../../src/calibration/labels.js'
import { type CalibrationReport, calibrate, type JudgeReport } from '../../../src/calibration/report.js'
import { entryOf } from '../../../src/calibration/testing/entry.js'

const STUDIES = 300
const RESULTS = 120

/**
 * A judge whose every rate is known. It says how sure it is, is right that often less 0.1 about bad results and less 0.2
 * about good ones, and notes nothing, one or two things besides what it blocks.
 */
function judged(chance: Chance, runId: string): Planted {
  const truth = chance() < 0.5 ? 'bad' : 'good'
  const confidence = pick(chance, [0.65, 0.75, 0.85, 0.95])
  const isRight = chance() < confidence - (truth === 'bad' ? 0.1 : 0.2)
  const warnings = Array.from({ length: Math.floor(chance() * 3) }, () => 'correctness')
  const passes = isRight === (truth === 'good')
  const scores = { correctness: passes ? 9 : 3 }
  const blocking = passes ? [] : ['correctness']
  return { ...entryOf({ runId, result: runId, votes: [{ scores, blocking, warnings, confidence }] }), truth }
}

/** By arithmetic from the above: 0.8 on average, half of the results bad, and so on. */
const TRUE_RATES = {
  true_positive_rate: 0.7,
  true_negative_rate: 0.6,
  false_positive_rate: 0.2 / 0.55,
  kappa: 0.3,
  expected_calibration_error: 0.15,
  findings_per_run: 1.55,
} as const

/** The share of studies whose interval holds the true value. */
function coverage(
  reports: readonly CalibrationReport[],
  read: (judge: JudgeReport) => Estimate | undefined,
  is: number,
) {
  const holds = reports.filter(({ verifiers: [judge] }) => {
    const estimate = judge && read(judge)
    return estimate !== undefined && estimate.low <= is && is <= estimate.high
  })
  return holds.length / reports.length
}

const studies = <T>(make: (chance: Chance) => T): T[] =>
  Array.from({ length: STUDIES }, (_, seed) => make(chanceOf(seed)))

describe('R-DWS-26: judges whose rates are known are measured as what they are', () => {
  let reports: readonly CalibrationReport[]

  beforeAll(() => {
    reports = studies(chance =>
      calibrate(
        'facts',
        [],
        Array.from({ length: RESULTS }, (_, i) => judged(chance, `run-${i}`)),
      ),
    )
  })

  it.each(Object.entries(TRUE_RATES))('%s: about 95 of 100 intervals hold the true %d', (name, is) => {
    const share = coverage(reports, judge => judge[name as keyof typeof TRUE_RATES], is)
    expect(share).toBeGreaterThanOrEqual(0.91)
    expect(share).toBeLessThanOrEqual(0.99)
  })

  it.each(Object.entries(TRUE_RATES))('%s: the mean of the studies is near the true %d', (name, is) => {
    const values = reports.map(({ verifiers: [judge] }) => judge![name as keyof typeof TRUE_RATES]!.value)
    expect(Math.abs(values.reduce((sum, value) => sum + value, 0) / STUDIES - is)).toBeLessThan(0.02)
  })

  it('blocking_findings_overturned: about 95 of 100 intervals hold the true 0.3', () => {
    const overturned = studies(chance =>
      calibrate(
        'facts',
        Array.from({ length: 60 }, (_, i) => i).flatMap(i => [
          entryOf({ runId: `run-${i}`, votes: [{ scores: { correctness: 3 } }] }),
          entryOf({ runId: `run-${i}`, votes: [{ scores: { correctness: chance() < 0.3 ? 9 : 3 } }], attempt: 2 }),
        ]),
      ),
    )
    const share = coverage(overturned, judge => judge.blocking_findings_overturned.share, 0.3)
    expect(share).toBeGreaterThanOrEqual(0.91)
    expect(share).toBeLessThanOrEqual(0.99)
  })

  it('consistency_score: at least 95 of 100 intervals hold the true one', () => {
    // Two scores, each 7, 8 or 9: they differ by 8/9 on average, which is 0.0889 of the scale.
    const consistent = studies(chance =>
      calibrate(
        'facts',
        Array.from({ length: 60 }, (_, i) =>
          entryOf({
            runId: `run-${i}`,
            result: `result-${i % 30}`,
            votes: [{ scores: { correctness: pick(chance, [7, 8, 9]) } }],
          }),
        ),
      ),
    )
    expect(coverage(consistent, judge => judge.consistency_score, 1 - 0.8 / 9)).toBeGreaterThanOrEqual(0.95)
  })
})
