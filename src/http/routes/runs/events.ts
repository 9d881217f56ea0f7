import { type Refusal, refuse } from '../../../core/problem.js'
import type { InspectedRun } from '../../../engine/api.js'
import { EventsQuery, PollAnswer, PollQuery } from '../../../wire/event.js'
import { parseStreamMode, STREAM_MODES } from '../../../wire/stream-mode.js'
import { compileCheck, type ShapeCheck } from '../../check.js'
import type { Edge } from '../../deps.js'
import { type HttpAnswer, problem } from '../../http-answer.js'
import { readQuery } from '../../query.js'
import { type Call, type Route, route } from '../../route.js'
import {
  type Subscribed,
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
import { type Events, isOver, lengthOf, logPieces, newEvents, pollPieces } from '../../streaming/poll.js'

export const eventRoutes = (edge: Edge): Route[] => [streamEvents(edge), pollEvents(edge)]

const streamEvents = (edge: Edge): Route => {
  const check = compileCheck(EventsQuery, 'query')
  return route({
    method: 'GET',
    path: '/v1/runs/{runId}/events',
    operation: 'streamRunEvents',
    summary: 'The log of a run: history, then live, as server-sent events; or as JSON',
    access: 'runs:read',
    query: EventsQuery,
    lateQuery: true,
    ...FOLLOWED,
    refusals: ['validation_error', 'unsupported_stream_mode', 'not_found', 'run_expired', 'rate_limited'],
    async handle(call) {
      const { tenant } = call.caller
      const view = await edge.engine.inspect(tenant, call.params.runId)
      if (view === undefined) return problem(await edge.engine.missing(tenant, call.params.runId))
      const asked = readRequest(call, check)
      if ('code' in asked) return problem(asked)
      if (await isBeyondLog(edge, view, asked.after)) return problem(BEYOND_LOG)
      return wantsJson(call.request.headers.accept)
        ? sendLog(edge, view, asked)
        : streamLog(edge, call, followed(edge, view), asked)
    },
  })
}

/** A position nobody can have been given, in a run that goes on. An ended run has no more to give in any case. */
async function isBeyondLog({ engine }: Edge, view: InspectedRun, after: number): Promise<boolean> {
  if (isOver(view) || after < lengthOf(view)) return false
  // Another host may have written since this view was taken.
  return (await engine.readEvents(view.tenant, view.runId, after, 1))?.length === 0
}

/** Mode and buffer are judged before Accept is looked at, and Last-Event-ID after both (contract core §6). */
function readRequest(call: Call, check: ShapeCheck): Subscribed | Refusal {
  const query = readQuery(EventsQuery, call.request.query as { [name: string]: unknown })
  const { streamMode, bufferMs } = query
  const modes = streamMode === undefined || typeof streamMode === 'string' ? parseStreamMode(streamMode) : undefined
  if (modes === undefined) {
    const message = `query.streamMode must be one of ${STREAM_MODES.join(', ')}, or a comma-separated list without values.`
    return refuse('unsupported_stream_mode', message, { supported: STREAM_MODES })
  }
  const refusal = check(query)
  if (refusal !== undefined) return refusal
  const after = resumePoint(call.request)
  return typeof after === 'number' ? { modes, bufferMs: Number(bufferMs ?? 0), after } : after
}

const followed = ({ engine }: Edge, view: InspectedRun): FollowedLog => {
  const { tenant, runId } = view
  return {
    tenant,
    runId,
    length: lengthOf(view),
    isOver: isOver(view),
    follow: (from, signal) => engine.follow(tenant, runId, from, signal),
    missing: () => engine.missing(tenant, runId),
  }
}

/** The whole log, whatever the mode: this is `poll` without holding. */
function sendLog(edge: Edge, view: InspectedRun, { after }: Subscribed): HttpAnswer {
  return { status: 200, body: '', pieces: logPieces(edge, view, pagedLog(edge, view, after + 1)), headers: NOT_STORED }
}

const pollEvents = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/runs/{runId}/events/poll',
    operation: 'pollRunEvents',
    summary: 'Events newer than a sequence; holds until there are some',
    access: 'runs:read',
    query: PollQuery,
    responses: { 200: { description: 'Newer events, possibly none', schema: PollAnswer } },
    refusals: ['validation_error', 'not_found', 'run_expired', 'rate_limited'],
    async handle(call) {
      const { caller, params, query } = call
      const view = await edge.engine.inspect(caller.tenant, params.runId)
      if (view === undefined) return problem(await edge.engine.missing(caller.tenant, params.runId))
      const after = query.lastSequence ?? query.since ?? -1
      const mayHold = !isOver(view) && lengthOf(view) <= after + 1
      const refusal = mayHold ? edge.streams.refusal(caller) : undefined
      if (refusal !== undefined) return problem(refusal)
      const answer = (shown: InspectedRun, events: Events): HttpAnswer => {
        return { status: 200, body: '', pieces: pollPieces(edge, shown, events), headers: NOT_STORED }
      }
      if (!mayHold) return answer(view, pagedLog(edge, view, after + 1))
      const ms = (query.timeout ?? 30) * 1000
      const events = await whileHeld(edge, call, ms, signal => newEvents(edge, view, after, signal))
      const later = await edge.engine.inspect(caller.tenant, params.runId)
      // A run that ended after these events were read is not over for this reader, if its last events are yet to come.
      const isStillToCome = later !== undefined && isOver(later) && after + 1 < lengthOf(later)
      return answer(later === undefined || isStillToCome ? view : later, events)
    },
  })
