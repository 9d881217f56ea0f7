/** A number that was measured, the interval that holds the true one in 95 of 100 studies, and what it rests on. */
export type Estimate = { readonly value: number; readonly low: number; readonly high: number; readonly n: number }

/** Standard deviations to either side of a mean that hold 95 %. */
export const Z95 = 1.959963984540054

/**
 * The mean of values from 0 to 1, of which a proportion is a case, with Wilson's interval. No such values vary more than
 * zeros and ones with the same mean do, so the interval is never too narrow, and a handful of values that are all 1
 * does not pass for certainty.
 */
export function rateOf(values: readonly number[]): Estimate | undefined {
  const n = values.length
  if (n === 0) return undefined
  return { value: meanOf(values), ...wilson(meanOf(values), n), n }
}

/** With nothing to go by, anything is possible. */
export function wilson(share: number, n: number, z = Z95): { readonly low: number; readonly high: number } {
  if (n === 0) return { low: 0, high: 1 }
  const spread = z ** 2 / n
  const middle = (share + spread / 2) / (1 + spread)
  const reach = (z / (1 + spread)) * Math.sqrt((share * (1 - share)) / n + spread / (4 * n))
  return { low: Math.max(0, middle - reach), high: Math.min(1, middle + reach) }
}

/** The mean of counts, with Student's interval. One value says nothing of how far the next may be: it has no estimate. */
export function averageOf(counts: readonly number[]): Estimate | undefined {
  const n = counts.length
  if (n < 2) return undefined
  const value = meanOf(counts)
  const variance = counts.reduce((sum, count) => sum + (count - value) ** 2, 0) / (n - 1)
  const reach = student95(n - 1) * Math.sqrt(variance / n)
  return { value, low: Math.max(0, value - reach), high: value + reach, n }
}

export const meanOf = (values: readonly number[]): number =>
  values.reduce((sum, value) => sum + value, 0) / values.length

const STUDENT_95 = [12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228] as const

/** From eleven degrees of freedom on, two terms of the expansion around the normal quantile are right to 0.002. */
const student95 = (freedom: number): number =>
  STUDENT_95[freedom - 1] ??
  Z95 + (Z95 ** 3 + Z95) / (4 * freedom) + (5 * Z95 ** 5 + 16 * Z95 ** 3 + 3 * Z95) / (96 * freedom ** 2)
