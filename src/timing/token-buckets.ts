import type { Clock } from '../engine/ports/clock.js'

/** How many tokens a bucket holds, and how many come back in how long. */
export type Refill = { readonly burst: number; readonly tokens: number; readonly everyMs: number }

type Bucket = { readonly left: number; readonly at: number; readonly fullAt: number }

/** With so many, those that are full again are forgotten: a full bucket and none are the same. */
const MAX_BUCKETS = 10_000

/** Buckets of tokens, by name; each is full at first and refills steadily. In memory: a restart fills them all. */
export class TokenBuckets {
  readonly #buckets = new Map<string, Bucket>()

  constructor(private readonly clock: Clock) {}

  /** Takes one token: 0, or the milliseconds until there will be one. Where none ever comes, that is `everyMs`. */
  take(name: string, { burst, tokens, everyMs }: Refill): number {
    const now = this.clock.monotonic()
    const known = this.#buckets.get(name)
    const left = known === undefined ? burst : Math.min(burst, known.left + ((now - known.at) * tokens) / everyMs)
    if (left < 1) return tokens > 0 ? Math.ceil(((1 - left) * everyMs) / tokens) : everyMs
    if (known === undefined && this.#buckets.size >= MAX_BUCKETS) this.#forgetFull(now)
    this.#buckets.set(name, { left: left - 1, at: now, fullAt: now + ((burst - left + 1) * everyMs) / tokens })
    return 0
  }

  #forgetFull(now: number): void {
    for (const [name, { fullAt }] of this.#buckets) if (fullAt <= now) this.#buckets.delete(name)
  }
}
