import type { CommitmentArm } from '../../core/commitment/decide.js'
import type { Commitment } from '../../core/commitment/state.js'
import type { GoalWork } from '../../core/goal/goal.js'
import type { Answer } from '../api.js'
import type { RememberedResponse } from '../ports/remembered-responses.js'

/** Commitments, as the edges manage them (docs/design/arm.md). Another tenant's is undefined, like one that never was. */
export interface CommitmentAdmin {
  /** Writes its entry, and makes it. */
  make(wanted: NewCommitment, response?: (made: Commitment) => RememberedResponse): Promise<Answer<Commitment>>
  find(tenant: string, commitmentId: string): Promise<Commitment | undefined>
  /** The newest first; `before` is the id of the last one of the page before. */
  list(query: CommitmentQuery): Promise<readonly Commitment[]>
  cancel(tenant: string, commitmentId: string): Promise<Answer<Commitment> | undefined>
}

export type NewCommitment = {
  readonly tenant: string
  readonly principal: string
  readonly scopes?: readonly string[]
  /** Of memory, in whose scope it is written at once. */
  readonly entry: {
    readonly scope: string
    readonly ref: string
    readonly id?: string
    readonly content: string
    readonly tags: readonly string[]
    readonly ttlSeconds?: number
  }
  readonly arm: CommitmentArm
  readonly work: GoalWork
}

export type CommitmentQuery = {
  readonly tenant: string
  /** Only those that may still fire. */
  readonly open: boolean
  readonly before?: string
  readonly limit: number
}
