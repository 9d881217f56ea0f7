import { type Static, Type } from 'typebox'
import { OneOf } from '../../core/schema/kinds.js'
import { Timestamp } from '../ids.js'

const Nullable = <Schema extends ReturnType<typeof Type.Object>>(schema: Schema) => Type.Union([schema, Type.Null()])

const tick = Type.String({
  description: 'The time that the run is there for, or `hand:N`: the n-th that was asked for',
})

export const ScheduleAnswer = Type.Object({
  scheduleId: Type.String(),
  workflowId: Type.String(),
  triggerId: Type.String({ description: 'Of the trigger of the workflow that it is made of' }),
  kind: OneOf(['schedule', 'heartbeat'], { description: 'By times, or by what is found when it is looked' }),
  cron: Type.Optional(Type.String()),
  timezone: Type.Optional(Type.String()),
  missed: Type.Optional(OneOf(['skip', 'once', 'all'])),
  maxMissed: Type.Optional(Type.Integer()),
  jitterSeconds: Type.Optional(Type.Integer()),
  intervalSeconds: Type.Optional(Type.Integer({ description: 'Of a heartbeat: how often it is looked' })),
  maxRuntimeSeconds: Type.Optional(Type.Integer({ description: 'Of a heartbeat: how long looking may take' })),
  holds: Type.Optional(
    Type.Union([Type.Boolean(), Type.Null()], {
      description: 'Of a heartbeat: what was found last; null before anything was',
    }),
  ),
  state: OneOf(['armed', 'paused', 'spent', 'removed'], {
    description: '`spent`: no time is left that the expression matches; `removed`: its workflow has it no more',
  }),
  next: Type.Union([Type.Object({ tick: Timestamp, dueAt: Timestamp }), Type.Null()], {
    description: 'The time that is waited for next; while a run is under way, the one that was',
  }),
  run: Nullable(Type.Object({ runId: Type.String(), tick })),
  runs: Type.Integer({ minimum: 0, description: 'Runs that it has started' }),
  latest: Nullable(
    Type.Object({
      runId: Type.String(),
      tick,
      outcome: OneOf(['completed', 'failed', 'cancelled']),
      endedAt: Timestamp,
    }),
  ),
  held: Type.Union([Type.Object({ code: Type.String(), tries: Type.Integer(), until: Timestamp }), Type.Null()], {
    description: 'Why the run that is due is not there yet, and when it is tried again',
  }),
})
export type ScheduleAnswer = Static<typeof ScheduleAnswer>

export const ListSchedulesQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
})

export const ListSchedulesAnswer = Type.Object({
  schedules: Type.Array(ScheduleAnswer),
  nextCursor: Type.Union([Type.String(), Type.Null()]),
})
