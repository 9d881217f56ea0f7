import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bound, criterion, gate, probed } from '../../../testing/ballots.js'
import type { Json, JsonObject } from '../../json.js'
import { ANSWER_LIMITS } from './answer-schema.js'
import { voteOf } from './vote.js'

const GATE = gate([
  criterion('correctness'),
  criterion('quality', { scale: { min: 1, max: 5, type: 'integer' }, pass_threshold: 3, evidence_required: false }),
  probed('format', 'is-json'),
])
const ALL = ['correctness', 'quality', 'format']
const VERIFIER = { agentId: 'acme.critic', weight: 2, childRunId: 'child', model: 'offline:m', position: 1 }

const GOOD = { correctness: 0.9, quality: 4 }
const EVIDENCE = { evidence_type: 'line_reference', ref: '/text:3', detail: 'Says 4, the source says 5.' }
const FINDING = { dimension: 'correctness', classification: 'warning', description: 'A slip.', evidence: [EVIDENCE] }

const held = (answer: Json, confidence?: number, dimensions: readonly string[] = ALL) =>
  voteOf(bound(GATE), dimensions, VERIFIER, answer, confidence)

const verdict = (scores: JsonObject, ...findings: Json[]) => {
  const said = held({ scores, findings })
  return said.ok ? said.vote.verdict : said.code
}

describe('a verifier’s answer becomes a vote', () => {
  it('R-DWS-13: with findings that the host numbers and signs', () => {
    const advice = { ...FINDING, classification: 'advisory', recommendation: 'Name the source.' }
    expect(held({ scores: GOOD, findings: [FINDING, advice] }, 0.8)).toEqual({
      ok: true,
      vote: {
        agentId: 'acme.critic',
        weight: 2,
        childRunId: 'child',
        model: 'offline:m',
        scores: GOOD,
        findings: [
          { ...FINDING, finding_id: 'v2-1', source: 'acme.critic' },
          { ...advice, finding_id: 'v2-2', source: 'acme.critic' },
        ],
        verdict: 'conditional_pass',
        confidence: 0.8,
      },
    })
  })

  it.each<[string, JsonObject, string[], string]>([
    ['everything at its threshold and nothing found', { correctness: 0.5, quality: 3 }, [], 'pass'],
    ['advice has no effect', GOOD, ['advisory'], 'pass'],
    ['a warning', GOOD, ['advisory', 'warning'], 'conditional_pass'],
    ['a score beneath its threshold', { correctness: 0.4999, quality: 5 }, ['advisory'], 'fail'],
    ['one that needs no evidence', { correctness: 1, quality: 2 }, [], 'fail'],
    ['a blocking finding, whatever the scores', { correctness: 1, quality: 5 }, ['blocking'], 'fail'],
    ['both, and a warning', { correctness: 0, quality: 1 }, ['warning', 'blocking'], 'fail'],
  ])('R-DWS-15 R-DWS-16 R-DWS-17 R-DWS-18, %s: %j with %j is %s', (_, scores, classes, expected) => {
    expect(verdict(scores, ...classes.map(classification => ({ ...FINDING, classification })))).toBe(expected)
  })

  it('a finding may be about any criterion of the gate, asked for or not', () => {
    for (const dimension of ALL) {
      const said = held(
        { scores: { quality: 5 }, findings: [{ ...FINDING, dimension, classification: 'blocking' }] },
        1,
        ['quality'],
      )
      expect(said).toMatchObject({ ok: true, vote: { verdict: 'fail' } })
    }
  })

  it('a key that every object inherits is a dimension like any other', () => {
    const odd = bound(gate([criterion('constructor'), criterion('valueof')]))
    const of = (scores: JsonObject) =>
      voteOf(odd, ['constructor', 'valueof'], VERIFIER, { scores, findings: [] }, undefined)
    expect(of({ valueof: 1 })).toEqual({ ok: false, code: 'verifier_off_schema' })
    expect(of({ constructor: 1, valueof: 1 })).toMatchObject({ ok: true, vote: { verdict: 'pass' } })
    expect(of({ constructor: 0, valueof: 1 })).toEqual({ ok: false, code: 'verifier_no_evidence' })
  })
})

