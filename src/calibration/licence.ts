import { rateOf } from './estimate.js'
import type { LabelledCase } from './labels.js'

/**
 * What a gate has shown of itself: how many of its verdicts have a known truth, and the share of them that were right at
 * least (lower end of the 95 % interval). Luck with few is not enough: 34 right of 34 show 0.898, 35 of 35 show 0.901.
 */
export function trackRecordOf(cases: readonly LabelledCase[]): { readonly n: number; readonly lower: number } {
  const right = cases.flatMap(({ digest, label }) =>
    label ? [digest.gate.passes === (label.truth === 'good') ? 1 : 0] : [],
  )
  return { n: right.length, lower: rateOf(right)?.low ?? 0 }
}
