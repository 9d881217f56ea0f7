import { type Refusal, refuse } from '../../core/problem.js'
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

type Settings = { readonly maxPerKey: number; readonly pingMs: number; readonly recheckMs: number }

/**
 * Everything that is open, in one place: the cap per key, keep-alive comments, the key check that ends streams of a
 * revoked key, and closing all of them on shutdown. One timer serves them all.
 */
export class StreamRegistry {
  readonly #open = new Set<OpenStream>()
  readonly #perKey = new Map<string, number>()
  #stopTimer: (() => void) | undefined
  #pingedAt = 0

  constructor(
    private readonly keys: KeyCache,
    private readonly clock: Clock,
    private readonly log: Log,
    private readonly settings: Settings,
  ) {}

  /** Undefined while the key may open another. */
  refusal(caller: Caller): Refusal | undefined {
    const limit = this.settings.maxPerKey
    if ((this.#perKey.get(caller.keyId) ?? 0) < limit) return undefined
    const message = `This key already has ${limit} open streams; close one first.`
    return refuse('rate_limited', message, { retryAfterMs: 1000, scope: 'key', limit })
  }

  add(stream: OpenStream): () => void {
    const { keyId } = stream.caller
    this.#open.add(stream)
    this.#perKey.set(keyId, (this.#perKey.get(keyId) ?? 0) + 1)
    if (this.#stopTimer === undefined) this.#schedule()
    return () => {
      if (!this.#open.delete(stream)) return
      const left = (this.#perKey.get(keyId) ?? 1) - 1
      if (left === 0) this.#perKey.delete(keyId)
      else this.#perKey.set(keyId, left)
    }
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