describe('DWS Spec 8 §2: evidence_required', () => {
  const short = { correctness: 0.2, quality: 4 }

  it('with true, a score below the threshold that no finding with evidence explains is no vote', () => {
    const fault = { ok: false, code: 'verifier_no_evidence' }
    expect(held({ scores: short, findings: [] })).toEqual(fault)
    expect(held({ scores: short, findings: [{ ...FINDING, dimension: 'format' }] })).toEqual(fault)
    expect(held({ scores: short, findings: [FINDING] })).toMatchObject({ ok: true, vote: { verdict: 'fail' } })
  })

  it('with false, scores and findings stand without', () => {
    const bare = { ...FINDING, dimension: 'quality', classification: 'blocking', evidence: [] }
    expect(verdict({ correctness: 1, quality: 1 })).toBe('fail')
    expect(verdict(GOOD, bare)).toBe('fail')
    expect(verdict(GOOD, { ...bare, dimension: 'correctness' })).toBe('verifier_off_schema')
  })
})

describe('R-DWS-36: a criterion that could not be checked', () => {
  const UNSEEN = { could_not_check: 'The invoice is not here.' }
  const unchecked = [{ dimension: 'quality', reason: 'The invoice is not here.' }]

  it('makes a vote that would pass none: never a pass, and what was found besides is kept', () => {
    const said = held({ scores: { correctness: 1, quality: UNSEEN }, findings: [FINDING] }, 1)
    const findings = [{ ...FINDING, finding_id: 'v2-1', source: 'acme.critic' }]
    expect(said).toEqual({ ok: false, code: 'could_not_check', unchecked, findings })
  })

  it('leaves a vote that fails for another reason a vote', () => {
    const said = held({ scores: { correctness: 0.1, quality: UNSEEN }, findings: [FINDING] })
    expect(said).toMatchObject({ ok: true, vote: { verdict: 'fail', scores: { correctness: 0.1 }, unchecked } })
  })

  it.each<[string, Json]>([
    ['without a reason', { could_not_check: ' ' }],
    ['with a reason that is no text', { could_not_check: true }],
    ['with a score besides', { could_not_check: 'x', score: 4 }],
    ['left out', null],
  ])('%s is an answer to nothing', (_, quality) => {
    expect(held({ scores: { correctness: 1, quality }, findings: [] }).ok).toBe(false)
  })
})

