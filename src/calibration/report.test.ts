import { describe, expect, it } from 'vitest'
import { defectsOf } from './defects.js'
import type { Planted } from './labels.js'
import { calibrate } from './report.js'
import { entryOf } from './testing/entry.js'

const GOOD = [{ scores: { correctness: 9 }, confidence: 0.9 }]
const BAD = [{ scores: { correctness: 2 }, blocking: ['correctness'], confidence: 0.8 }]

describe('R-DWS-26: the report', () => {
  it('of a gate that has judged nothing claims nothing', () => {
    expect(calibrate('facts', [])).toEqual({
      gateId: 'facts',
      attempts: 0,
      labels: {
        good: 0,
        bad: 0,
        by: { planted: 0, confirmation: 0, 'human-override': 0, 'human-reject': 0, 're-verification': 0 },
      },
      standing: { badStopped: { n: 0, lower: 0 }, goodPassed: { n: 0, lower: 0 } },
      unseen: [],
      gate: { judge: 'host:gate:facts', attempts: 0, blocking_findings_overturned: { count: 0 }, dimensions: [] },
      verifiers: [],
      defects: [],
    })
  })

  it('is plain JSON, and the same for the same records', () => {
    const entries = [
      entryOf({ votes: BAD }),
      entryOf({ votes: GOOD, attempt: 2 }),
      entryOf({ runId: 'run-2', votes: GOOD, by: 'ada', verdict: 'fail' }),
    ]
    const report = calibrate('facts', entries)
    expect(JSON.parse(JSON.stringify(report))).toEqual(report)
    expect(calibrate('facts', entries)).toEqual(report)
    expect(report.labels).toMatchObject({ good: 1, bad: 1, by: { 'human-reject': 1, 're-verification': 1 } })
    expect(report.verifiers[0]).toMatchObject({ judge: 'judge', attempts: 3 })
    // Nobody has looked at what failed, so how many bad results are stopped is not known; that a pass was wrong is.
    expect(report.gate.true_positive_rate).toBeUndefined()
    expect(report).toMatchObject({ unseen: ['fail'], passed: { right: { value: 0, n: 1 }, of: 'all' } })
    expect(report.failed).toBeUndefined()
  })

  it('tells which kinds of planted defects were stopped', () => {
    const defects = [1, 2, 3].flatMap(seed => defectsOf({ text: 'Calls were down.', ships: 412 }, seed))
    const planted = defects.map(({ kind }, i): Planted => {
      const entry = entryOf({ runId: `trial-${i}`, result: `${i}`, votes: kind === 'injection' ? GOOD : BAD })
      return { ...entry, truth: 'bad', defect: kind }
    })
    const report = calibrate('facts', [], planted)
    const stopped = new Map(report.defects.map(({ defect, stopped: { value, n } }) => [defect, [value, n]]))
    expect(stopped.get('injection')).toEqual([0, 3])
    expect(stopped.get('number')).toEqual([1, 3])
    expect(report.labels.by.planted).toBe(planted.length)
  })

  it('leaves out what other gates have judged', () => {
    expect(calibrate('other', [entryOf({ votes: GOOD })])).toMatchObject({ gateId: 'other', attempts: 0 })
  })
})
