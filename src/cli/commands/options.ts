import { UsageError } from '../terminal/usage-error.js'

/** Parsers of option values that several commands share. */

export const collectOption = (value: string, before: readonly string[] = []): string[] => [...before, value]

export function wholeNumber(text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  throw new UsageError(`${JSON.stringify(text)} is not a whole number`)
}
