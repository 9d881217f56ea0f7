import { isObject, type Json, type JsonObject, own } from '../../json.js'
import { askedOf } from '../evidence.js'
import type { BoundGate, Criterion, Scale } from '../gate.js'
import { ANSWER_LIMITS } from './answer-schema.js'
import {
  CLASSIFICATIONS,
  type DwsVerdict,
  EVIDENCE_TYPES,
  type Evidence,
  type Fault,
  type Finding,
  type Unchecked,
  type Vote,
} from './judgement.js'

type Verifier = Pick<Vote, 'agentId' | 'weight' | 'childRunId' | 'model' | 'prompt'> & {
  /** Among the verifiers of the gate, from 0. */
  readonly position: number
}

export const isVote = (answer: Vote | Fault | undefined): answer is Vote => answer !== undefined && 'verdict' in answer

/** R-DWS-15: warnings let a result through. */
export const isPassing = ({ verdict }: Pick<Vote, 'verdict'>): boolean => verdict !== 'fail'

/** A vote; what a verifier that gives none for want of evidence has said besides; or an answer that is none at all. */
type Heard =
  | { readonly ok: true; readonly vote: Vote }
  | { readonly ok: false; readonly code: 'verifier_off_schema' | 'verifier_no_evidence' }
  | {
      readonly ok: false
      readonly code: 'could_not_check'
      readonly unchecked: readonly Unchecked[]
      readonly findings: readonly Finding[]
    }

/**
 * Holds a verifier's answer to its gate. Nothing in it is repaired, left out or moved into range: an answer that is not
 * exactly what was asked for is no vote (R-DWS-36). Only the gate's own keys become keys (R-DWS-32). One that could not
 * check a criterion gives no vote, unless it has found another wanting: that stands, whatever the rest would have been.
 */
export function voteOf(
  { gate }: BoundGate,
  dimensions: readonly string[],
  { position, ...who }: Verifier,
  answer: Json,
  confidence: number | undefined,
): Heard {
  const asked = askedOf(gate, dimensions)
  const criteria = gate.evaluation_criteria.filter(({ dimension }) => asked.includes(dimension))
  const said = isExactly(answer, ['scores', 'findings']) ? answer : undefined
  const marks = marksIn(said?.scores, criteria)
  const findings = findingsIn(said?.findings, gate.evaluation_criteria)
  if (marks === undefined || findings === undefined || !(confidence === undefined || isShare(confidence)))
    return { ok: false, code: 'verifier_off_schema' }
  const { scores, unchecked } = marks
  const scored = criteria.filter(({ dimension }) => own(scores, dimension) !== undefined)
  if (scored.some(criterion => lacksEvidence(criterion, scores, findings)))
    return { ok: false, code: 'verifier_no_evidence' }
  const verdict = verdictOf(scored, scores, findings)
  const signed = findings.map((finding, n) => ({
    finding_id: `v${position + 1}-${n + 1}`,
    ...finding,
    source: who.agentId,
  }))
  if (unchecked.length > 0 && verdict !== 'fail')
    return { ok: false, code: 'could_not_check', unchecked, findings: signed }
  return {
    ok: true,
    vote: {
      ...who,
      scores,
      findings: signed,
      verdict,
      ...(confidence === undefined ? {} : { confidence }),
      ...(unchecked.length === 0 ? {} : { unchecked }),
    },
  }
}

/** DWS Spec 8 §2: a score below the threshold says what is there, unless the criterion asks for no evidence. */
const lacksEvidence = (
  { dimension, pass_threshold, evidence_required }: Criterion,
  scores: Vote['scores'],
  findings: readonly Said[],
): boolean =>
  evidence_required &&
  (own(scores, dimension) ?? pass_threshold) < pass_threshold &&
  !findings.some(finding => finding.dimension === dimension && finding.evidence.length > 0)

