import type { Clock } from '../../engine/ports.js'

const FIRST_WAIT_MS = 500
const LONGEST_WAIT_MS = 30_000

/** How long to wait after `tries` tries were turned away: what the provider says, else ever longer, spread by chance. */
export function waitAfter(tries: number, retryAfter: string | undefined, now: number, random: () => number): number {
  const told = retryAfter === undefined ? undefined : waitTold(retryAfter, now)
  return told ?? Math.min(FIRST_WAIT_MS * 2 ** (tries - 1), LONGEST_WAIT_MS) * (0.5 + random())
}

/** `Retry-After` is a number of seconds or a date (RFC 9110 §10.2.3). */
function waitTold(retryAfter: string, now: number): number | undefined {
  const text = retryAfter.trim()
  if (/^\d{1,9}(?:\.\d{1,3})?$/.test(text)) return Number(text) * 1000
  // Of other texts the parser makes dates, too, that nobody has meant.
  const date = /^[A-Z][a-z]{2}, /.test(text) ? Date.parse(text) : Number.NaN
  return Number.isNaN(date) ? undefined : Math.max(0, date - now)
}

/** Resolves after `ms`, or at once when it is taken back. */
export function pause(clock: Clock, ms: number, signal: AbortSignal): Promise<void> {
  return new Promise(resolve => {
    if (signal.aborted) return resolve()
    const done = () => {
      disarm()
      signal.removeEventListener('abort', done)
      resolve()
    }
    const disarm = clock.after(ms, done)
    signal.addEventListener('abort', done, { once: true })
  })
}
