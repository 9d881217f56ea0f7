import { describe, expect, test } from 'vitest'
import type { Calibration } from '../../client/wire-shapes.js'
import { calibrationLines, calibrationRows } from './calibration.js'

const share = (value: number, n: number) => ({ value, low: 0.1234, high: 0.9, n })
const nothing = { blocking_findings_overturned: { count: 0 }, dimensions: [] }

const FOUND: Calibration = {
  gateId: 'facts',
  attempts: 40,
  labels: { good: 12, bad: 5, by: { planted: 0, 'human-override': 12, 'human-reject': 5 } },
  standing: { n: 17, lower: 0.7312 },
  licence: { required: true, min_n: 30, lower_bound: 0.9, held: false },
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
      'judged   40 results; the truth is known of 17: 12 good, 5 bad (12 by human-override, 5 by human-reject)',
      'licence  not held: as the gate is now, right in at least 73.1 % of 17 verdicts of known truth; it demands 90 % of 30, and a person is asked until then',
    ])
  })

  test('of a gate that has shown nothing, nothing is claimed', () => {
    const labels = { good: 0, bad: 0, by: { planted: 0 } }
    const lines = calibrationLines({ ...FOUND, attempts: 1, labels, standing: { n: 0, lower: 0 } })
    expect(lines).toEqual([
      'judged   1 result; of none is the truth known, as it is once a person accepts or refuses one',
      'licence  not held: as the gate is now, no verdict of known truth; it demands 90 % of 30, and a person is asked until then',
    ])
  })

  test('a licence that is held, and one that nobody asks for', () => {
    const licence = { ...FOUND.licence, held: true }
    expect(calibrationLines({ ...FOUND, licence }).at(-1)).toMatch(/^licence {2}held: .*; it demands 90 % of 30$/)
    const free = { ...FOUND.licence, required: false }
    expect(calibrationLines({ ...FOUND, licence: free }).at(-1)).toMatch(
      /^licence {2}not needed \(auto_commit: always\): .* it would be not held, for 90 % of 30$/,
    )
  })

  test('verifiers that are not as many as they seem', () => {
    expect(calibrationLines({ ...FOUND, effectiveVotes: 1.234, sharedModel: 7 })).toEqual([
      expect.any(String),
      'votes    together the verifiers are worth 1.2 independent votes',
      expect.any(String),
      'warning  7 of 40 results: verifiers ran on one model, so they err together; give them different models',
    ])
  })
})
