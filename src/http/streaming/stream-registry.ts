import { type Refusal, refuse } from '../../core/problem.js'
import { overQuota, type QuotasOf } from '../../core/quotas.js'
import type { Clock } from '../../engine/ports/clock.js'
import type { Log } from '../../engine/ports/log.js'
import type { Caller, KeyCache } from '../auth/key-cache.js'

/** An answer that stays open: a stream or a held poll. */
export type OpenStream = {
  readonly caller: Caller
  /** Says "still here" to the reader. */
  ping(): void
  close(): void
}

type Settings = {
  readonly maxPerKey: number
  readonly quotas: QuotasOf
  readonly pingMs: number
  readonly recheckMs: number
}

/**
 * Everything that is open, in one place: the caps per key and tenant, keep-alive comments, the key check that ends streams of a
 * revoked key, and closing all of them on shutdown. One timer serves them all.
 */
export class StreamRegistry {
  readonly #open = new Set<OpenStream>()
  readonly #perKey = new Tally()
  readonly #perTenant = new Tally()
  #stopTimer: (() => void) | undefined
  #pingedAt = 0

  constructor(
    private readonly keys: KeyCache,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly settings: Settings,
  ) {}

  /** Undefined while the key, and its tenant, may open another. */
  refusal({ keyId, tenant }: Caller): Refusal | undefined {
    const { streams } = this.settings.quotas(tenant)
    if (this.#perTenant.of(tenant) >= streams) return overQuota('streams', streams)
    const limit = this.settings.maxPerKey
    if (this.#perKey.of(keyId) < limit) return undefined
    const message = `This key already has ${limit} open streams; close one first.`
    return refuse('rate_limited', message, { retryAfterMs: 1000, scope: 'key', limit })
  }

  add(stream: OpenStream): () => void {
    const { keyId, tenant } = stream.caller
    this.#open.add(stream)
    this.#perKey.add(keyId, 1)
    this.#perTenant.add(tenant, 1)
    if (this.#stopTimer === undefined) this.#schedule()
    return () => {
      if (!this.#open.delete(stream)) return
      this.#perKey.add(keyId, -1)
      this.#perTenant.add(tenant, -1)
    }
  }

  /** How many a tenant has open. */
  openOf(tenant: string): number {
    return this.#perTenant.of(tenant)
  }

  get size(): number {
    return this.#open.size
  }

  closeAll(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    for (const stream of this.#open) stream.close()
  }

  #schedule(): void {
    if (this.#open.size === 0) {
      this.#stopTimer = undefined
      return
    }
    this.#stopTimer = this.clock.after(this.settings.recheckMs, () => {
      this.#ping()
      this.#recheck().then(
        () => this.#schedule(),
        error => {
          this.log.warn({ err: error }, 'could not check the keys of open streams; they stay open until it works')
          this.#schedule()
        },
      )
    })
  }

  #ping(): void {
    const now = this.clock.monotonic()
    if (now - this.#pingedAt < this.settings.pingMs) return
    this.#pingedAt = now
    for (const stream of this.#open) stream.ping()
  }

  async #recheck(): Promise<void> {
    const holds = new Map<string, boolean>()
    for (const stream of this.#open) {
      const { keyId } = stream.caller
      if (!holds.has(keyId)) holds.set(keyId, await this.keys.stillHolds(stream.caller))
      if (!holds.get(keyId)) stream.close()
    }
  }
}

/** Counts by name; a count of zero is not remembered. */
class Tally {
  readonly #counts = new Map<string, number>()

  of(name: string): number {
    return this.#counts.get(name) ?? 0
  }

  add(name: string, change: number): void {
    const count = this.of(name) + change
    if (count === 0) this.#counts.delete(name)
    else this.#counts.set(name, count)
  }
}
