import { backoff } from '../../core/backoff.js'
import type { Random } from '../../engine/ports/clock.js'

const WAITS = { firstMs: 500, mostMs: 30_000 }

/** How long to wait after `tries` tries were turned away: what the provider says, else ever longer, spread by chance. */
export function waitAfter(tries: number, retryAfter: string | undefined, now: number, random: Random): number {
  const told = retryAfter === undefined ? undefined : waitTold(retryAfter, now)
  return told ?? backoff(WAITS, tries, random())
}

/** `Retry-After` is a number of seconds or a date (RFC 9110 §10.2.3). */
function waitTold(retryAfter: string, now: number): number | undefined {
  const text = retryAfter.trim()
  if (/^\d{1,9}(?:\.\d{1,3})?$/.test(text)) return Number(text) * 1000
  // Of other texts the parser makes dates, too, that nobody has meant.
  const date = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}
