import type { Clock } from '../../engine/ports.js'

/**
 * Calls per minute for each principal and tool (R-TOOL-5): a bucket that holds a minute's worth and refills steadily.
 * Kept in memory: it protects the tool from this host, and a restart forgives what was used.
 */
export type RateLimit = {
  /** Takes one call; the milliseconds until there is one to take when there is none, else 0. */
  take(key: readonly string[], perMinute: number): number
}

type Bucket = { readonly left: number; readonly at: number }

const MINUTE = 60_000
/** Beyond this, buckets that are full again are forgotten: a full bucket and none are the same. */
const MAX_BUCKETS = 10_000

export function createRateLimit(clock: Clock): RateLimit {
  const buckets = new Map<string, Bucket>()

  function forgetIdle(now: number): void {
    for (const [key, { at }] of buckets) if (now - at >= MINUTE) buckets.delete(key)
  }

  return {
    take(key, perMinute) {
      const now = clock.monotonic()
      const name = JSON.stringify(key)
      const bucket = buckets.get(name) ?? { left: perMinute, at: now }
      const left = Math.min(perMinute, bucket.left + ((now - bucket.at) * perMinute) / MINUTE)
      if (left < 1) return perMinute > 0 ? Math.ceil(((1 - left) * MINUTE) / perMinute) : MINUTE
      buckets.set(name, { left: left - 1, at: now })
      if (buckets.size > MAX_BUCKETS) forgetIdle(now)
      return 0
    },
  }
}