/** R-DWS-16 to 18. */
function verdictOf(criteria: readonly Criterion[], scores: Vote['scores'], findings: readonly Said[]): DwsVerdict {
  const has = (classification: Finding['classification']) =>
    findings.some(finding => finding.classification === classification)
  const isShort = criteria.some(
    ({ dimension, pass_threshold }) => !((own(scores, dimension) ?? Number.NaN) >= pass_threshold),
  )
  if (isShort || has('blocking')) return 'fail'
  return has('warning') ? 'conditional_pass' : 'pass'
}

/** Every criterion that was asked for, with its score or with why it has none. */
function marksIn(
  value: Json | undefined,
  criteria: readonly Criterion[],
): { readonly scores: Vote['scores']; readonly unchecked: readonly Unchecked[] } | undefined {
  const wanted = criteria.map(({ dimension }) => dimension)
  if (!isExactly(value, wanted)) return undefined
  const scores = criteria.flatMap(({ dimension, scale }) => {
    const score = own(value, dimension)
    return isWithin(scale, score) ? [[dimension, score] as const] : []
  })
  const unchecked = wanted.flatMap(dimension => {
    const said = own(value, dimension)
    return isUnchecked(said) ? [{ dimension, reason: said.could_not_check }] : []
  })
  return scores.length + unchecked.length === criteria.length
    ? { scores: Object.fromEntries(scores), unchecked }
    : undefined
}

const isUnchecked = (said: Json | undefined): said is { readonly could_not_check: string } =>
  isExactly(said, ['could_not_check']) && isText(said.could_not_check, ANSWER_LIMITS.text)

const isWithin = ({ min, max, type }: Scale, score: Json | undefined): score is number =>
  typeof score === 'number' && score >= min && score <= max && (type === 'float' || Number.isInteger(score))

/** A finding as a verifier says it; who said so and its id are the host's to add. */
type Said = Omit<Finding, 'finding_id' | 'source'>

function findingsIn(value: Json | undefined, criteria: readonly Criterion[]): readonly Said[] | undefined {
  if (!Array.isArray(value) || value.length > ANSWER_LIMITS.findings) return undefined
  const findings: readonly Json[] = value
  // R-DWS-13: evidence may be left out only where the criterion says so.
  const isProven = ({ dimension, evidence }: Said) =>
    criteria.some(
      criterion => criterion.dimension === dimension && !(criterion.evidence_required && evidence.length === 0),
    )
  return findings.every(finding => isFinding(finding) && isProven(finding)) ? (findings as Said[]) : undefined
}

const isFinding = (value: Json): value is Said & JsonObject =>
  isExactly(value, ['dimension', 'classification', 'description', 'evidence'], ['recommendation']) &&
  isOneOf(CLASSIFICATIONS, value.classification) &&
  isText(value.description, ANSWER_LIMITS.text) &&
  (value.recommendation === undefined || isText(value.recommendation, ANSWER_LIMITS.text)) &&
  Array.isArray(value.evidence) &&
  value.evidence.length <= ANSWER_LIMITS.evidence &&
  value.evidence.every(isEvidence)

/** R-DWS-14. */
const isEvidence = (value: Json): value is Evidence & JsonObject =>
  isExactly(value, ['evidence_type', 'ref', 'detail']) &&
  isOneOf(EVIDENCE_TYPES, value.evidence_type) &&
  isText(value.ref, ANSWER_LIMITS.ref) &&
  isText(value.detail, ANSWER_LIMITS.text)

function isExactly(
  value: Json | undefined,
  required: readonly string[],
  optional: readonly string[] = [],
): value is JsonObject {
  if (!isObject(value)) return false
  const keys = Object.keys(value)
  return (
    required.every(key => Object.hasOwn(value, key)) &&
    keys.every(key => required.includes(key) || optional.includes(key))
  )
}

const isOneOf = (known: readonly string[], value: Json | undefined): boolean =>
  typeof value === 'string' && known.includes(value)

/** Not blank, and not longer than `most` characters (of which one may be two units of a string). */
const isText = (value: Json | undefined, most: number): boolean =>
  typeof value === 'string' && /\S/.test(value) && value.length <= most * 2 && [...value].length <= most

const isShare = (value: number): boolean => value >= 0 && value <= 1
