import { refuse } from '../../../core/problem.js'
import type { ScheduleAdmin, ScheduleShown } from '../../../engine/api.js'
import type { Scope } from '../../../wire/key.js'
import { ListSchedulesAnswer, ListSchedulesQuery, ScheduleAnswer } from '../../../wire/standing/schedule.js'
import { readCursor, writeCursor } from '../../cursor.js'
import type { Edge } from '../../deps.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

const NO_SCHEDULE = refuse(
  'not_found',
  'No such schedule, or not visible to this key; GET /v1/host/assay/schedules lists those there are.',
)

/** When workflows are run by themselves; a schedule comes with its workflow, and goes with it. */
export const scheduleRoutes = (edge: Edge): Route[] => [
  listSchedules(edge),
  getSchedule(edge),
  command(edge, 'pause', 'workflows:write', 'Let it start nothing until it is resumed'),
  command(edge, 'resume', 'workflows:write', 'Let it go on with the first time from now on'),
  command(edge, 'run', 'runs:create', 'Start a run of it now; its next time stays what it is'),
]

const listSchedules = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/host/assay/schedules',
    operation: 'listSchedules',
    summary: 'Schedules of the workflows of this tenant, and how they are doing',
    access: 'runs:read',
    query: ListSchedulesQuery,
    responses: { 200: { description: 'One page of schedules', schema: ListSchedulesAnswer } },
    refusals: ['validation_error'],
    async handle({ caller, query: { cursor, limit = 50 } }) {
      const before = cursor === undefined ? undefined : readCursor(caller.tenant, cursor)
      if (cursor !== undefined && before === undefined) {
        const message = 'query.cursor is not one this list gave out; start again without it.'
        return problem(refuse('validation_error', message, { field: 'query.cursor' }))
      }
      const { schedules, next } = await edge.engine.schedules.list(caller.tenant, {
        limit,
        ...(before === undefined ? undefined : { before }),
      })
      const nextCursor = next === null ? null : writeCursor(caller.tenant, next)
      return json(200, { schedules: schedules.map(render), nextCursor })
    },
  })

const getSchedule = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/host/assay/schedules/{scheduleId}',
    operation: 'getSchedule',
    summary: 'One schedule',
    access: 'runs:read',
    responses: { 200: { description: 'The schedule', schema: ScheduleAnswer } },
    refusals: ['not_found'],
    async handle({ caller, params }) {
      const found = await edge.engine.schedules.get(caller.tenant, params.scheduleId)
      return found ? json(200, render(found)) : problem(NO_SCHEDULE)
    },
  })

const command = (edge: Edge, name: 'pause' | 'resume' | 'run', access: Scope, summary: string): Route =>
  route({
    method: 'POST',
    path: `/v1/host/assay/schedules/{scheduleId}:${name}`,
    operation: `${name}Schedule`,
    summary,
    access,
    idempotency: 'lease',
    responses: { 200: { description: 'The schedule as it is now', schema: ScheduleAnswer } },
    refusals: ['not_found', ...(name === 'run' ? (['schedule_busy'] as const) : [])],
    async handle({ caller, params }) {
      const answer = await commanded(edge.engine.schedules, name, caller.tenant, params.scheduleId)
      if (answer.ok) return json(200, render(answer.value))
      if ('replay' in answer) throw new Error('a schedule keeps no answers')
      return problem(answer.refusal)
    },
  })

const commanded = (schedules: ScheduleAdmin, name: 'pause' | 'resume' | 'run', tenant: string, scheduleId: string) =>
  schedules[name](tenant, scheduleId)

const time = (at: number): string => new Date(at).toISOString()

function render(shown: ScheduleShown) {
  const { scheduleId, workflowId, triggerId, state, next, run, begun, latest, held } = shown
  return {
    scheduleId,
    workflowId,
    triggerId,
    ...renderArm(shown),
    state,
    next: next && { tick: time(next.tick), dueAt: time(next.dueAt) },
    run,
    runs: begun,
    latest: latest && { runId: latest.runId, tick: latest.tick, outcome: latest.outcome, endedAt: time(latest.at) },
    held: held && { code: held.code, tries: held.failures, until: time(held.until) },
  } satisfies ScheduleAnswer
}

function renderArm({ arm, holds }: ScheduleShown) {
  if (arm.kind === 'heartbeat') {
    const { kind, everyMs, maxRuntimeMs } = arm
    return { kind, intervalSeconds: everyMs / 1_000, maxRuntimeSeconds: maxRuntimeMs / 1_000, holds }
  }
  const { kind, cron, timezone, missed, jitterMs } = arm
  return {
    kind,
    cron,
    timezone,
    missed: missed.policy,
    ...(missed.policy === 'all' && { maxMissed: missed.most }),
    jitterSeconds: jitterMs / 1_000,
  }
}