describe('R-DWS-36: what was not asked for is no vote', () => {
  it.each<[string, Json]>([
    ['no object', 'pass'],
    ['nothing', null],
    ['a list', []],
    ['no scores', { findings: [] }],
    ['no findings', { scores: GOOD }],
    ['a verdict of its own', { scores: GOOD, findings: [], verdict: 'pass' }],
    ['a score too few', { scores: { correctness: 1 }, findings: [] }],
    ['R-DWS-32: a score for a key of its own', { scores: { ...GOOD, style: 1 }, findings: [] }],
    ['a score for what probes settle', { scores: { ...GOOD, format: 1 }, findings: [] }],
    ['a score above the scale', { scores: { ...GOOD, correctness: 1.0001 }, findings: [] }],
    ['a score beneath the scale', { scores: { ...GOOD, quality: 0 }, findings: [] }],
    ['part of a point on a scale of whole ones', { scores: { ...GOOD, quality: 4.5 }, findings: [] }],
    ['a score as text', { scores: { ...GOOD, correctness: '0.9' }, findings: [] }],
    ['a score that is no number', { scores: { ...GOOD, correctness: Number.NaN }, findings: [] }],
    ['an endless score', { scores: { ...GOOD, correctness: Number.POSITIVE_INFINITY }, findings: [] }],
    ['scores as a list', { scores: [1, 5], findings: [] }],
    ['findings as an object', { scores: GOOD, findings: {} }],
    ['too many findings', { scores: GOOD, findings: Array<Json>(ANSWER_LIMITS.findings + 1).fill(FINDING) }],
  ])('%s', (_, answer) => {
    expect(held(answer)).toEqual({ ok: false, code: 'verifier_off_schema' })
  })

  it.each<[string, Json]>([
    ['is text', 'wrong'],
    ['is about a dimension that the gate does not have', { ...FINDING, dimension: 'style' }],
    ['is about a name that objects inherit', { ...FINDING, dimension: 'constructor' }],
    ['R-DWS-15: is of a class of its own', { ...FINDING, classification: 'fatal' }],
    ['R-DWS-13: has no description', { ...FINDING, description: '' }],
    ['has a blank description', { ...FINDING, description: ' \n' }],
    ['has a description that is too long', { ...FINDING, description: 'x'.repeat(ANSWER_LIMITS.text + 1) }],
    ['R-DWS-13: has no evidence', { ...FINDING, evidence: [] }],
    ['has no list of evidence where the criterion asks for none', { ...FINDING, dimension: 'quality', evidence: null }],
    ['has evidence that is no list', { ...FINDING, evidence: EVIDENCE }],
    ['has too much evidence', { ...FINDING, evidence: Array<Json>(ANSWER_LIMITS.evidence + 1).fill(EVIDENCE) }],
    ['R-DWS-14: has evidence of an unknown type', { ...FINDING, evidence: [{ ...EVIDENCE, evidence_type: 'hunch' }] }],
    ['R-DWS-14: has evidence of nothing', { ...FINDING, evidence: [{ ...EVIDENCE, ref: ' ' }] }],
    ['R-DWS-14: has evidence without detail', { ...FINDING, evidence: [{ evidence_type: 'metric', ref: 'a' }] }],
    ['has evidence with more to it', { ...FINDING, evidence: [{ ...EVIDENCE, weight: 1 }] }],
    ['brings an id of its own', { ...FINDING, finding_id: 'p-is-json' }],
    ['signs for somebody else', { ...FINDING, source: 'host:probe' }],
    ['recommends nothing', { ...FINDING, recommendation: null }],
  ])('a finding that %s', (_, finding) => {
    expect(held({ scores: GOOD, findings: [FINDING, finding] })).toEqual({ ok: false, code: 'verifier_off_schema' })
  })

  it.each([-0.1, 1.1, Number.NaN, Number.POSITIVE_INFINITY])('a confidence of %d', confidence => {
    expect(held({ scores: GOOD, findings: [] }, confidence).ok).toBe(false)
  })

  it('characters are counted, not the units they are stored in', () => {
    const described = (length: number) =>
      held({ scores: GOOD, findings: [{ ...FINDING, description: '😀'.repeat(length) }] })
    expect(described(ANSWER_LIMITS.text).ok).toBe(true)
    expect(described(ANSWER_LIMITS.text + 1).ok).toBe(false)
  })

  it('any JSON is a vote or none, and never an error', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.jsonValue(), fc.jsonValue(), (answer, scores, findings) => {
        expect(held(answer as Json).ok).toBe(false)
        expect(held({ scores: scores as Json, findings: [] }).ok).toBe(false)
        expect(held({ scores: GOOD, findings: [findings as Json] }).ok).toBe(false)
      }),
    )
  })

  it('a score is taken as it is or not at all', () => {
    fc.assert(
      fc.property(fc.double({ min: -2, max: 8 }), fc.double({ min: -2, max: 8 }), (correctness, quality) => {
        const said = held({ scores: { correctness, quality }, findings: [] })
        const isIn = correctness >= 0 && correctness <= 1 && quality >= 1 && quality <= 5 && Number.isInteger(quality)
        // A score below the threshold says what is there, where the criterion asks for evidence.
        const fits = isIn && correctness >= 0.5
        expect(said.ok).toBe(fits)
        if (said.ok) expect(said.vote.scores).toEqual({ correctness, quality })
      }),
    )
  })
})
