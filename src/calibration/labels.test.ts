import { describe, expect, it } from 'vitest'
import { casesOf, digestOf } from './labels.js'
import { entryOf } from './testing/entry.js'

const GOOD = [{ scores: { correctness: 9 } }]
const BAD = [{ scores: { correctness: 3 }, blocking: ['correctness'] }]

const labelsOf = (...entries: ReturnType<typeof entryOf>[]) =>
  casesOf(entries.map(digestOf)).map(({ label }) => label && `${label.truth} ${label.by}`)

describe('R-DWS-26: how it is known whether a result was good', () => {
  it('a verdict that nobody has looked at has no label', () => {
    expect(labelsOf(entryOf({ votes: GOOD }), entryOf({ runId: 'run-2', votes: BAD }))).toEqual([undefined, undefined])
  })

  it('L2: what a person accepts is good although it failed, and is one case with the verdict it overrules', () => {
    const failed = entryOf({ votes: BAD })
    const accepted = entryOf({ votes: BAD, by: 'ada', verdict: 'pass' })
    expect(labelsOf(failed, accepted)).toEqual(['good human-override'])
    expect(labelsOf(accepted, failed)).toEqual(['good human-override'])
  })

  it('L2: a person who was asked before a commit says good or bad of a result that passed', () => {
    expect(labelsOf(entryOf({ votes: GOOD, by: 'ada', verdict: 'pass' }))).toEqual(['good confirmation'])
    expect(labelsOf(entryOf({ votes: GOOD, by: 'ada', verdict: 'fail' }))).toEqual(['bad human-reject'])
    expect(labelsOf(entryOf({ votes: GOOD, by: 'ada', verdict: 'revise' }))).toEqual(['bad human-reject'])
  })

  it('L2: a question that ran out of time is nobody’s word', () => {
    expect(labelsOf(entryOf({ votes: GOOD, by: 'timeout', verdict: 'fail' }))).toEqual([undefined])
  })

  it('L3: a failure that the next attempt overturns on the unchanged result was wrong; the pass proves nothing', () => {
    const [first, second] = [entryOf({ votes: BAD }), entryOf({ votes: GOOD, attempt: 2 })]
    expect(labelsOf(first, second)).toEqual(['good re-verification', undefined])
  })

  it.each([
    ['the result changed', entryOf({ votes: GOOD, attempt: 2, result: 'other' })],
    ['it was held against other sources', entryOf({ votes: GOOD, attempt: 2, sources: 'other' })],
    ['it failed again', entryOf({ votes: BAD, attempt: 2 })],
    ['it was another run', entryOf({ votes: GOOD, attempt: 2, runId: 'run-2' })],
    ['an attempt is missing between them', entryOf({ votes: GOOD, attempt: 3 })],
  ])('L3: nothing is overturned when %s', (_, second) => {
    expect(labelsOf(entryOf({ votes: BAD }), second)).toEqual([undefined, undefined])
  })

  it('L3: nothing is overturned by a pass that a person then refuses', () => {
    const refused = entryOf({ votes: GOOD, attempt: 2, by: 'ada', verdict: 'fail' })
    expect(labelsOf(entryOf({ votes: BAD }), refused)).toEqual([undefined, 'bad human-reject'])
  })

  it('L1: what was planted counts once, and as what it was planted', () => {
    const entry = entryOf({ votes: GOOD, by: 'ada', verdict: 'pass' })
    const cases = casesOf([digestOf(entry)], [{ digest: digestOf(entry), truth: 'bad' }])
    expect(cases.map(({ label }) => label)).toEqual([{ truth: 'bad', by: 'planted' }])
  })

  it('R-SEC-1: nothing that anybody wrote is kept', () => {
    const digest = digestOf(entryOf({ votes: BAD }))
    expect(JSON.stringify([digest, [...digest.ranges], [...digest.gate.scores]])).not.toContain('words')
  })
})
