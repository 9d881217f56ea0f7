import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { criterion, finding, gate, probed, vote } from '../../testing/ballots.js'
import { attemptStanding, bestOf, feedbackOf, isBetter, isStuck } from './feedback.js'
import type { Judgement, Standing } from './voting/judgement.js'
import { judgeVotes } from './voting/quorum.js'

const GATE = gate([
  criterion('a', { weight: 3 }),
  criterion('b', { scale: { min: 1, max: 5, type: 'integer' }, pass_threshold: 3 }),
  probed('p', 'x'),
])
const judgement = (differently: Partial<Judgement>): Judgement => ({
  verdict: 'fail',
  scores: {},
  findings: [],
  quorum: { votes: 1, passVotes: 0, needed: 1 },
  failed: [],
  ...differently,
})

describe('R-DWS-19: what a worker is told', () => {
  it('the blocking findings, and not whose they are', () => {
    const found = [finding('a', 'blocking', 'v1-1'), finding('b', 'warning', 'v1-2'), finding('a', 'advisory', 'v1-3')]
    const feedback = feedbackOf(GATE, 2, judgement({ findings: found, failed: ['a'], scores: { a: 1, b: 5 } }))
    const { source: _, ...told } = found[0]!
    expect(feedback).toEqual({ gateId: 'g', attempt: 2, dimensions: ['a'], findings: [told] })
  })

  it('which score was too low, where nobody said why', () => {
    const scores = { a: 1, b: 2 }
    const { findings, dimensions } = feedbackOf(GATE, 1, judgement({ failed: ['b'], scores }))
    expect(dimensions).toEqual(['b'])
    expect(findings).toEqual([
      {
        finding_id: 's-b',
        dimension: 'b',
        classification: 'blocking',
        description: 'Too few verifiers gave b a score of 3 or more.',
        evidence: [{ evidence_type: 'metric', ref: 'b', detail: 'mean score 2, threshold 3, scale 1 to 5' }],
        recommendation: 'Raise b to 3 or more.',
      },
    ])
  })

  it('nothing about what nobody found wanting', () => {
    const only = judgement({ findings: [finding('p', 'blocking')], failed: ['a', 'b', 'p'], unproven: ['a', 'b'] })
    expect(feedbackOf(GATE, 1, only)).toMatchObject({ dimensions: ['p'], findings: [{ dimension: 'p' }] })
  })

  it('a fail always says what to put right', () => {
    const TWO = gate([criterion('a'), criterion('b')])
    const score = fc.constantFrom(0, 0.3, 0.5, 1)
    fc.assert(
      fc.property(score, score, fc.subarray(['a', 'b']), (a, b, blocked) => {
        const fails = a < 0.5 || b < 0.5 || blocked.length > 0
        const findings = blocked.map(dimension => finding(dimension, 'blocking'))
        const said = vote({ a, b }, { findings, verdict: fails ? 'fail' : 'pass' })
        const judged = judgeVotes(TWO, ['a', 'b'], {
          settled: { scores: {}, findings: [], unavailable: [] },
          answers: [said],
        })
        if (typeof judged === 'string') throw new Error(judged)
        const feedback = feedbackOf(TWO, 1, judged)
        expect(feedback.findings.length > 0).toBe(fails)
        expect(feedback.dimensions).toEqual(judged.failed)
        expect(attemptStanding(TWO, 1, judged).blocking).toBe(feedback.findings.length)
      }),
    )
  })
})

describe('how good an attempt was', () => {
  it('is how near it came to its thresholds, by the weight of the criteria', () => {
    const of = (differently: Partial<Judgement>) => attemptStanding(GATE, 1, judgement(differently))
    expect(of({ verdict: 'pass', scores: { a: 0.5, b: 5, p: 1 } })).toEqual({ attempt: 1, blocking: 0, score: 1 })
    expect(of({ failed: ['a', 'b'], scores: { a: 0.25, b: 2, p: 1 } })).toEqual({ attempt: 1, blocking: 2, score: 0.6 })
    const unjudged = { failed: ['a', 'b', 'p'], unproven: ['a', 'b'], scores: { p: 0 } }
    expect(of({ ...unjudged, findings: [finding('p', 'blocking')] })).toEqual({ attempt: 1, blocking: 1, score: 0 })
  })

  it('a criterion whose threshold is the least score is held by every score', () => {
    const lenient = gate([criterion('a', { scale: { min: 1, max: 5, type: 'integer' }, pass_threshold: 1 })])
    expect(attemptStanding(lenient, 1, judgement({ verdict: 'pass', scores: { a: 1 } })).score).toBe(1)
  })

  it('R-DWS-23: an attempt judged only by what had failed compares with one judged by everything', () => {
    const first = attemptStanding(GATE, 1, judgement({ failed: ['b'], scores: { a: 1, b: 1, p: 1 } }))
    const second = attemptStanding(GATE, 2, judgement({ failed: ['b'], scores: { b: 2 } }))
    expect(isBetter(second, first)).toBe(true)
    expect(isBetter(first, second)).toBe(false)
  })
})

describe('attempts in a row', () => {
  const row = (...scores: [blocking: number, score: number][]): Standing[] =>
    scores.map(([blocking, score], i) => ({ attempt: i + 1, blocking, score }))

  it('fewer blocking findings are better, then a higher score; the first of equals is the best', () => {
    expect(bestOf([])).toBeUndefined()
    expect(bestOf(row([2, 0.9], [1, 0.1], [1, 0.3], [1, 0.3]))?.attempt).toBe(3)
  })

  it.each<[boolean, [number, number][]]>([
    [false, []],
    [false, [[1, 0.5]]],
    [
      false,
      [
        [1, 0.5],
        [1, 0.5],
      ],
    ],
    [
      true,
      [
        [1, 0.5],
        [1, 0.5],
        [1, 0.5],
      ],
    ],
    [
      true,
      [
        [1, 0.5],
        [2, 0.9],
        [1, 0.4],
      ],
    ],
    [
      false,
      [
        [1, 0.5],
        [2, 0.9],
        [1, 0.6],
      ],
    ],
    [
      false,
      [
        [1, 0.5],
        [0, 0.5],
        [1, 0.9],
      ],
    ],
    [
      true,
      [
        [3, 0.1],
        [1, 0.5],
        [2, 0.5],
        [1, 0.5],
      ],
    ],
    [
      false,
      [
        [1, 0.5],
        [1, 0.5],
        [1, 0.6],
        [1, 0.6],
      ],
    ],
  ])('stuck is %s after %j', (expected, standings) => {
    expect(isStuck(row(...standings))).toBe(expected)
  })

  it('better is an order, and what gets better is never stuck', () => {
    const standing = fc.record({
      attempt: fc.constant(1),
      blocking: fc.nat({ max: 3 }),
      score: fc.constantFrom(0, 0.5, 1),
    })
    fc.assert(
      fc.property(standing, standing, standing, fc.array(standing, { maxLength: 4 }), (a, b, c, before) => {
        expect(isBetter(a, a)).toBe(false)
        if (isBetter(a, b)) expect(isBetter(b, a)).toBe(false)
        if (isBetter(a, b) && isBetter(b, c)) expect(isBetter(a, c)).toBe(true)
        const best = bestOf([...before, a])!
        expect([...before, a].some(standing => isBetter(standing, best))).toBe(false)
        if (isBetter(b, best)) expect(isStuck([...before, a, b, c]) || isStuck([...before, a, c, b])).toBe(false)
      }),
    )
  })
})
