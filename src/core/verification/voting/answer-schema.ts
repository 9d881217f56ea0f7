import type { JsonObject } from '../../json.js'
import { askedOf } from '../evidence.js'
import type { Gate, Scale } from '../gate.js'
import { CLASSIFICATIONS, EVIDENCE_TYPES } from './judgement.js'

/** How much a verifier may say. Lengths are in characters. */
export const ANSWER_LIMITS = { findings: 100, evidence: 20, text: 4_000, ref: 1_000 } as const

/** What a verifier is asked to answer with (R-DWS-13 to 15); `voteOf` has the last word. */
export function answerSchema(gate: Gate, dimensions: readonly string[]): JsonObject {
  const asked = askedOf(gate, dimensions)
  const criteria = gate.evaluation_criteria.filter(({ dimension }) => asked.includes(dimension))
  const scores = Object.fromEntries(criteria.map(({ dimension, scale }) => [dimension, score(scale)]))
  return closed({ scores: closed(scores), findings: list(finding(gate), 0, ANSWER_LIMITS.findings) })
}

/** Every criterion that is asked for is in the answer: with a score, or with why it has none. */
const score = ({ min, max, type }: Scale): JsonObject => ({
  anyOf: [
    { type: type === 'integer' ? 'integer' : 'number', minimum: min, maximum: max },
    closed({ could_not_check: text(ANSWER_LIMITS.text) }),
  ],
})

/** Evidence is asked for where the criterion does. */
function finding({ evaluation_criteria }: Gate): JsonObject {
  const forms = [true, false].flatMap(isRequired => {
    const keys = evaluation_criteria.filter(({ evidence_required }) => evidence_required === isRequired)
    return keys.length === 0
      ? []
      : [
          findingAbout(
            keys.map(({ dimension }) => dimension),
            isRequired ? 1 : 0,
          ),
        ]
  })
  const [only, ...others] = forms
  return only !== undefined && others.length === 0 ? only : { anyOf: forms }
}

const findingAbout = (dimensions: readonly string[], leastEvidence: number): JsonObject =>
  closed(
    {
      dimension: { enum: dimensions },
      classification: { enum: CLASSIFICATIONS },
      description: text(ANSWER_LIMITS.text),
      evidence: list(evidence(), leastEvidence, ANSWER_LIMITS.evidence),
    },
    { recommendation: text(ANSWER_LIMITS.text) },
  )

const text = (maxLength: number): JsonObject => ({ type: 'string', pattern: '\\S', maxLength })

const evidence = (): JsonObject =>
  closed({
    evidence_type: { enum: EVIDENCE_TYPES },
    ref: text(ANSWER_LIMITS.ref),
    detail: text(ANSWER_LIMITS.text),
  })

const list = (items: JsonObject, minItems: number, maxItems: number): JsonObject => ({
  type: 'array',
  items,
  minItems,
  maxItems,
})

/** An object with exactly these: `properties` are required. */
function closed(properties: JsonObject, optional: JsonObject = {}): JsonObject {
  return {
    type: 'object',
    properties: { ...properties, ...optional },
    required: Object.keys(properties),
    additionalProperties: false,
  }
}
