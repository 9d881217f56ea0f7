import type { ArmFact } from '../arm/events.js'
import type { GoalWork } from '../goal/goal.js'
import type { RUN_BEGAN, RecordedInStream, STREAM_ENDED, StreamRunBegan } from '../standing/stream.js'

/** What a commitment tells of itself (docs/design/arm.md). Payloads are free of content: no word of its entry is in one. */
export type CommitmentEvent =
  | CommitmentFact<'assay.commitment.made', { commitmentId: string; condition: FireCondition }, CommitmentMade>
  /** Its run could not be started; it is tried again at `until`. */
  | CommitmentFact<'assay.commitment.held', { code: string; failures: number; until: number }>
  /** It will never fire. */
  | CommitmentFact<'assay.commitment.dropped', { reason: DropReason }>
  | CommitmentFact<'commitment.fired', CommitmentFired>
  | CommitmentFact<typeof RUN_BEGAN, StreamRunBegan>
  | CommitmentFact<typeof STREAM_ENDED, Record<string, never>>
  | ArmFact

type CommitmentFact<Type extends string, Payload, Secret = undefined> = Secret extends undefined
  ? { readonly type: Type; readonly payload: Payload }
  : { readonly type: Type; readonly payload: Payload; readonly secret: Secret }

export type CommitmentRecorded = RecordedInStream<CommitmentEvent>

export type FireCondition = 'time' | 'predicate'

/** Why it never fires: its entry is gone, or says something else; somebody called it off; its run is refused for good. */
export type DropReason = 'forgotten' | 'superseded' | 'cancelled' | 'refused' | 'poisoned'

export type CommitmentMade = {
  readonly tenant: string
  /** In whose name its run is, and what that credential may do. */
  readonly principal: string
  readonly scopes?: readonly string[]
  readonly entry: EntryName
  readonly work: GoalWork
}

/** The entry it was made with, by where it stands: another version of it is another one. */
export type EntryName = {
  readonly scope: string
  readonly ref: string
  readonly id: string
  readonly position: number
}

export type CommitmentFired = {
  commitmentId: string
  memoryRef: string
  memoryId: string
  condition: FireCondition
  enqueuedRunId: string
}
