import { describe, expect, test } from 'vitest'
import type { Calibration } from '../../client/wire-shapes.js'
import { calibrationLines, calibrationRows } from './calibration.js'

const share = (value: number, n: number) => ({ value, low: 0.1234, high: 0.9, n })
const nothing = { blocking_findings_overturned: { count: 0 }, dimensions: [] }

const FOUND: Calibration = {
  gateId: 'facts',
  attempts: 40,
  labels: { good: 12, bad: 5, by: { planted: 0, confirmation: 11, 'human-override': 1, 'human-reject': 5 } },
  standing: { badStopped: { n: 5, lower: 0.2 }, goodPassed: { n: 12, lower: 0.7312 } },
  licence: {
    required: true,
    bad_stopped: { min_n: 20, lower_bound: 0.8 },
    good_passed: { min_n: 30, lower_bound: 0.9 },
    held: false,
  },
  unseen: [],
  sharedModel: 0,
  gate: {
    ...nothing,
    judge: 'host:gate:facts',
    attempts: 40,
    true_positive_rate: share(0.8, 5),
    kappa: { value: 0.4567, low: -0.1, high: 0.9, n: 17 },
    dimensions: [{ dimension: 'grounded', ...nothing, findings_per_run: { value: 1.5, low: 1, high: 2, n: 40 } }],
  },
  verifiers: [
    {
      ...nothing,
      judge: 'critic\u001b[2J',
      attempts: 3,
      blocking_findings_overturned: { count: 1, share: share(1, 1) },
    },
  ],
}

describe('R-DWS-26: calibration as a person reads it', () => {
  test('per judge and dimension the value, its interval and what it rests on; nothing of what is not known', () => {
    expect(calibrationRows(FOUND)).toEqual([
      ['host:gate:facts', 'all', 'bad results stopped', '80 %', '12.3 % to 90 %', '5'],
      ['host:gate:facts', 'all', 'agrees with the truth (kappa)', '0.46', '-0.10 to 0.90', '17'],
      ['host:gate:facts', 'grounded', 'findings per result', '1.50', '1.00 to 2.00', '40'],
      ['critic\u001b[2J', 'all', 'objections overturned', '100 %', '12.3 % to 90 %', '1'],
    ])
  })

  test('what is known of the truth, and how far it is to the licence', () => {
    expect(calibrationLines(FOUND)).toEqual([
      'judged   40 results; the truth is known of 17: 12 good, 5 bad (11 by confirmation, 1 by human-override, 5 by human-reject)',
      'licence  not held, and a person is asked until then; as the gate and its verifiers are now:',
      '         of 5 bad results at least 20 % are stopped; wanted are 80 % of 20',
      '         of 12 good results at least 73.1 % are let through; wanted are 90 % of 30',
    ])
  })

  test('of a gate that has shown nothing, nothing is claimed', () => {
    const labels = { good: 0, bad: 0, by: { planted: 0 } }
    const none = { n: 0, lower: 0 }
    const lines = calibrationLines({ ...FOUND, attempts: 1, labels, standing: { badStopped: none, goodPassed: none } })
    expect(lines).toEqual([
      'judged   1 result; of none is the truth known, as it is once a person accepts or refuses one',
      'licence  not held, and a person is asked until then; as the gate and its verifiers are now:',
      '         no bad result is known; wanted are 80 % of 20',
      '         no good result is known; wanted are 90 % of 30',
    ])
  })

  test('a licence that is held, and one that nobody asks for', () => {
    const licence = { ...FOUND.licence, held: true }
    expect(calibrationLines({ ...FOUND, licence }).at(-3)).toMatch(/^licence {2}held; as the gate/)
    const free = { ...FOUND.licence, required: false }
    expect(calibrationLines({ ...FOUND, licence: free }).at(-3)).toMatch(
      /^licence {2}not needed \(auto_commit: always\); it would be not held; as the gate/,
    )
  })

  test('verifiers that are not as many as they seem', () => {
    expect(calibrationLines({ ...FOUND, effectiveVotes: { value: 1.234, from: 'votes' }, sharedModel: 7 })).toEqual([
      expect.any(String),
      'votes    together the verifiers are worth 1.2 independent votes, by how they vote together; good judges agree as well, so it may be more',
      expect.any(String),
      expect.any(String),
      expect.any(String),
      'warning  7 of 40 results: verifiers ran on one model, so they err together; give them different models',
    ])
  })

  test('by errors, where enough of the truth is known', () => {
    const lines = calibrationLines({ ...FOUND, effectiveVotes: { value: 2.5, from: 'errors' } })
    expect(lines[1]).toBe('votes    together the verifiers are worth 2.5 independent votes, by how they err together')
  })

  test('what cannot be told of all results, and what can be told of those that passed', () => {
    const passed = { right: share(0.9, 30), of: 'all' as const }
    const failed = { right: share(0.5, 4), of: 'asked' as const }
    const found = { ...FOUND, passed, failed, unseen: ['fail'] }
    expect(calibrationRows(found).slice(0, 2)).toEqual([
      ['host:gate:facts', 'all', 'good, of those that passed', '90 %', '12.3 % to 90 %', '30'],
      ['host:gate:facts', 'all', 'bad, of those that failed and were asked about', '50 %', '12.3 % to 90 %', '4'],
    ])
    expect(calibrationLines(found)[1]).toBe(
      'unknown  nobody has looked at a result that failed and was sent back or given up: how many bad results are stopped, and good ones let through, cannot be told of all',
    )
  })
})
