import type { FastifyRequest } from 'fastify'
import { type Refusal, refuse } from '../../core/problem.js'
import type { StoredEvent } from '../../engine/ports/event-log.js'
import { EventsAnswer } from '../../wire/event.js'
import type { StreamMode } from '../../wire/stream-mode.js'
import type { Edge } from '../deps.js'
import { type HttpAnswer, problem } from '../http-answer.js'
import { type Call, TAKEN, type Taken } from '../route.js'
import { type Subscription, streamRun } from './sse.js'
import { SseConnection } from './sse-connection.js'

/** A log that somebody follows: of a run, or of a goal. `length` and `isOver` are as they were when it was looked at. */
export type FollowedLog = {
  readonly tenant: string
  readonly runId: string
  readonly length: number
  readonly isOver: boolean
  follow(from: number, signal: AbortSignal): Promise<AsyncIterable<readonly StoredEvent[]> | undefined>
  missing(): Promise<Refusal>
}

export type Subscribed = { readonly modes: readonly StreamMode[]; readonly bufferMs: number; readonly after: number }

/** How a route says that its log can be followed. */
export const FOLLOWED = {
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
}

export const wantsJson = (accept: string | undefined): boolean =>
  accept?.includes('application/json') === true && !accept.includes('text/event-stream')

export const NOT_STORED = { 'cache-control': 'no-store' }

export const BEYOND_LOG = refuse(
  'validation_error',
  'Last-Event-ID is past the end of this log; send the sequence of the last event you have, or leave it out.',
  { field: 'Last-Event-ID' },
)

/** The highest sequence that the reader has; -1 for none. */
export function resumePoint({ headers }: FastifyRequest): number | Refusal {
  const lastEventId = headers['last-event-id']
  if (lastEventId === undefined) return -1
  if (typeof lastEventId === 'string' && /^\d{1,15}$/.test(lastEventId)) return Number(lastEventId)
  return refuse('validation_error', 'Last-Event-ID must be the sequence of an event: a whole number from 0.', {
    field: 'Last-Event-ID',
  })
}

/** Server-sent events, history first, until the log ends or the reader leaves. */
export async function streamLog(
  edge: Edge,
  call: Call,
  log: FollowedLog,
  asked: Subscribed,
): Promise<HttpAnswer | Taken> {
  const refusal = edge.streams.refusal(call.caller)
  if (refusal !== undefined) return problem(refusal)
  const { tenant, runId } = log
  const { maxStreamBufferBytes: maxBufferBytes, maxTurnBytes: turnBytes } = edge.config.limits
  const limits = { maxBufferBytes, turnBytes, stallMs: edge.config.timeouts.streamStallMs }
  const connection = new SseConnection(call.reply.raw, edge.clock, limits, edge.turns, tenant)
  const remove = edge.streams.add({ caller: call.caller, ping: () => connection.ping(), close: () => connection.end() })
  try {
    // A resume point past the end starts at the end, so that the ending is still seen.
    const from = Math.min(asked.after + 1, log.length)
    const isHeard = log.isOver && from >= log.length
    const source = isHeard ? NOTHING : await log.follow(from, connection.signal)
    if (source === undefined) return problem(await log.missing())
    call.reply.hijack()
    connection.open()
    const subscription: Subscription = { ...asked, tenant, runId, resumed: asked.after >= 0 }
    await streamRun(edge.engine, edge.clock, edge.engineVersion, connection, subscription, source)
  } catch (error) {
    if (!call.reply.sent) throw error
    // The reader sees a cut connection and resumes; there is no status left to send.
    edge.log.warn({ err: error, runId }, 'an event stream broke off')
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

/** Work that a reader waits for, until it is done, the time is over, or the reader leaves. */
export async function whileHeld<T>(
  edge: Edge,
  call: Call,
  ms: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
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
