import { createParser, type EventSourceMessage } from 'eventsource-parser'
import { AssayError } from './assay-error.js'
import { type Connection, open, pause } from './http-call.js'
import type { RunEventDoc } from './wire-shapes.js'

/** From where a log is followed, and for how long. */
export type Follow = {
  /** First sequence wanted; 0 is the beginning of the log. */
  readonly from?: number
  readonly signal?: AbortSignal
  /** How long to keep trying while nothing answers. */
  readonly patienceMs?: number
}

const TERMINAL = new Set(['run.completed', 'run.failed', 'run.cancelled'])
const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5_000
/** The server sends something at least every 30 s; after this much silence the connection is dead. */
const SILENCE_MS = 70_000

/**
 * A run's log as it grows, in order, without gap or repetition, until its terminal event. A broken connection is
 * opened again from the last event seen.
 */
export async function* followEvents(
  connection: Connection,
  runId: string,
  { from = 0, signal, patienceMs = 60_000 }: Follow = {},
): AsyncGenerator<RunEventDoc, void, undefined> {
  let next = from
  for (let waited = 0, wait = FIRST_PAUSE_MS; ; ) {
    const before = next
    try {
      for await (const event of streamOnce(connection, runId, next, signal)) {
        if (event.sequence < next) continue
        if (event.sequence > next) break
        next += 1
        yield event
        if (TERMINAL.has(event.type)) return
      }
      if (next === before && (await isOver(connection, runId, signal))) return
    } catch (error) {
      if (signal?.aborted) throw signal.reason
      if (!(error instanceof AssayError) || !error.isTemporary || waited >= patienceMs) throw error
    }
    if (next > before) [waited, wait] = [0, FIRST_PAUSE_MS]
    await pause(wait, signal)
    waited += wait
    wait = Math.min(wait * 2, LONGEST_PAUSE_MS)
  }
}

/** A stream that ends without a terminal event has either broken or begins after it. */
async function isOver(connection: Connection, runId: string, signal?: AbortSignal): Promise<boolean> {
  const path = `/v1/runs/${encodeURIComponent(runId)}`
  const response = await open(connection, { path, ...(signal && { signal }) })
  const { status } = (await response.json()) as { status?: string }
  return status === 'completed' || status === 'failed' || status === 'cancelled'
}

async function* streamOnce(
  connection: Connection,
  runId: string,
  from: number,
  signal?: AbortSignal,
): AsyncGenerator<RunEventDoc, void, undefined> {
  const silence = new AbortController()
  const response = await open(connection, {
    path: `/v1/runs/${encodeURIComponent(runId)}/events`,
    query: { streamMode: 'debug' },
    headers: { accept: 'text/event-stream', ...(from > 0 && { 'last-event-id': String(from - 1) }) },
    signal: signal === undefined ? silence.signal : AbortSignal.any([signal, silence.signal]),
  })
  const received: EventSourceMessage[] = []
  const parser = createParser({ onEvent: message => received.push(message) })
  const decoder = new TextDecoder()
  let timer = setTimeout(() => silence.abort(), SILENCE_MS)
  try {
    for await (const chunk of response.body ?? []) {
      clearTimeout(timer)
      timer = setTimeout(() => silence.abort(), SILENCE_MS)
      parser.feed(decoder.decode(chunk, { stream: true }))
      for (const message of received.splice(0)) yield* eventsOf(message)
    }
  } catch (error) {
    if (signal?.aborted) throw error
    throw new AssayError(0, 'unreachable', `the event stream of ${runId} broke off`, {}, { cause: error })
  } finally {
    clearTimeout(timer)
    silence.abort()
  }
}

/** One event, or a batch of them; frames that are not events of the log (snapshots, notices) have no sequence. */
function eventsOf(message: EventSourceMessage): RunEventDoc[] {
  const data: unknown = JSON.parse(message.data)
  const candidates = Array.isArray(data) ? data : [data]
  return candidates.filter((one): one is RunEventDoc => Number.isInteger(one?.sequence) && typeof one.type === 'string')
}
