import { UsageError } from '../terminal/usage-error.js'

/** Parsers of option values that several commands share. */

export const collectOption = (value: string, before: readonly string[] = []): string[] => [...before, value]

export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new UsageError(`${JSON.stringify(text)} is not a whole number`)
}

/** `0.8` or `80%`. */
export function shareOption(text: string): number {
  const [, digits, percent] = /^(\d{1,3}(?:\.\d{1,6})?)(%?)$/.exec(text) ?? []
  const amount = Number(digits) / (percent === '%' ? 100 : 1)
  if (amount >= 0 && amount <= 1) return amount
  throw new UsageError(`${JSON.stringify(text)} is not a share; write 0.8 or 80%`)
}
