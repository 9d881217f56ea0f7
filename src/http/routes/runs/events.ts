import { type Refusal, refuse } from '../../../core/problem.js'
import type { InspectedRun } from '../../../engine/api.js'
import { EventsAnswer, EventsQuery, PollAnswer, PollQuery } from '../../../wire/event.js'
import { parseStreamMode, STREAM_MODES, type StreamMode } from '../../../wire/stream-mode.js'
import { compileCheck, type ShapeCheck } from '../../check.js'
import type { Edge } from '../../deps.js'
import { type HttpAnswer, problem } from '../../http-answer.js'
import { readQuery } from '../../query.js'
import { type Call, type Route, route, TAKEN, type Taken } from '../../route.js'
import { pagedLog } from '../../streaming/paged-log.js'
import { type Events, isOver, lengthOf, logPieces, newEvents, pollPieces } from '../../streaming/poll.js'
import { type Subscription, streamRun } from '../../streaming/sse.js'
import { SseConnection } from '../../streaming/sse-connection.js'

export const eventRoutes = (edge: Edge): Route[] => [streamEvents(edge), pollEvents(edge)]

type Asked = { readonly modes: readonly StreamMode[]; readonly bufferMs: number; readonly after: number }

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
    headers: [
      { name: 'Accept', description: '`application/json` for the log so far; otherwise a stream' },
      { name: 'Last-Event-ID', description: 'Highest sequence the reader has' },
    ],
    responses: {
      200: {
        description: 'A `text/event-stream`, or JSON when that is what Accept names',
        schema: EventsAnswer,
        contentType: 'text/event-stream',
      },
    },
    refusals: ['validation_error', 'unsupported_stream_mode', 'not_found', 'run_expired', 'rate_limited'],
    async handle(call) {
      const { tenant } = call.caller
      const view = await edge.engine.inspect(tenant, call.params.runId)
      if (view === undefined) return problem(await edge.engine.missing(tenant, call.params.runId))
      const asked = readRequest(call, check)
      if ('code' in asked) return problem(asked)
      if (await isBeyondLog(edge, view, asked.after)) return problem(BEYOND_LOG)
      return wantsJson(call.request.headers.accept) ? sendLog(edge, view, asked) : openStream(edge, call, view, asked)
    },
  })
}

const BEYOND_LOG = refuse(
  'validation_error',
  'Last-Event-ID is past the end of this run; send the sequence of the last event you have, or leave it out.',
  { field: 'Last-Event-ID' },
)

/** A position nobody can have been given, in a run that goes on. An ended run has no more to give in any case. */
async function isBeyondLog({ engine }: Edge, view: InspectedRun, after: number): Promise<boolean> {
  if (isOver(view) || after < lengthOf(view)) return false
  // Another host may have written since this view was taken.
  return (await engine.readEvents(view.tenant, view.runId, after, 1))?.length === 0
}

/** Mode and buffer are judged before Accept is looked at, and Last-Event-ID after both (contract core §6). */
function readRequest(call: Call, check: ShapeCheck): Asked | Refusal {
  const query = readQuery(EventsQuery, call.request.query as { [name: string]: unknown })
  const { streamMode, bufferMs } = query
  const modes = streamMode === undefined || typeof streamMode === 'string' ? parseStreamMode(streamMode) : undefined
  if (modes === undefined) {
    const message = `query.streamMode must be one of ${STREAM_MODES.join(', ')}, or a comma-separated list without values.`
    return refuse('unsupported_stream_mode', message, { supported: STREAM_MODES })
  }
  const refusal = check(query)
  if (refusal !== undefined) return refusal
  const lastEventId = call.request.headers['last-event-id']
  if (lastEventId === undefined) return { modes, bufferMs: Number(bufferMs ?? 0), after: -1 }
  if (typeof lastEventId !== 'string' || !/^\d{1,15}$/.test(lastEventId)) {
    return refuse('validation_error', 'Last-Event-ID must be the sequence of an event: a whole number from 0.', {
      field: 'Last-Event-ID',
    })
  }
  return { modes, bufferMs: Number(bufferMs ?? 0), after: Number(lastEventId) }
}

const wantsJson = (accept: string | undefined): boolean =>
  accept?.includes('application/json') === true && !accept.includes('text/event-stream')

const NOT_STORED = { 'cache-control': 'no-store' }

/** The whole log, whatever the mode: this is `poll` without holding. */
function sendLog(edge: Edge, view: InspectedRun, { after }: Asked): HttpAnswer {
  return { status: 200, body: '', pieces: logPieces(edge, view, pagedLog(edge, view, after + 1)), headers: NOT_STORED }
}

async function openStream(edge: Edge, call: Call, view: InspectedRun, asked: Asked): Promise<HttpAnswer | Taken> {
  const refusal = edge.streams.refusal(call.caller)
  if (refusal !== undefined) return problem(refusal)
  const { maxStreamBufferBytes: maxBufferBytes, maxTurnBytes: turnBytes } = edge.config.limits
  const limits = { maxBufferBytes, turnBytes, stallMs: edge.config.timeouts.streamStallMs }
  const connection = new SseConnection(call.reply.raw, edge.clock, limits, edge.turns, view.tenant)
  const remove = edge.streams.add({ caller: call.caller, ping: () => connection.ping(), close: () => connection.end() })
  try {
    // A resume point past the end starts at the end, so that the run's ending is still seen.
    const from = Math.min(asked.after + 1, lengthOf(view))
    const { tenant, runId } = view
    const over = isOver(view) && from >= lengthOf(view)
    const source = over ? NOTHING : await edge.engine.follow(tenant, runId, from, connection.signal)
    if (source === undefined) return problem(await edge.engine.missing(tenant, runId))
    call.reply.hijack()
    connection.open()
    const subscription: Subscription = { ...asked, tenant, runId, resumed: asked.after >= 0 }
    await streamRun(edge.engine, edge.clock, edge.engineVersion, connection, subscription, source)
  } catch (error) {
    if (!call.reply.sent) throw error
    // The reader sees a cut connection and resumes; there is no status left to send.
    edge.log.warn({ err: error, runId: view.runId }, 'an event stream broke off')
    call.reply.raw.destroy()
  } finally {
    remove()
    if (call.reply.sent) connection.end()
  }
  return TAKEN
}

const NOTHING: AsyncIterable<never> = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }),
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
      const events = await hold(edge, call, ms, signal => newEvents(edge, view, after, signal))
      const later = await edge.engine.inspect(caller.tenant, params.runId)
      // A run that ended after these events were read is not over for this reader, if its last events are yet to come.
      const isStillToCome = later !== undefined && isOver(later) && after + 1 < lengthOf(later)
      return answer(later === undefined || isStillToCome ? view : later, events)
    },
  })

async function hold<T>(edge: Edge, call: Call, ms: number, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const abort = new AbortController()
  const stop = () => abort.abort()
  const remove = edge.streams.add({ caller: call.caller, ping: () => undefined, close: stop })
  const cancelTimer = edge.clock.after(ms, stop)
  // Who left before there was anything to wait for is not told of a second time.
  if (call.reply.raw.destroyed) stop()
  call.reply.raw.once('close', stop)
  try {
    return await work(abort.signal)
  } finally {
    cancelTimer()
    remove()
    call.reply.raw.off('close', stop)
  }
}
