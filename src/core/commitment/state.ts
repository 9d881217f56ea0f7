import type { ArmState } from '../arm/state.js'
import type { CommitmentMade, FireCondition, DropReason } from './events.js'

export type CommitmentState = { readonly phase: 'absent' } | Commitment

export type Commitment = CommitmentMade & {
  /** `ended`: it has fired, or never will. */
  readonly phase: 'open' | 'ended'
  readonly commitmentId: string
  readonly condition: FireCondition
  readonly next: number
  readonly lastAt: number
  readonly createdAt: number
  readonly arm: ArmState
  /** The run it has started. */
  readonly runId: string | null
  readonly dropped: DropReason | null
  /** Why the run that is owed is not there yet. */
  readonly held: { readonly code: string; readonly failures: number; readonly until: number } | null
}
