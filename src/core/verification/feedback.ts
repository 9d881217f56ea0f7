import { isObject, type Json, type JsonObject, own } from '../json.js'
import type { RunBase } from '../run/state.js'
import type { Criterion, Gate } from './gate.js'
import type { Evidence, Feedback, Finding, Judgement, Standing } from './voting/judgement.js'
import { rounded, weightedMean } from './voting/quorum.js'

type Told = Feedback['findings'][number]

/** What was judged, as the worker knows it: of what a run leaves behind, its outputs. */
export const previousOf = (shown: Json, { point }: { readonly point: string }): Json =>
  point === 'run' && isObject(shown) ? (shown.outputs ?? null) : shown

/** R-DWS-19: what a worker must put right. Nothing that is said to it names who judged. */
export function feedbackOf(gate: Gate, attempt: number, judgement: Judgement): Feedback {
  const findings = blockersOf(gate, judgement)
  const dimensions = judgement.failed.filter(dimension => findings.some(finding => finding.dimension === dimension))
  return { gateId: gate.gate_id, attempt, dimensions, findings }
}

/** The blocking findings, and one for every dimension that failed by its score alone: a worker is never left guessing. */
function blockersOf(gate: Gate, { findings, failed, scores, unproven = [] }: Judgement): readonly Told[] {
  const blocking = findings.filter(({ classification }) => classification === 'blocking')
  const silent = gate.evaluation_criteria.filter(
    ({ dimension }) =>
      failed.includes(dimension) &&
      !unproven.includes(dimension) &&
      blocking.every(finding => finding.dimension !== dimension),
  )
  return [
    ...merged(blocking).map(withoutSource),
    ...silent.map(criterion => shortfall(criterion, own(scores, criterion.dimension))),
  ]
}

/** What several judges have found alike is said once, with the evidence of all of them. */
function merged(findings: readonly Finding[]): readonly Finding[] {
  const alike = new Map<string, Finding>()
  for (const finding of findings) {
    const key = JSON.stringify([finding.dimension, finding.description.trim().replace(/\s+/g, ' ')])
    const first = alike.get(key)
    alike.set(key, first ? { ...first, evidence: distinct([...first.evidence, ...finding.evidence]) } : finding)
  }
  return [...alike.values()]
}

const distinct = (evidence: readonly Evidence[]): Evidence[] => [
  ...new Map(evidence.map(one => [JSON.stringify([one.evidence_type, one.ref, one.detail]), one])).values(),
]

function withoutSource(finding: Finding): Told {
  const { source: _, ...told } = finding
  return told
}

const shortfall = ({ dimension, pass_threshold, scale }: Criterion, score: number | undefined): Told => ({
  finding_id: `s-${dimension}`,
  dimension,
  classification: 'blocking',
  description: `Too few verifiers gave ${dimension} a score of ${pass_threshold} or more.`,
  evidence: [
    {
      evidence_type: 'metric',
      ref: dimension,
      detail: `mean score ${score ?? 'unknown'}, threshold ${pass_threshold}, scale ${scale.min} to ${scale.max}`,
    },
  ],
  recommendation: `Raise ${dimension} to ${pass_threshold} or more.`,
})

/**
 * `score` is how near the result came to holding every criterion, 1 when it holds them all. A dimension above its
 * threshold counts no more than one at it, so that attempts judged by all criteria and by some can be compared: one
 * that is not judged again held before.
 */
export function attemptStanding(gate: Gate, attempt: number, judgement: Judgement): Standing {
  const reached = gate.evaluation_criteria.map(criterion => ({
    value: shareReached(criterion, judgement),
    weight: criterion.weight,
  }))
  return { attempt, blocking: blockersOf(gate, judgement).length, score: rounded(weightedMean(reached) ?? 0) }
}

function shareReached({ dimension, scale, pass_threshold }: Criterion, { scores, failed }: Judgement): number {
  const score = own(scores, dimension)
  if (score === undefined) return failed.includes(dimension) ? 0 : 1
  return score >= pass_threshold ? 1 : (score - scale.min) / (pass_threshold - scale.min)
}

export const isBetter = (a: Standing, b: Standing): boolean =>
  a.blocking === b.blocking ? a.score > b.score : a.blocking < b.blocking

/** The first of the best. */
export const bestOf = (standings: readonly Standing[]): Standing | undefined =>
  standings.reduce<Standing | undefined>(
    (best, standing) => (best === undefined || isBetter(standing, best) ? standing : best),
    undefined,
  )

/** Whether two reworks in a row were no better than the best before them. */
export function isStuck(standings: readonly Standing[]): boolean {
  const before = bestOf(standings.slice(0, -2))
  return before !== undefined && standings.slice(-2).every(standing => !isBetter(standing, before))
}

/** The name under which the run of a worker that works again is told what was found (R-DWS-19, R-DWS-20). */
export const FEEDBACK_INPUT = 'verificationFeedback'

type Given = Pick<RunBase, 'withheld' | 'started'>

/**
 * What the host told this run of the result before. An input of that name is an input: only the host says that work was
 * sent back. Runs of engine version 2 were told by an input that their parent gave them.
 */
export function feedbackIn({ withheld, started }: Given): Feedback | undefined {
  const isOld = started.engineVersion === '2' && started.parentRunId !== undefined
  const given: Json | undefined = withheld?.[FEEDBACK_INPUT] ?? (isOld ? started.inputs[FEEDBACK_INPUT] : undefined)
  return isObject(given) && Array.isArray(given.findings) ? (given as unknown as Feedback) : undefined
}

/** The same for what a workflow reads by name, beneath inputs and variables of its own. */
export const feedbackByName = ({ withheld }: Pick<RunBase, 'withheld'>): JsonObject | undefined => {
  const given = withheld?.[FEEDBACK_INPUT]
  return given === undefined ? undefined : { [FEEDBACK_INPUT]: given }
}
