import { backoff } from '../core/backoff.js'

const WAITS = { firstMs: 1_000, mostMs: 5 * 60 * 1000 }
const MAX_ATTEMPTS = 20
const MAX_AGE_MS = 24 * 60 * 60 * 1000

/** When a delivery that has failed `attempts` times is tried again; undefined when it has failed for good. */
export function nextTry(delivery: { readonly at: number }, attempts: number, now: number): number | undefined {
  if (attempts >= MAX_ATTEMPTS || now - delivery.at >= MAX_AGE_MS) return undefined
  return now + backoff(WAITS, attempts)
}
