type Weighted = { readonly value: number; readonly weight: number }

/** Undefined for nothing. Where nothing has a weight, all count the same. */
export function weightedMean(items: readonly Weighted[]): number | undefined {
  if (items.length === 0) return undefined
  const total = sum(items.map(({ weight }) => weight))
  return total > 0
    ? sum(items.map(({ value, weight }) => value * weight)) / total
    : sum(items.map(({ value }) => value)) / items.length
}

export const sum = (numbers: readonly number[]): number => numbers.reduce((total, number) => total + number, 0)

/** To six decimals: in what order numbers were added is not to be seen in what is told about them. */
export const rounded = (number: number): number => Number(number.toFixed(6))
