import type { Side, TrackRecord } from '../core/verification/voting/licence.js'
import { lowerShare, upperShare } from './anytime.js'
import type { LabelledCase, Truth } from './labels.js'
import { groupsOf, isOfWork, stratumOf, toldTruth } from './strata.js'

/** The chance that a licence is ever given to a gate that is not as good on one side as it must be. */
export const ALPHA = 0.05

/**
 * What a gate has shown of itself, by side: of bad results, how many it stops at least; of good ones, how many it lets
 * through at least. Each bound holds at every look (`anytime.ts`).
 *
 *  L1  The better of two bounds counts, each at half of the chance: one by trials, one by what people said of the work.
 *  L2  By trials: planted outputs, whose truth was known before. What the gate was wrong about at work counts against it
 *      there as well; what it was right about does not count for it, because whether anybody looks depends on what it said.
 *  L3  By the work: each stratum has bounds of its own for its size and for the share of its results that are good.
 *      Results that nobody has looked at may be anything, so a gate is never better for what nobody has seen.
 */
export function trackRecordOf(cases: readonly LabelledCase[]): Pick<TrackRecord, 'badStopped' | 'goodPassed'> {
  return { badStopped: sideOf(cases, 'bad', false), goodPassed: sideOf(cases, 'good', true) }
}

/** `right`: whether a result of that truth is to pass. */
function sideOf(cases: readonly LabelledCase[], truth: Truth, right: boolean): Side {
  const known = cases.filter(({ label }) => label?.truth === truth)
  const ones = known.filter(one => !isOfWork(one) && one.digest.gate.passes === right).length
  const zeros = known.filter(({ digest }) => digest.gate.passes !== right).length
  const byTrials = lowerShare(ones, zeros, ALPHA / 2)
  return { n: known.length, lower: Math.max(byTrials, byWork(cases.filter(isOfWork), truth, right)) }
}

function byWork(cases: readonly LabelledCase[], truth: Truth, right: boolean): number {
  const strata = [...groupsOf(cases, stratumOf).values()]
  const alpha = ALPHA / 2 / (2 * Math.max(1, strata.length))
  let [least, most] = [0, 0]
  for (const group of strata) {
    const told = group.flatMap(one => toldTruth(one) ?? [])
    const hits = told.filter(one => one === truth).length
    const [size, rest] = [group.length, cases.length - group.length]
    if (group[0]?.digest.gate.passes === right)
      least += lowerShare(size, rest, alpha) * lowerShare(hits, told.length - hits, alpha)
    else most += upperShare(size, rest, alpha) * upperShare(hits, told.length - hits, alpha)
  }
  return least === 0 ? 0 : least / (least + most)
}
