import type { JsonObject } from '../../core/json.js'
import { isTerminal } from '../../core/run/events.js'
import type { RunEngine } from '../../engine/api.js'
import type { Clock } from '../../engine/ports/clock.js'
import type { StoredEvent } from '../../engine/ports/event-log.js'
import { renderEvent } from '../../wire/render.js'
import { admits, CHUNK_EVENT, FLUSHES, type StreamMode } from '../../wire/stream-mode.js'
import { snapshotOfRun } from '../documents/run-snapshot.js'
import { isLong, jsonPieces } from './long-answer.js'
import type { SseConnection } from './sse-connection.js'

/** What the reader asked for. `after` is the highest sequence it has; −1 for none. */
export type Subscription = {
  readonly tenant: string
  readonly runId: string
  readonly modes: readonly StreamMode[]
  readonly bufferMs: number
  readonly after: number
  readonly resumed: boolean
}

export type Frame = {
  readonly sequence: number
  readonly event: string
  readonly data: string
  readonly flush: boolean
}

/** The state of a run after an event. */
type SnapshotFrame = { readonly sequence: number; readonly snapshot: JsonObject; readonly flush: boolean }

type Source = AsyncIterable<readonly StoredEvent[]>

/**
 * A pure transform of `follow()`: log in, frames out, until the run ends or the reader leaves. What is gathered for one
 * write is what the reader gets in one of its turns, and the connection sees to the turns.
 */
export async function streamRun(
  engine: RunEngine,
  clock: Clock,
  engineVersion: string,
  connection: SseConnection,
  subscription: Subscription,
  source: Source,
): Promise<void> {
  const out = subscription.bufferMs > 0 ? new Batcher(connection, clock, subscription.bufferMs) : new Plain(connection)
  const isOfValues = subscription.modes.includes('values')
  if (subscription.resumed && isOfValues) {
    await addSnapshot(out, connection, await latestSnapshot(engine, subscription, subscription.after))
    out.flush()
    await connection.sent()
  }
  for await (const batch of source) {
    if (connection.signal.aborted) return
    if (isOfValues) await addSnapshot(out, connection, await snapshotAfter(engine, subscription, batch))
    else
      for (const frame of eventFrames(subscription, batch, engineVersion)) {
        out.add(frame)
        if (out.size < connection.turnBytes) continue
        out.flush()
        await connection.sent()
        if (connection.signal.aborted) return
      }
    out.settle()
    await connection.sent()
    // The engine ends the stream here too; a resume point past the end must not keep it open.
    if (batch.some(event => isTerminal(event.type))) break
  }
  out.flush()
  await connection.sent()
}

/** Rendered when it is asked for: no more than fits into a turn. */
function* eventFrames(
  subscription: Subscription,
  events: readonly StoredEvent[],
  engineVersion: string,
): Generator<Frame> {
  const { runId, modes, after } = subscription
  for (const event of events) {
    if (event.sequence <= after || !admits(modes, event.type)) continue
    const chunk = event.type === CHUNK_EVENT && modes.includes('messages')
    yield {
      sequence: event.sequence,
      event: chunk ? 'ai.message.chunk' : event.type,
      data: chunk ? event.payload : renderEvent(runId, event, { engineVersion }),
      flush: FLUSHES.has(event.type),
    }
  }
}

/** Events that arrive together share one snapshot: the state after the last of them. */
async function snapshotAfter(
  engine: RunEngine,
  subscription: Subscription,
  events: readonly StoredEvent[],
): Promise<SnapshotFrame | undefined> {
  const moved = events.filter(event => event.sequence > subscription.after && admits(['values'], event.type))
  const last = events.at(-1)
  return moved.length === 0 || last === undefined ? undefined : latestSnapshot(engine, subscription, last.sequence)
}

async function latestSnapshot(
  engine: RunEngine,
  { tenant, runId }: Subscription,
  sequence: number,
): Promise<SnapshotFrame | undefined> {
  const view = await engine.inspect(tenant, runId)
  if (view === undefined || view.state.phase === 'absent') return undefined
  const snapshot = { ...(await snapshotOfRun(engine, view)), atSeq: view.state.next - 1 } as unknown as JsonObject
  return { sequence, snapshot, flush: view.state.phase === 'ended' }
}

/** What is longer than a turn is not rendered in one. */
async function addSnapshot(out: Plain | Batcher, connection: SseConnection, frame: SnapshotFrame | undefined) {
  if (frame === undefined) return
  const { sequence, snapshot, flush } = frame
  if (!isLong(snapshot, connection.turnBytes))
    return out.add({ sequence, event: SNAPSHOT, data: JSON.stringify(snapshot), flush })
  out.flush()
  await connection.sendPieces(out.around(sequence, jsonPieces(snapshot, connection.turnBytes)))
}

const SNAPSHOT = 'state.snapshot'

const frameText = (frame: Omit<Frame, 'flush'>): string =>
  `id: ${frame.sequence}\nevent: ${frame.event}\ndata: ${frame.data}\n\n`

class Plain {
  #text = ''

  constructor(private readonly connection: SseConnection) {}

  get size(): number {
    return this.#text.length
  }

  add(frame: Frame): void {
    this.#text += frameText(frame)
  }

  settle(): void {
    this.flush()
  }

  /** A frame of its own around the text of a snapshot. */
  *around(sequence: number, pieces: Iterable<string>): Generator<string> {
    yield `id: ${sequence}\nevent: ${SNAPSHOT}\ndata: `
    yield* pieces
    yield '\n\n'
  }

  flush(): void {
    if (this.#text !== '') this.connection.write(this.#text)
    this.#text = ''
  }
}

/** Gathers frames for `bufferMs` and sends them as one `batch`, sooner when somebody is waiting for what is in it. */
class Batcher {
  #frames: Frame[] = []
  #size = 0
  #stopTimer: (() => void) | undefined

  constructor(
    private readonly connection: SseConnection,
    private readonly clock: Clock,
    private readonly bufferMs: number,
  ) {
    connection.signal.addEventListener('abort', () => this.#stopTimer?.(), { once: true })
  }

  get size(): number {
    return this.#size
  }

  add(frame: Frame): void {
    this.#frames.push(frame)
    this.#size += frame.data.length
    if (frame.flush) this.flush()
  }

  settle(): void {
    if (this.#frames.length === 0 || this.#stopTimer !== undefined) return
    this.#stopTimer = this.clock.after(this.bufferMs, () => this.flush())
  }

  *around(sequence: number, pieces: Iterable<string>): Generator<string> {
    yield `id: ${sequence}\nevent: batch\ndata: [`
    yield* pieces
    yield ']\n\n'
  }

  flush(): void {
    this.#stopTimer?.()
    this.#stopTimer = undefined
    const last = this.#frames.at(-1)
    if (last === undefined) return
    const data = `[${this.#frames.map(frame => frame.data).join(',')}]`
    this.#frames = []
    this.#size = 0
    this.connection.write(frameText({ sequence: last.sequence, event: 'batch', data }))
  }
}
