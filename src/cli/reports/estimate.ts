import type { Estimate } from '../../client/wire-shapes.js'

/** Numbers that were measured, as a person reads them: the value, what may be true instead, and on how many it rests. */

export const ESTIMATE_HEADER = ['VALUE', '95 %', 'N']

export const shareCells = (estimate: Estimate | undefined): string[] => cellsOf(estimate, percent)

export const numberCells = (estimate: Estimate | undefined): string[] => cellsOf(estimate, amount => amount.toFixed(2))

export const percent = (share: number): string => `${Number((share * 100).toFixed(1))} %`

function cellsOf(estimate: Estimate | undefined, text: (value: number) => string): string[] {
  if (estimate === undefined) return ['–', '', '0']
  const { value, low, high, n } = estimate
  return [text(value), `${text(low)} to ${text(high)}`, String(n)]
}
