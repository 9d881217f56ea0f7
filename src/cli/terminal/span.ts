import { UsageError } from './usage-error.js'

const SECOND = 1000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE
const DAY = 24 * HOUR

/** A length of time as a person says it: its largest unit is enough. */
export function spanText(ms: number): string {
  if (ms < MINUTE) return `${Math.max(0, Math.round(ms / SECOND))} s`
  if (ms < HOUR) return `${Math.floor(ms / MINUTE)} min`
  return ms < 2 * DAY ? `${Math.floor(ms / HOUR)} h` : `${Math.floor(ms / DAY)} d`
}

const UNITS: { readonly [unit: string]: number } = { s: SECOND, m: MINUTE, h: HOUR, d: DAY }

/** `90s`, `30m`, `12h` or `7d` in seconds. */
export function parseSpan(text: string): number {
  const [, count, unit = ''] = /^(\d{1,9})([smhd])$/.exec(text) ?? []
  const ms = Number(count) * (UNITS[unit] ?? 0)
  if (ms > 0) return ms / SECOND
  throw new UsageError(`${JSON.stringify(text)} is not a length of time; write 90s, 30m, 12h or 7d`)
}
