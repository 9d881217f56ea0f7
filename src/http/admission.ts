import type { Refusal } from '../core/problem.js'
import { overQuota, type QuotasOf } from '../core/quotas.js'
import type { Caller } from './auth/key-cache.js'

/** Places beside all others, for keys that manage tenants: whoever has to put things right gets in. */
const RESERVED = 32

/**
 * Which requests are being served, by tenant. One that is let in holds a place until it gives it back, whichever way it
 * ends.
 */
export class Admission {
  readonly #places = new Map<string, number>()
  #taken = 0
  #reserved = 0

  constructor(
    private readonly places: number,
    private readonly quotas: QuotasOf,
    /** What everybody is told when no place is left. */
    private readonly full: Refusal,
  ) {}

  /** How many requests are being served, and for how many tenants. */
  get load(): { readonly requests: number; readonly tenants: number } {
    return { requests: this.#taken + this.#reserved, tenants: this.#places.size }
  }

  /** Takes a place, and returns how to give it back; or says why there is none. */
  enter(caller: Pick<Caller, 'tenant' | 'scopes'>): (() => void) | Refusal {
    const { tenant, scopes } = caller
    const { requestsInFlight } = this.quotas(tenant)
    const own = this.#places.get(tenant) ?? 0
    const refusal =
      this.#taken >= this.places
        ? this.full
        : own >= requestsInFlight
          ? overQuota('requestsInFlight', requestsInFlight)
          : undefined
    if (refusal !== undefined) return scopes.has('tenants:manage') ? this.#enterReserved(refusal) : refusal
    this.#taken += 1
    this.#places.set(tenant, own + 1)
    return once(() => {
      this.#taken -= 1
      const left = (this.#places.get(tenant) ?? 1) - 1
      if (left === 0) this.#places.delete(tenant)
      else this.#places.set(tenant, left)
    })
  }

  #enterReserved(refusal: Refusal): (() => void) | Refusal {
    if (this.#reserved >= RESERVED) return refusal
    this.#reserved += 1
    return once(() => {
      this.#reserved -= 1
    })
  }
}

function once(leave: () => void): () => void {
  let isOver = false
  return () => {
    if (!isOver) leave()
    isOver = true
  }
}
