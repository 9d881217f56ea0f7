import { type Estimate, rateOf, wilson } from './estimate.js'
import type { LabelledCase, Truth } from './labels.js'

/**
 * People do not look at results by lot. Whether one is looked at depends on what the gate said of it, so results are kept
 * apart by that, and each part counts by how many there are of it, not by how many somebody looked at:
 *
 * | stratum       | who is in it                                     | who of it is looked at                          |
 * |---------------|--------------------------------------------------|-------------------------------------------------|
 * | pass          | passed, and nothing about it was in doubt        | all while there is no licence, none, or a sample |
 * | pass, doubted | passed; asked because unsure, or partly hidden   | all                                             |
 * | fail          | failed: sent back, or given up                   | none, or a sample                               |
 * | fail, asked   | failed, and a person was to say what becomes of it | all                                           |
 */
export type Stratum = 'pass' | 'pass, doubted' | 'fail' | 'fail, asked'

export function stratumOf({ digest: { gate, asked } }: Pick<LabelledCase, 'digest'>): Stratum {
  const isChosen = asked !== undefined && BY_RESULT.has(asked)
  if (gate.passes) return isChosen ? 'pass, doubted' : 'pass'
  return isChosen ? 'fail, asked' : 'fail'
}

/** Reasons to ask a person that lie in the result that was judged. */
const BY_RESULT: ReadonlySet<string> = new Set(['unsure', 'unseen', 'exhausted', 'unsettled'])

/** By whom a label is known that says nothing of what it will be: a person's word, whatever it is. */
export function toldTruth({ label }: Pick<LabelledCase, 'label'>): Truth | undefined {
  return label === undefined || label.by === 'planted' || label.by === 're-verification' ? undefined : label.truth
}

export const isOfWork = ({ label }: LabelledCase): boolean => label?.by !== 'planted'

/** Strata with results of which nobody has looked at a single one. */
export function unlabelledStrata(cases: readonly LabelledCase[]): Stratum[] {
  const all = new Set(cases.map(stratumOf))
  const seen = new Set(cases.filter(one => toldTruth(one) !== undefined).map(stratumOf))
  return [...all].filter(stratum => !seen.has(stratum)).sort()
}

/** Whether labels are as many in each stratum, by its size: then they may be counted as they are. */
export function isEven(cases: readonly LabelledCase[]): boolean {
  const shares = [...groupsOf(cases, stratumOf).values()].map(
    group => group.filter(one => toldTruth(one) !== undefined).length / group.length,
  )
  return shares.every(share => share === shares[0])
}

/** One part of all cases: how many there are, of how many the truth is known, and what of that is so. */
type Cell = { readonly weight: number; readonly all: number; readonly known: number; readonly hits: number }

/**
 * The weighted share of results that a judge was against among those whose truth is `truth`, from labels of which each
 * stratum has its own chance. `againstOf` is known of every result, labelled or not; the truth is not. The interval holds
 * whatever the errors of the parts have to do with each other, so it is wide rather than wrong.
 */
export function weightedShare<Case extends LabelledCase>(
  cases: readonly Case[],
  truth: Truth,
  shareOf: (one: Case) => number,
): Estimate | undefined {
  const labelled = cases.filter(one => toldTruth(one) === truth)
  if (labelled.length === 0 || unlabelledStrata(cases).length > 0) return undefined
  if (isEven(cases)) return rateOf(labelled.map(shareOf))
  const cells = [...groupsOf(cases, one => `${stratumOf(one)} ${shareOf(one)}`).values()].map((group): Cell => {
    const known = group.flatMap(one => toldTruth(one) ?? [])
    const hits = known.filter(one => one === truth).length
    return { weight: shareOf(group[0]!), all: group.length, known: known.length, hits }
  })
  return { ...composed(cells, cases.length), n: labelled.length }
}

/** The share of results of that truth among all of these, each stratum by its size. */
export function rateWithin(cases: readonly LabelledCase[], truth: Truth): Estimate | undefined {
  const told = cases.flatMap(one => toldTruth(one) ?? [])
  if (isEven(cases)) return rateOf(told.map(one => (one === truth ? 1 : 0)))
  const parts = [...groupsOf(cases, stratumOf).values()].flatMap(group => {
    const known = group.flatMap(one => toldTruth(one) ?? [])
    const hits = known.filter(one => one === truth).length
    return [
      { weight: 1, all: group.length, known: known.length, hits },
      { weight: 0, all: group.length, known: known.length, hits: known.length - hits },
    ]
  })
  return { ...composed(parts, cases.length), n: told.length }
}

function composed(cells: readonly Cell[], total: number): Omit<Estimate, 'n'> {
  // A normal deviate is beyond z with a chance of at most exp(-z²/2)/2, so all of these intervals hold at once in 95 %.
  const z = Math.sqrt(2 * Math.log((2 * cells.length) / 0.05))
  const parts = cells.map(({ weight, all, known, hits }) => {
    const size = wilson(all / total, total, z)
    const rate = wilson(known === 0 ? 0 : hits / known, known, z)
    const value = (all / total) * (known === 0 ? 0 : hits / known)
    return { weight, value, low: size.low * rate.low, high: size.high * rate.high }
  })
  const sum = (of: (part: (typeof parts)[number]) => number) => parts.reduce((total, part) => total + of(part), 0)
  const share = (wanted: number, other: number) => (wanted + other === 0 ? 0 : wanted / (wanted + other))
  return {
    value: share(
      sum(({ weight, value }) => weight * value),
      sum(({ weight, value }) => (1 - weight) * value),
    ),
    low: share(
      sum(({ weight, low }) => weight * low),
      sum(({ weight, high }) => (1 - weight) * high),
    ),
    high: share(
      sum(({ weight, high }) => weight * high),
      sum(({ weight, low }) => (1 - weight) * low),
    ),
  }
}

export function groupsOf<T, K>(items: readonly T[], keyOf: (item: T) => K): Map<K, T[]> {
  const groups = new Map<K, T[]>()
  for (const item of items) {
    const key = keyOf(item)
    const group = groups.get(key)
    if (group) group.push(item)
    else groups.set(key, [item])
  }
  return groups
}
