import { describe, expect, it } from 'vitest'
import { calibrate } from './report.js'
import { entryOf } from './testing/entry.js'

const GOOD = { scores: { correctness: 9, style: 8 } }
const BAD = { scores: { correctness: 3, style: 8 }, blocking: ['correctness'] }

const dimension = (name: string, report: ReturnType<typeof calibrate>) =>
  report.verifiers[0]!.dimensions.find(one => one.dimension === name)!

describe('R-DWS-26: what is measured of a verifier', () => {
  it('findings_per_run: the mean number of findings, of any kind, also by dimension', () => {
    const noted = { ...GOOD, warnings: ['style', 'style', 'correctness'] }
    const report = calibrate('facts', [entryOf({ votes: [GOOD] }), entryOf({ runId: 'run-2', votes: [noted] })])
    expect(report.verifiers[0]?.findings_per_run).toMatchObject({ value: 1.5, n: 2 })
    expect(dimension('style', report).findings_per_run).toMatchObject({ value: 1, n: 2 })
  })

  it('blocking_findings_overturned: of those that were heard again about the same result', () => {
    const both = { scores: { correctness: 3, style: 2 } }
    const report = calibrate('facts', [
      entryOf({ votes: [both] }),
      entryOf({ votes: [{ scores: { correctness: 9, style: 2 } }], attempt: 2 }),
      entryOf({ votes: [BAD], runId: 'run-2' }),
      entryOf({ votes: [GOOD], runId: 'run-2', attempt: 2, result: 'changed' }),
    ])
    const { count, share } = report.verifiers[0]!.blocking_findings_overturned
    expect({ count, share }).toEqual({ count: 1, share: expect.objectContaining({ value: 0.5, n: 1 }) })
    expect(dimension('correctness', report).blocking_findings_overturned).toMatchObject({ count: 1 })
    expect(dimension('style', report).blocking_findings_overturned).toMatchObject({ count: 0, share: { n: 1 } })
  })

  it('blocking_findings_overturned: a dimension of a failed attempt that nobody objected to was never a finding', () => {
    const entries = [entryOf({ votes: [BAD] }), entryOf({ votes: [GOOD], attempt: 2 })]
    const { gate } = calibrate('facts', entries)
    expect(gate.blocking_findings_overturned).toMatchObject({ count: 1, share: { value: 1, n: 1 } })
    expect(gate.dimensions.map(one => [one.dimension, one.blocking_findings_overturned.count])).toEqual([
      ['correctness', 1],
      ['style', 0],
    ])
  })

  it('blocking_findings_overturned: a dimension that was not judged again is not overturned', () => {
    const again = entryOf({ votes: [{ scores: { style: 8 } }], earlier: ['correctness'], attempt: 2 })
    const report = calibrate('facts', [entryOf({ votes: [BAD] }), again])
    expect(report.gate.blocking_findings_overturned).toEqual({ count: 0 })
  })

  it('consistency_score: scores of one result against each other, as a part of the scale', () => {
    const report = calibrate('facts', [
      entryOf({ votes: [{ scores: { correctness: 9 } }] }),
      entryOf({ votes: [{ scores: { correctness: 7 } }], runId: 'run-2' }),
      entryOf({ votes: [{ scores: { correctness: 1 } }], runId: 'run-3', result: 'other' }),
    ])
    expect(report.verifiers[0]?.consistency_score).toMatchObject({ value: expect.closeTo(0.8), n: 1 })
  })

  it('consistency_score: every two scores of a result count, and each dimension as much as the others', () => {
    // 9, 7 and 4 differ by 2, 3 and 5: a third of a scale of ten. The other dimension is always the same.
    const scores = [9, 7, 4].map(correctness => ({ scores: { correctness, style: 8 } }))
    const report = calibrate('facts', [entryOf({ votes: scores })])
    expect(report.verifiers[0]?.consistency_score).toMatchObject({ value: expect.closeTo(1 - 1 / 6), n: 1 })
  })

  it('false_positive_rate: of its blocking findings, those that turned out to be incorrect', () => {
    const three = { ...BAD, blocking: ['correctness', 'correctness', 'style'] }
    const below = { scores: { correctness: 3, style: 8 } }
    const report = calibrate('facts', [
      entryOf({ votes: [three], by: 'ada', verdict: 'pass' }),
      entryOf({ runId: '2', votes: [BAD], by: 'ada', verdict: 'fail' }),
      // A result that was stopped without a finding that blocks has none that could be incorrect.
      entryOf({ runId: '3', votes: [below], by: 'ada', verdict: 'pass' }),
    ])
    expect(report.verifiers[0]?.false_positive_rate).toMatchObject({ value: 0.75, n: 2 })
    expect(dimension('correctness', report).false_positive_rate).toMatchObject({ value: expect.closeTo(2 / 3), n: 2 })
    expect(dimension('style', report).false_positive_rate).toMatchObject({ value: 1, n: 1 })
  })

  it('false_positive_rate: is not told where nobody has looked at a kind of result that was blocked', () => {
    const report = calibrate('facts', [
      entryOf({ votes: [BAD], by: 'ada', verdict: 'pass' }),
      entryOf({ runId: '2', votes: [BAD] }),
    ])
    expect(report.verifiers[0]?.false_positive_rate).toBeUndefined()
  })

  it('false_positive_rate: what nobody answered for is left out', () => {
    const overruled = entryOf({ votes: [BAD], by: 'ada', verdict: 'pass' })
    const agreed = ['2', '3', '4'].map(id => entryOf({ runId: id, votes: [BAD], by: 'ada', verdict: 'fail' }))
    const report = calibrate('facts', [overruled, ...agreed, entryOf({ runId: '5', votes: [BAD], by: 'timeout' })])
    expect(report.verifiers[0]?.false_positive_rate).toMatchObject({ value: 0.25, n: 4 })
    expect(dimension('correctness', report).false_positive_rate).toMatchObject({ value: 0.25, n: 4 })
    expect(dimension('style', report).false_positive_rate).toBeUndefined()
  })

  it('a dissenter is judged by its own vote, the gate by its verdict', () => {
    const votes = [
      { agentId: 'strict', ...BAD },
      { agentId: 'kind', ...GOOD },
      { agentId: 'mild', ...GOOD },
    ]
    const report = calibrate('facts', [entryOf({ votes, by: 'ada', verdict: 'pass' })])
    const rates = [report.gate, ...report.verifiers].map(one => [one.judge, one.true_negative_rate?.value])
    expect(rates).toEqual([
      ['host:gate:facts', 1],
      ['kind', 1],
      ['mild', 1],
      ['strict', 0],
    ])
    expect(report.gate.dimensions[0]?.false_positive_rate).toBeUndefined()
  })

  it('three seats of one judge that say the same are not three pieces of evidence', () => {
    const runs = Array.from({ length: 10 }, (_, i) => `run-${i}`)
    const reportOf = (seats: number) =>
      calibrate(
        'facts',
        runs.map(runId =>
          entryOf({ runId, votes: Array.from({ length: seats }, () => GOOD), by: 'ada', verdict: 'pass' }),
        ),
      )
    expect(reportOf(3).verifiers[0]?.true_negative_rate).toEqual(reportOf(1).verifiers[0]?.true_negative_rate)
  })
})
