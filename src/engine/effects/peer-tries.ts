import type { Silence } from '../../core/handoff/peer-work.js'
import { Lru } from '../../lru.js'
import type { Clock } from '../ports/clock.js'

const FIRST_MS = 250
const LONGEST_MS = 10_000
/** Whoever is forgotten is simply tried sooner. */
const MOST_KEPT = 10_000

type Rest = { readonly failures: number; readonly until: number; readonly reason: Silence }

/** That a peer cannot be reached, all learn from one; that it has no use for a request, concerns that request. */
const OF_PEER: ReadonlySet<Silence> = new Set(['unreachable', 'timeout'])

/**
 * How long nobody tries again after failures, so that what does not answer costs little (P16), and what need not be tried again.
 * Of one process alone: without it, more is tried.
 */
export class PeerTries {
  readonly #rests = new Lru<Rest>(MOST_KEPT)
  readonly #cancelled = new Lru<true>(MOST_KEPT)

  constructor(private readonly clock: Clock) {}

  /** Why nothing is tried now. */
  reasonFor(peer: string, work: string): Silence | undefined {
    const now = this.clock.monotonic()
    return [keyOfPeer(peer), work].map(key => this.#rests.get(key)).find(rest => rest && rest.until > now)?.reason
  }

  /** A try has failed; says after how long there may be another. */
  failed(peer: string, work: string, reason: Silence, retryAfterMs = 0): number {
    const key = OF_PEER.has(reason) ? keyOfPeer(peer) : work
    const failures = (this.#rests.get(key)?.failures ?? 0) + 1
    const pause = Math.max(retryAfterMs, Math.min(FIRST_MS * 2 ** Math.min(failures - 1, 10), LONGEST_MS))
    this.#rests.set(key, { failures, until: this.clock.monotonic() + pause, reason })
    return pause
  }

  isCancelled(id: string): boolean {
    return this.#cancelled.get(id) === true
  }

  cancelled(id: string): void {
    this.#cancelled.set(id, true)
  }

  answered(peer: string, work: string): void {
    this.#rests.delete(keyOfPeer(peer))
    this.#rests.delete(work)
  }
}

const keyOfPeer = (peer: string): string => `peer ${peer}`
