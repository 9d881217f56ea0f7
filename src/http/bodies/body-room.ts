import { type Refusal, refuse } from '../../core/problem.js'

/** Shorter bodies are not counted: as many as there may be requests are no burden. */
const SHORT_BODY = 64 * 1024

/** Bodies that are being received, or worked with, take no more memory than this together. */
const MOST_BYTES = 256 * 1024 * 1024

/**
 * Room for bodies, by what they announce before a byte of them is read: a body is held in memory from its first byte until its
 * request is answered, and whoever sends many slowly must not have all of it. One tenant has half of it at most.
 */
export class BodyRoom {
  readonly #perTenant = new Map<string, number>()
  #taken = 0

  /** `largest` is the most that one body may have: there is room for some of those, whatever they are. */
  constructor(largest: number) {
    this.#most = Math.max(MOST_BYTES, 4 * largest)
  }

  readonly #most: number

  /** How many bytes are spoken for, and by how many tenants. */
  get load(): { readonly bytes: number; readonly tenants: number } {
    return { bytes: this.#taken, tenants: this.#perTenant.size }
  }

  /** Takes so much room, and returns how to give it back; or says why there is none. */
  enter(tenant: string, bytes: number): (() => void) | Refusal {
    if (bytes <= SHORT_BODY) return () => undefined
    const own = this.#perTenant.get(tenant) ?? 0
    if (own + bytes > this.#most / 2) return full(`This tenant is sending ${own} bytes of bodies already`, 'tenant')
    if (this.#taken + bytes > this.#most) return full(`${this.#taken} bytes of bodies are being sent already`, 'global')
    this.#taken += bytes
    this.#perTenant.set(tenant, own + bytes)
    let isOver = false
    return () => {
      if (isOver) return
      isOver = true
      this.#taken -= bytes
      const left = (this.#perTenant.get(tenant) ?? bytes) - bytes
      if (left === 0) this.#perTenant.delete(tenant)
      else this.#perTenant.set(tenant, left)
    }
  }
}

const full = (why: string, scope: string): Refusal =>
  refuse('rate_limited', `${why}, and there is no room for this one; send it again when one of them is answered.`, {
    retryAfterMs: 1_000,
    scope,
  })
