import type { Goal } from '../../../core/goal/state.js'
import { refuse } from '../../../core/problem.js'
import { PollQuery } from '../../../wire/event.js'
import { renderEvent } from '../../../wire/render.js'
import { GoalEventsQuery, GoalPollAnswer } from '../../../wire/standing/goal.js'
import type { Edge } from '../../deps.js'
import { problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'
import {
  BEYOND_LOG,
  FOLLOWED,
  type FollowedLog,
  whileHeld,
  NOT_STORED,
  streamLog,
  resumePoint,
  wantsJson,
} from '../../streaming/stream-log.js'
import { pagedLog } from '../../streaming/paged-log.js'
import { type Events, logPieces } from '../../streaming/poll.js'

const NO_GOAL = refuse('not_found', 'No such goal, or not visible to this key; GET /v1/goals lists those there are.')

/** The log of a goal, like that of a run. Its envelope names the goal where that of a run names the run. */
export const goalEventRoutes = (edge: Edge, root: string, suffix: string): Route[] => [
  streamGoal(edge, root, suffix),
  pollGoal(edge, root, suffix),
]

const streamGoal = (edge: Edge, root: string, suffix: string): Route =>
  route({
    method: 'GET',
    path: `${root}/{goalId}/events`,
    operation: `streamGoalEvents${suffix}`,
    summary: 'The log of a goal: history, then live, as server-sent events; or as JSON',
    access: 'goals:read',
    query: GoalEventsQuery,
    ...FOLLOWED,
    refusals: ['validation_error', 'not_found', 'rate_limited', 'capability_not_provided'],
    async handle(call) {
      const { caller, params, query, request } = call
      const goal = await edge.goals.find(caller.tenant, params.goalId)
      if (goal === undefined) return problem(NO_GOAL)
      const after = resumePoint(request)
      if (typeof after !== 'number') return problem(after)
      const log = followed(edge, goal)
      if (!log.isOver && after >= log.length) return problem(BEYOND_LOG)
      if (!wantsJson(request.headers.accept))
        return streamLog(edge, call, log, { modes: ['debug'], bufferMs: query.bufferMs ?? 0, after })
      return { status: 200, body: '', pieces: logPieces(edge, log, told(edge, log, after + 1)), headers: NOT_STORED }
    },
  })

const pollGoal = (edge: Edge, root: string, suffix: string): Route =>
  route({
    method: 'GET',
    path: `${root}/{goalId}/events/poll`,
    operation: `pollGoalEvents${suffix}`,
    summary: 'Events of a goal newer than a sequence; holds until there are some',
    access: 'goals:read',
    query: PollQuery,
    responses: { 200: { description: 'Newer events, possibly none', schema: GoalPollAnswer } },
    refusals: ['validation_error', 'not_found', 'rate_limited', 'capability_not_provided'],
    async handle(call) {
      const { caller, params, query } = call
      const goal = await edge.goals.find(caller.tenant, params.goalId)
      if (goal === undefined) return problem(NO_GOAL)
      const after = query.lastSequence ?? query.since ?? -1
      const log = followed(edge, goal)
      if (!log.isOver && log.length <= after + 1) {
        const refusal = edge.streams.refusal(caller)
        if (refusal !== undefined) return problem(refusal)
        await whileHeld(edge, call, (query.timeout ?? 30) * 1000, signal => anyNews(log, after, signal))
      }
      const now = (await edge.goals.find(caller.tenant, params.goalId)) ?? goal
      const pieces = pollPieces(edge, followed(edge, now), after)
      return { status: 200, body: '', pieces, headers: NOT_STORED }
    },
  })

const followed = ({ goals }: Edge, { tenant, goalId, next, phase }: Goal): FollowedLog => ({
  tenant,
  runId: goalId,
  length: next,
  isOver: phase === 'ended',
  follow: (from, signal) => goals.follow(tenant, goalId, from, signal),
  missing: async () => NO_GOAL,
})

const told = (edge: Edge, log: FollowedLog, from: number): Events =>
  pagedLog({ engine: edge.goals, turns: edge.turns, config: edge.config }, log, from)

/** Comes back when the log is longer than it was, or when the reader has waited long enough. */
async function anyNews(log: FollowedLog, after: number, signal: AbortSignal): Promise<void> {
  // Not past the end: a follower that starts beyond it might never see it.
  const source = await log.follow(Math.min(after + 1, log.length), signal)
  for await (const batch of source ?? []) if (batch.some(({ sequence }) => sequence > after)) return
}

/** `isComplete`: its log has ended, and the events here reach its end. */
async function* pollPieces(edge: Edge, log: FollowedLog, after: number) {
  let before = `{"goalId":"${log.runId}","events":[`
  let last = after
  for await (const event of told(edge, log, after + 1)) {
    yield before + renderEvent(log.runId, event, edge)
    before = ','
    last = event.sequence
  }
  const isComplete = log.isOver && last >= log.length - 1
  yield `${before === ',' ? '' : before}],"isComplete":${isComplete},"lastEventSeq":${Math.max(last, -1)}}`
}
