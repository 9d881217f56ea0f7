import { Ajv2020 } from 'ajv/dist/2020.js'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { bound, criterion, gate, probed } from '../../../testing/ballots.js'
import type { Json, JsonObject } from '../../json.js'
import { ANSWER_LIMITS, answerSchema } from './answer-schema.js'
import { voteOf } from './vote.js'

const GATE = gate([
  criterion('correctness'),
  criterion('quality', { scale: { min: 1, max: 5, type: 'integer' }, pass_threshold: 3 }),
  probed('format', 'is-json'),
])
const VERIFIER = { agentId: 'a.b', weight: 1, childRunId: 'c', position: 0 }

const LENIENT = gate([criterion('correctness'), criterion('quality', { evidence_required: false })])

describe('the schema of a verifier’s answer', () => {
  it('R-DWS-13 to 15: asks for a score of each dimension that is judged, and for findings about any', () => {
    const schema = answerSchema(GATE, ['quality', 'format'])
    expect(schema).toMatchObject({
      required: ['scores', 'findings'],
      additionalProperties: false,
      properties: {
        scores: {
          required: ['quality'],
          additionalProperties: false,
          properties: {
            quality: {
              anyOf: [
                { type: 'integer', minimum: 1, maximum: 5 },
                { required: ['could_not_check'], additionalProperties: false },
              ],
            },
          },
        },
        findings: { maxItems: ANSWER_LIMITS.findings, items: { properties: { evidence: { minItems: 1 } } } },
      },
    })
    expect(JSON.stringify(schema)).toContain('["correctness","quality","format"]')
  })

  it('DWS Spec 8 §2: asks for evidence where the criterion does', () => {
    const fits = new Ajv2020().compile(answerSchema(LENIENT, ['correctness']))
    const about = (dimension: string) =>
      fits({
        scores: { correctness: 1 },
        findings: [{ dimension, classification: 'warning', description: 'x', evidence: [] }],
      })
    expect([about('quality'), about('correctness')]).toEqual([true, false])
  })

  it('R-DWS-36: what fits it is a vote, and nothing else is', () => {
    const fits = new Ajv2020().compile(answerSchema(GATE, ['correctness', 'quality', 'format']))
    const seen = { votes: 0, faults: 0, unchecked: 0 }
    fc.assert(
      fc.property(answer, said => {
        const heard = voteOf(bound(GATE), ['correctness', 'quality', 'format'], VERIFIER, said, undefined)
        const code = heard.ok ? 'vote' : heard.code
        seen[heard.ok ? 'votes' : code === 'could_not_check' ? 'unchecked' : 'faults'] += 1
        // Only what a score and a finding say together no schema can tell.
        expect(code !== 'verifier_off_schema').toBe(fits(said))
      }),
      { numRuns: 500 },
    )
    expect(Math.min(seen.votes, seen.faults, seen.unchecked)).toBeGreaterThan(20)
  })
})

/** Mostly good; now and then a part of it is not. */
const mostly = (good: fc.Arbitrary<Json>, ...bad: Json[]): fc.Arbitrary<Json> =>
  fc.oneof({ weight: 30, arbitrary: good }, { weight: 1, arbitrary: fc.constantFrom<Json>(...bad, null) })

/** An object with these, of which now and then one is missing or one is too many. */
const object = (fields: { readonly [name: string]: fc.Arbitrary<Json> }): fc.Arbitrary<Json> =>
  fc.oneof(
    { weight: 30, arbitrary: fc.record(fields) },
    { weight: 1, arbitrary: fc.record(fields, { requiredKeys: [] }) as fc.Arbitrary<JsonObject> },
    { weight: 1, arbitrary: fc.record({ ...fields, more: fc.constant(1) }) },
  )

const text = (most: number) =>
  mostly(fc.constantFrom('words', '😀'.repeat(most), ' x '), '', ' ', 'x'.repeat(most + 1), '😀'.repeat(most + 1))

const UNSEEN = { could_not_check: 'words' }

const finding = object({
  dimension: mostly(fc.constantFrom('correctness', 'quality', 'format'), 'style', 'constructor'),
  classification: mostly(fc.constantFrom('blocking', 'warning', 'advisory'), 'fatal'),
  description: text(ANSWER_LIMITS.text),
  evidence: mostly(
    fc.array(
      object({
        evidence_type: mostly(fc.constantFrom('metric', 'comparison', 'line_reference'), 'hunch'),
        ref: text(ANSWER_LIMITS.ref),
        detail: text(ANSWER_LIMITS.text),
      }),
      { minLength: 1, maxLength: 2 },
    ),
    [],
    {},
  ),
})

const answer = object({
  scores: object({
    correctness: mostly(fc.constantFrom<Json>(0, 0.5, 1, UNSEEN), -0.1, 1.1, '1'),
    quality: mostly(fc.constantFrom<Json>(1, 3, 5, UNSEEN), 0, 6, 2.5, { could_not_check: '' }, { score: 3 }),
  }),
  findings: mostly(fc.array(finding, { maxLength: 2 }), {}, 'none'),
})
