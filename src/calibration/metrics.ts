import { type Claim, calibrationError } from './calibration-error.js'
import { consistencyOf } from './consistency.js'
import { averageOf, type Estimate, meanOf, rateOf, wilson } from './estimate.js'
import { againstOf, type Hearing } from './hearing.js'
import { kappaOf } from './kappa.js'
import type { Truth } from './labels.js'
import { groupsOf, isEven, isOfWork, stratumOf, toldTruth, unlabelledStrata, weightedShare } from './strata.js'

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

/**
 * Planted results are a sample of their own: only where nobody has looked at the work are the rates theirs. Where people
 * have, each stratum counts by its size (`strata.ts`); measures that cannot be weighted are told of even samples only.
 */
export function accuracyOf(hearings: readonly Hearing[]): Accuracy {
  const heard = hearings.map(hearing => ({ ...hearing.case, hearing }))
  const work = heard.filter(isOfWork)
  const isByPeople = work.some(one => toldTruth(one) !== undefined)
  const sample = isByPeople ? work : heard.filter(one => !isOfWork(one))
  const rate = (truth: Truth, shareOf: (share: number) => number) =>
    isByPeople
      ? weightedShare(sample, truth, ({ hearing }) => shareOf(againstOf(hearing)))
      : rateOf(sample.flatMap(one => (one.label?.truth === truth ? [shareOf(againstOf(one.hearing))] : [])))
  const isFair = !isByPeople || isEven(sample)
  const labelled = isFair ? sample.filter(one => (isByPeople ? toldTruth(one) : one.label) !== undefined) : []
  const rulings = labelled.map(({ hearing, label }) => ({ against: againstOf(hearing), bad: label?.truth === 'bad' }))
  return {
    ...known(
      'true_positive_rate',
      rate('bad', share => share),
    ),
    ...known(
      'true_negative_rate',
      rate('good', share => 1 - share),
    ),
    ...known('kappa', kappaOf(rulings)),
    ...known('expected_calibration_error', calibrationError(labelled.flatMap(({ hearing }) => claimOf(hearing)))),
  }
}

/**
 * The share of blocking findings that turned out to be incorrect: the result was good. Findings on one result stand or
 * fall together, so the interval goes by how many results they are spread over. Each stratum counts by its size; where
 * nobody has looked at one that has such findings, nothing is told.
 */
function falsePositives(hearings: readonly Hearing[]): Estimate | undefined {
  const found = hearings.map(({ case: one, opinions }) => ({
    ...one,
    count: meanOf(opinions.map(({ blocking }) => blocking.length)),
  }))
  const blocked = found.filter(({ count }) => count > 0)
  const isByPeople = blocked.some(one => toldTruth(one) !== undefined)
  const sample = blocked.filter(one => isOfWork(one) === isByPeople)
  const told = sample.filter(one => (isByPeople ? toldTruth(one) : one.label) !== undefined)
  if (told.length === 0 || (isByPeople && unlabelledStrata(sample).length > 0)) return undefined
  const [all, seen] = [groupsOf(sample, stratumOf), groupsOf(told, stratumOf)]
  const weighed = told.map(one => {
    const stratum = stratumOf(one)
    const share = (seen.get(stratum)?.length ?? 0) / (all.get(stratum)?.length ?? 1)
    return { weight: one.count / share, wrong: one.label?.truth === 'good' }
  })
  const sum = (of: (one: (typeof weighed)[number]) => number) => weighed.reduce((total, one) => total + of(one), 0)
  const value = sum(({ weight, wrong }) => (wrong ? weight : 0)) / sum(({ weight }) => weight)
  const spread = sum(({ weight }) => weight) ** 2 / sum(({ weight }) => weight ** 2)
  return { value, ...wilson(value, spread), n: told.length }
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
