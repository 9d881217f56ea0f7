import { type Claim, calibrationError } from './calibration-error.js'
import { consistencyOf } from './consistency.js'
import { averageOf, type Estimate, meanOf, rateOf } from './estimate.js'
import { againstOf, type Hearing } from './hearing.js'
import { kappaOf } from './kappa.js'

/** R-DWS-26, in the spelling of DWS Spec 8. What nothing is known of is absent. */
export type Metrics = {
  readonly findings_per_run?: Estimate
  readonly blocking_findings_overturned: { readonly count: number; readonly share?: Estimate }
  readonly consistency_score?: Estimate
  readonly false_positive_rate?: Estimate
}

/** How right a judge is, where the truth is known. To find that a result is bad is the positive outcome. */
export type Accuracy = {
  readonly true_positive_rate?: Estimate
  readonly true_negative_rate?: Estimate
  readonly kappa?: Estimate
  readonly expected_calibration_error?: Estimate
}

export function metricsOf(hearings: readonly Hearing[]): Metrics {
  const findings = hearings.map(({ opinions }) => meanOf(opinions.map(one => one.findings.length)))
  return {
    ...known('findings_per_run', averageOf(findings)),
    blocking_findings_overturned: overturnedOf(hearings),
    ...known('consistency_score', consistencyOf(hearings)),
    ...known('false_positive_rate', falsePositives(hearings)),
  }
}

export function accuracyOf(hearings: readonly Hearing[]): Accuracy {
  const rulings = hearings.flatMap(hearing => {
    const { label } = hearing.case
    return label === undefined ? [] : [{ against: againstOf(hearing), bad: label.truth === 'bad' }]
  })
  const against = (bad: boolean) => rulings.filter(ruling => ruling.bad === bad).map(ruling => ruling.against)
  return {
    ...known('true_positive_rate', rateOf(against(true))),
    ...known('true_negative_rate', rateOf(against(false).map(share => 1 - share))),
    ...known('kappa', kappaOf(rulings)),
    ...known('expected_calibration_error', calibrationError(hearings.flatMap(claimOf))),
  }
}

/**
 * Of the results that the judge would have stopped and whose truth is known, the share that was good. The findings of
 * a vote stand or fall with the result, so counting them one by one would only count the same mistake more often.
 */
function falsePositives(hearings: readonly Hearing[]): Estimate | undefined {
  const stopped = hearings.filter(hearing => hearing.case.label !== undefined && againstOf(hearing) > 0)
  return rateOf(stopped.map(({ case: { label } }) => (label?.truth === 'good' ? 1 : 0)))
}

/** An objection is overturned when the same result is judged again by that dimension, and nobody objects any more. */
function overturnedOf(hearings: readonly Hearing[]): Metrics['blocking_findings_overturned'] {
  const reheard = hearings.map(({ case: { again }, opinions }) => {
    if (again === undefined) return []
    const upheld = new Set([again.gate, ...again.votes].flatMap(one => one.objections))
    const objections = [...new Set(opinions.flatMap(one => one.objections))]
    return objections.filter(one => again.gate.scores.has(one)).map(one => (upheld.has(one) ? 0 : 1))
  })
  const count = reheard.flat().filter(one => one === 1).length
  return { count, ...known('share', rateOf(reheard.filter(attempt => attempt.length > 0).map(meanOf))) }
}

function claimOf({ case: { label }, opinions }: Hearing): Claim[] {
  const sure = opinions.flatMap(({ confidence, passes }) => (confidence === undefined ? [] : [{ confidence, passes }]))
  if (label === undefined || sure.length === 0) return []
  const right = sure.map(({ passes }) => (passes === (label.truth === 'good') ? 1 : 0))
  return [{ confidence: meanOf(sure.map(({ confidence }) => confidence)), right: meanOf(right) }]
}

/** The field, where there is something to put into it. */
const known = <K extends string, T>(name: K, value: T | undefined): { readonly [key in K]?: T } =>
  value === undefined ? {} : ({ [name]: value } as { [key in K]: T })
