import type { ArmFact } from '../arm/events.js'
import type { JsonObject } from '../json.js'
import type { RUN_BEGAN, RecordedInStream, STREAM_ENDED, StreamRunBegan } from '../standing/stream.js'

/** What a schedule tells of itself (docs/design/schedule.md). Payloads are free of content. */
export type ScheduleEvent =
  | ScheduleFact<'assay.schedule.registered', { workflowId: string; triggerId: string }, RegisteredSecret>
  | ScheduleFact<'assay.schedule.removed', Record<string, never>>
  | ScheduleFact<'assay.schedule.run.ended', { runId: string; outcome: ScheduledOutcome }>
  /** The run that is owed could not be started. */
  | ScheduleFact<'assay.schedule.held', { code: string; failures: number; until: number }>
  | ScheduleFact<'assay.schedule.refused', { tick: string; code: string }>
  /** Hosts have died again and again while they were at work on it; a person may resume it. */
  | ScheduleFact<'assay.schedule.quarantined', { attempts: number }>
  | ScheduleFact<typeof RUN_BEGAN, StreamRunBegan>
  | ScheduleFact<typeof STREAM_ENDED, Record<string, never>>
  | ArmFact

type ScheduleFact<Type extends string, Payload, Secret = undefined> = Secret extends undefined
  ? { readonly type: Type; readonly payload: Payload }
  : { readonly type: Type; readonly payload: Payload; readonly secret: Secret }

type RegisteredSecret = { scheduleId: string; tenant: string; work: ScheduledWork }

export type ScheduleRecorded = RecordedInStream<ScheduleEvent>

/** What its runs are made of. */
export type ScheduledWork = {
  readonly workflowId: string
  readonly triggerId: string
  readonly inputs: JsonObject
  /** Of whoever registered the workflow: its runs may do no more. */
  readonly principal: string
  readonly scopes?: readonly string[]
}

export type ScheduledOutcome = 'completed' | 'failed' | 'cancelled'
