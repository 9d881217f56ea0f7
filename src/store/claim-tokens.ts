import { randomUUID } from 'node:crypto'
import { StoreUnavailable } from '../engine/ports/event-log.js'

/** Tells a statement of this store that was carried out from somebody else's, when its answer was lost. */
export const claimToken = (): string => randomUUID()

/**
 * Names single attempts to claim an effect, so that a claim whose answer was lost can be told from somebody else's: the
 * next attempt of this store goes under the same name, and finds the effect claimed by itself. Without it the effect
 * would be `in-flight` in our own hands for as long as we live.
 */
export class ClaimTokens {
  readonly #lost = new Map<string, string>()

  /** `attempt` is called with the token to claim under. */
  async use<T>(id: string, attempt: (token: string) => Promise<T>): Promise<T> {
    const token = this.#lost.get(id) ?? claimToken()
    // Only one of several callers may take up a lost claim.
    this.#lost.delete(id)
    try {
      return await attempt(token)
    } catch (error) {
      if (error instanceof StoreUnavailable) this.#lost.set(id, token)
      throw error
    }
  }
}
