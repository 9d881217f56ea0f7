import { describe, expect, it } from 'vitest'
import { lowerShare } from './anytime.js'
import { casesOf, digestOf, type Truth } from './labels.js'
import { trackRecordOf } from './licence.js'
import { entryOf } from './testing/entry.js'

const GOOD = [{ scores: { correctness: 9 } }]
const BAD = [{ scores: { correctness: 2 } }]

const many = (n: number, name: string, sample: Omit<Parameters<typeof entryOf>[0], 'runId'>) =>
  Array.from({ length: n }, (_, i) => digestOf(entryOf({ runId: `${name}-${i}`, ...sample })))

const accepted = (n: number) => many(n, 'accepted', { votes: GOOD, by: 'ada', verdict: 'pass' })
const refused = (n: number) => many(n, 'refused', { votes: GOOD, by: 'ada', verdict: 'fail' })
const planted = (n: number, truth: Truth, passes: boolean) =>
  many(n, `planted ${truth} ${passes}`, { votes: passes ? GOOD : BAD }).map(digest => ({ digest, truth }))

describe('R-DWS-26: what a gate has shown of itself', () => {
  it('nothing, before anybody has looked', () => {
    expect(trackRecordOf(casesOf(many(9, 'unseen', { votes: GOOD })))).toEqual({
      badStopped: { n: 0, lower: 0 },
      goodPassed: { n: 0, lower: 0 },
    })
  })

  it('a gate that lets everything pass has shown nothing of bad results, however many good ones it has let pass', () => {
    const { badStopped, goodPassed } = trackRecordOf(casesOf([...accepted(400), ...refused(20)]))
    expect(badStopped).toEqual({ n: 20, lower: 0 })
    expect(goodPassed.n).toBe(400)
    expect(goodPassed.lower).toBeGreaterThan(0.9)
  })

  it('planted defects that it stops count for the bad side, and only slowly', () => {
    const shown = (n: number) => trackRecordOf(casesOf([], planted(n, 'bad', false))).badStopped
    expect(shown(50)).toEqual({ n: 50, lower: expect.closeTo(0.899, 3) })
    expect(shown(51).lower).toBeGreaterThanOrEqual(0.9)
  })

  it('what people refused at work counts against it beside what was planted', () => {
    const { badStopped } = trackRecordOf(casesOf(refused(20), planted(60, 'bad', false)))
    expect(badStopped).toEqual({ n: 80, lower: expect.closeTo(lowerShare(60, 20, 0.025), 6) })
  })

  it('what people confirmed of failures does not count for it where nobody looks at what passed', () => {
    const failures = many(200, 'confirmed', { votes: BAD, by: 'ada', verdict: 'fail' })
    const passes = many(200, 'passed', { votes: GOOD })
    expect(trackRecordOf(casesOf([...failures, ...passes])).badStopped.lower).toBeLessThan(0.5)
  })

  it('results that failed and were never looked at may all have been good', () => {
    const failed = many(100, 'failed', { votes: BAD })
    const { goodPassed } = trackRecordOf(casesOf([...accepted(400), ...failed]))
    expect(goodPassed.lower).toBeLessThan(0.8)
  })
})

describe('a bound that holds at every look', () => {
  it('is nothing for nothing, below the share that was seen, and nearer to it the more was seen', () => {
    expect(lowerShare(0, 0, 0.05)).toBe(0)
    expect(lowerShare(0, 40, 0.05)).toBe(0)
    const bounds = [10, 100, 1_000, 10_000].map(n => lowerShare(n * 0.9, n * 0.1, 0.05))
    expect(bounds).toEqual([...bounds].sort((a, b) => a - b))
    expect(bounds.every(bound => bound < 0.9)).toBe(true)
    expect(bounds.at(-1)).toBeGreaterThan(0.885)
  })

  it('of all right: (1 - p^(n+1)) / ((n + 1)(1 - p) p^n) is 1 / alpha', () => {
    const [n, alpha] = [43, 0.05]
    const p = lowerShare(n, 0, alpha)
    expect((1 - p ** (n + 1)) / ((n + 1) * (1 - p) * p ** n)).toBeCloseTo(1 / alpha, 3)
  })
})
