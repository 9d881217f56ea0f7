import { parseSpan } from '../terminal/span.js'
import { UsageError } from '../terminal/usage-error.js'

/** A time as servers take it, from a time or from how long ago it was: `7d`. */
export function sinceTime(text: string, now: number): string {
  if (/^\d+[smhd]$/.test(text)) return new Date(Math.max(0, now - parseSpan(text) * 1000)).toISOString()
  const at = /^\d{4}-\d\d-\d\d/.test(text) ? Date.parse(text) : Number.NaN
  if (!Number.isNaN(at)) return new Date(at).toISOString()
  throw new UsageError(
    `${JSON.stringify(text)} is no time; write how long ago (90s, 30m, 12h, 7d) or a time such as 2026-01-31T12:00:00Z`,
  )
}
