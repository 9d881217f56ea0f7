import { describe, expect, test } from 'vitest'
import { plantedReport, type Sample } from './planted.js'
import { trialOf } from './testing/trial.js'

const good: Sample = { output: {}, original: 0 }
const spoilt: Sample = { output: {}, original: 0, kind: 'number', description: 'a digit is wrong' }

describe('R-DWS-26: what is counted of planted defects', () => {
  test('a defect is caught when the gate fails the output, and a false alarm is a failed good one', () => {
    const trials = [
      trialOf(spoilt, { verdict: 'fail' }),
      trialOf(spoilt, { verdict: 'conditional_pass', runId: 'missed' }),
      trialOf(good, { verdict: 'pass' }),
      trialOf(good, { verdict: 'fail', runId: 'alarm' }),
    ]
    const { caught, falseAlarms, defects, missed, stopped } = plantedReport(trials)
    expect([caught, falseAlarms]).toMatchObject([
      { value: 0.5, n: 2 },
      { value: 0.5, n: 2 },
    ])
    expect(defects).toMatchObject([{ kind: 'number', caught: { n: 2 } }])
    expect(missed).toEqual([{ kind: 'number', description: 'a digit is wrong', runId: 'missed' }])
    expect(stopped).toEqual([{ runId: 'alarm', failed: ['grounded'] }])
  })

  test('a verifier counts by its own votes, whatever the gate said', () => {
    const trials = [
      trialOf(spoilt, { verdict: 'pass', votes: [['a', 'fail']] }),
      trialOf(good, { verdict: 'pass', votes: [['b', 'pass']] }),
    ]
    expect(plantedReport(trials).verifiers).toMatchObject([
      { agentId: 'a', caught: { value: 1, n: 1 } },
      { agentId: 'b', falseAlarms: { value: 0, n: 1 } },
    ])
  })

  test('what nobody could judge counts nowhere', () => {
    const report = plantedReport([trialOf(spoilt, { faults: ['model_unavailable'] }), trialOf(good, {})])
    expect(report).toEqual({
      defects: [],
      verifiers: [],
      missed: [],
      stopped: [],
      unjudged: { count: 2, faults: { model_unavailable: 1, no_quorum: 1 } },
    })
  })
})
