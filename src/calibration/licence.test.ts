import { describe, expect, it } from 'vitest'
import { casesOf, digestOf } from './labels.js'
import { trackRecordOf } from './licence.js'
import { entryOf } from './testing/entry.js'

const accepted = (n: number) =>
  Array.from({ length: n }, (_, i) =>
    digestOf(entryOf({ runId: `run-${i}`, votes: [{ scores: { correctness: 9 } }], by: 'ada', verdict: 'pass' })),
  )

const overruled = digestOf(entryOf({ votes: [{ scores: { correctness: 2 } }], by: 'ada', verdict: 'pass' }))
const unseen = digestOf(entryOf({ runId: 'unseen', votes: [{ scores: { correctness: 9 } }] }))

describe('R-DWS-26: what a gate has shown of itself', () => {
  it('nothing, before anybody has looked', () => {
    expect(trackRecordOf(casesOf([unseen]))).toEqual({ n: 0, lower: 0 })
  })

  it('grows with every verdict that turned out right, and only slowly', () => {
    expect(trackRecordOf(casesOf(accepted(34)))).toEqual({ n: 34, lower: expect.closeTo(0.898, 3) })
    expect(trackRecordOf(casesOf(accepted(35)))).toEqual({ n: 35, lower: expect.closeTo(0.901, 3) })
  })

  it('falls with a verdict that a person overruled', () => {
    const { n, lower } = trackRecordOf(casesOf([...accepted(34).slice(2), overruled]))
    expect(n).toBe(33)
    expect(lower).toBeLessThan(0.86)
  })
})
