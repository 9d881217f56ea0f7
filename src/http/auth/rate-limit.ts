import type { Clock } from '../../engine/ports/clock.js'
import { TokenBuckets } from '../../timing/token-buckets.js'
import type { Rate } from '../config.js'

/** Requests per second, by name of who asks; a rate of 0 is no limit. */
export class RateLimiter {
  readonly #buckets: TokenBuckets

  constructor(
    clock: Clock,
    private readonly rate: Rate,
  ) {
    this.#buckets = new TokenBuckets(clock)
  }

  /** Takes one request. Returns 0, or the milliseconds until there will be one. */
  take(name: string): number {
    const { requestsPerSecond, burst } = this.rate
    return requestsPerSecond === 0 ? 0 : this.#buckets.take(name, { burst, tokens: requestsPerSecond, everyMs: 1000 })
  }
}
