import type { Json } from '../../core/json.js'

/** Which effects were begun, by whom, and what came of them. */
export interface EffectLedger {
  /** Layer 2: atomic insert-if-absent of an effect's identity. A claim left by a fenced host may be taken over. */
  claimEffect(claim: EffectClaim): Promise<ClaimResult>
  /** `cacheKey`, 64 hex digits, is what `findAnswer` finds the outcome by. */
  finishEffect(id: string, hostId: string, outcome: Json, cacheKey?: string): Promise<void>
  /** Gives an unfinished claim back: this try failed in a way that may be retried, and the next one claims anew. */
  releaseEffect(id: string, hostId: string): Promise<void>
  /** Lets go of an unfinished claim whose effect may have happened: as if its host were gone. */
  abandonEffect(id: string, hostId: string): Promise<void>
  /** The outcome of a finished effect. */
  readEffect(id: string): Promise<Json | undefined>
  /** The latest outcome under that key among the tenant's own effects; never another tenant's (R-REPLAY-17). */
  findAnswer(tenant: string, cacheKey: string): Promise<Json | undefined>
  /** Forgets finished effects that are older and whose run has ended, and tells how many. */
  purgeEffects(olderThan: number): Promise<number>
}

export type EffectClaim = {
  readonly id: string
  readonly tenant: string
  readonly runId: string
  readonly nodeId: string
  /** The effect's place within its node: `3`, or `3.2` for the second step of the third. */
  readonly ordinal: string
  readonly provider: string
  /** Which try of the effect this is, by the run's own count; the first is 1. */
  readonly attempt: number
  readonly hostId: string
  readonly at: number
}

export type ClaimResult =
  /**
   * `again` when an earlier claim for the same or a later attempt, whose host is gone, left no outcome: the effect may
   * or may not have happened. A higher attempt than the abandoned one is a fresh try that the run already knows of.
   */
  | { readonly kind: 'claimed'; readonly again: boolean }
  | { readonly kind: 'done'; readonly outcome: Json }
  | { readonly kind: 'in-flight' }
