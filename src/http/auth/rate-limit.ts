import type { Clock } from '../../engine/ports.js'
import type { Rate } from '../config.js'

type Bucket = { tokens: number; at: number }

const MAX_BUCKETS = 10_000

/** Token buckets by name. A bucket that has refilled is forgotten, so memory follows the callers of the moment. */
export class RateLimiter {
  readonly #buckets = new Map<string, Bucket>()

  constructor(
    private readonly clock: Clock,
    private readonly rate: Rate,
  ) {}

  /** Takes one token. Returns 0, or the milliseconds until there will be one. */
  take(name: string): number {
    const { requestsPerSecond, burst } = this.rate
    if (requestsPerSecond === 0) return 0
    const now = this.clock.monotonic()
    const bucket = this.#buckets.get(name) ?? this.#add(name, now)
    bucket.tokens = Math.min(burst, bucket.tokens + ((now - bucket.at) * requestsPerSecond) / 1000)
    bucket.at = now
    if (bucket.tokens < 1) return Math.ceil(((1 - bucket.tokens) * 1000) / requestsPerSecond)
    bucket.tokens -= 1
    return 0
  }

  #add(name: string, now: number): Bucket {
    if (this.#buckets.size >= MAX_BUCKETS) this.#dropRefilled(now)
    const bucket = { tokens: this.rate.burst, at: now }
    this.#buckets.set(name, bucket)
    return bucket
  }

  #dropRefilled(now: number): void {
    const refillMs = (this.rate.burst * 1000) / this.rate.requestsPerSecond
    for (const [name, bucket] of this.#buckets) if (now - bucket.at >= refillMs) this.#buckets.delete(name)
  }
}
