import type { Clock } from '../../engine/ports/clock.js'
import { TokenBuckets } from '../../timing/token-buckets.js'

/**
 * Calls per minute for each principal and tool (R-TOOL-5): a bucket that holds a minute's worth. It protects the tool
 * from this host, so a restart may forgive what was used.
 */
export type RateLimit = {
  /** Takes one call; the milliseconds until there is one to take when there is none, else 0. */
  take(key: readonly string[], perMinute: number): number
}

const MINUTE = 60_000

export function createRateLimit(clock: Clock): RateLimit {
  const buckets = new TokenBuckets(clock)
  return {
    take: (key, perMinute) =>
      buckets.take(JSON.stringify(key), { burst: perMinute, tokens: perMinute, everyMs: MINUTE }),
  }
}
