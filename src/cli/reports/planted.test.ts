import { describe, expect, test } from 'vitest'
import { plantedReport, type Sample, samplesOf } from '../../calibration/planted.js'
import { trialOf } from '../../calibration/testing/trial.js'
import { defectRows, judgeRows, plantedLines, plantedShortfalls } from './planted.js'

const good: Sample = { output: {}, original: 0 }
const spoilt = (kind: 'number' | 'blank', description = `${kind} \u001b[2J`): Sample => ({
  output: {},
  original: 0,
  kind,
  description,
})

const REPORT = plantedReport([
  trialOf(good, {
    verdict: 'conditional_pass',
    votes: [
      ['a', 'pass'],
      ['b', 'fail'],
      ['b', 'pass'],
    ],
  }),
  trialOf(good, { runId: 'alarm', verdict: 'fail', votes: [['a', 'fail']] }),
  trialOf(spoilt('number'), {
    verdict: 'fail',
    votes: [
      ['a', 'fail'],
      ['b', 'pass'],
      ['b', 'fail'],
    ],
  }),
  trialOf(spoilt('number'), { verdict: 'fail' }),
  trialOf(spoilt('blank'), { runId: 'missed', verdict: 'pass', votes: [['a', 'pass']] }),
  trialOf(spoilt('blank'), { faults: ['model_unavailable', 'model_unavailable'] }),
  trialOf(good, {}),
])

describe('R-DWS-26: planted defects', () => {
  test('are planted in every output, elsewhere in each, and the same for the same seed', () => {
    const output = { text: 'Calls were down.', ships: 412 }
    const samples = samplesOf([{ output }, { output }], 1)
    expect(samplesOf([{ output }, { output }], 1)).toEqual(samples)
    expect(samples.filter(({ kind }) => kind === undefined)).toEqual([
      { output, original: 0 },
      { output, original: 1 },
    ])
    const of = (original: number) =>
      samples.filter(one => one.original === original).map(one => JSON.stringify(one.output))
    expect(of(0).length).toBeGreaterThan(5)
    expect(of(1)).not.toEqual(of(0))
  })

  test('the share that was caught, by kind, and false alarms on what was good', () => {
    expect(REPORT).toMatchObject({ caught: { value: 2 / 3, n: 3 }, falseAlarms: { value: 0.5, n: 2 } })
    expect(defectRows(REPORT)).toEqual([
      ['number', '100 %', '34.2 % to 100 %', '2'],
      ['blank', '0 %', '0 % to 79.3 %', '1'],
      ['all defects', '66.7 %', '20.8 % to 93.9 %', '3'],
    ])
  })

  test('a verifier is held to what it was asked; several seats of one are one opinion', () => {
    expect(judgeRows(REPORT).map(([judge, caught, , n, alarms, , m]) => [judge, caught, n, alarms, m])).toEqual([
      ['the gate', '66.7 %', '3', '50 %', '2'],
      ['a', '50 %', '2', '50 %', '2'],
      ['b', '50 %', '1', '50 %', '1'],
    ])
  })

  test('what to look into, with the run that shows it', () => {
    expect(plantedLines(REPORT)).toEqual([
      'missed       blank: blank \\x1b[2J, run missed',
      'false alarm  grounded, run alarm',
    ])
  })

  test('what nobody could judge is neither caught nor missed', () => {
    expect(REPORT.unjudged).toEqual({ count: 2, faults: { model_unavailable: 1, no_quorum: 1 } })
    const none = plantedReport([trialOf(good, {})])
    expect(none).toMatchObject({ defects: [], verifiers: [], missed: [], stopped: [] })
    expect(defectRows(none)).toEqual([['all defects', '–', '', '0']])
  })
})

describe('R-DWS-26: what is demanded of a gate', () => {
  const caught = (value: number) => ({ caught: { value, low: 0, high: 1, n: 10 } })
  const falseAlarms = (value: number) => ({ falseAlarms: { value, low: 0, high: 1, n: 10 } })

  test.each([
    ['above', 0.9, []],
    ['at', 0.8, []],
    ['below', 0.7, ['caught: at least 80 % is demanded (--min-caught); it is 70 % of 10']],
  ])('of defects caught, %s the share', (_, value, told) => {
    expect(plantedShortfalls(caught(value), { minCaught: 0.8 })).toEqual(told)
  })

  test.each([
    ['below', 0, []],
    ['at', 0.1, []],
    ['above', 0.2, ['false alarms: at most 10 % is allowed (--max-false-alarms); it is 20 % of 10']],
  ])('of false alarms, %s the share', (_, value, told) => {
    expect(plantedShortfalls(falseAlarms(value), { maxFalseAlarms: 0.1 })).toEqual(told)
  })

  test('what nobody judged has shown nothing, not even what any gate would', () => {
    expect(plantedShortfalls({}, { minCaught: 0, maxFalseAlarms: 1 })).toEqual([
      'caught: at least 0 % is demanded (--min-caught); none was judged',
      'false alarms: at most 100 % is allowed (--max-false-alarms); none was judged',
    ])
  })

  test('both are told, and of nothing demanded nothing', () => {
    const poor = { ...caught(0), ...falseAlarms(1) }
    expect(plantedShortfalls(poor, { minCaught: 0.5, maxFalseAlarms: 0.5 })).toHaveLength(2)
    expect(plantedShortfalls(poor, {})).toEqual([])
  })
})
