import type { StreamState } from '../../core/standing/stream.js'
import { kindOfId, type StreamKindName } from '../../core/standing/stream.js'
import type { FairQueue } from '../../timing/fair-queue.js'
import type { Log } from '../ports/log.js'
import type { StoredEvent } from '../ports/event-log.js'
import type { DueRun } from '../ports/run-index.js'
import type { Followers } from '../runtime/followers.js'
import type { RunCache, RunSlot } from '../runtime/run-cache.js'
import type { RunWriter } from '../runtime/run-writer.js'
import type { RunStarter } from './run-starter.js'
import { StreamDriver, type StreamDriverOptions } from './stream-driver.js'
import type { LoadedStream, StreamEffect, StreamInput, StreamKind } from './stream-kind.js'
import { StreamSlots } from './stream-slots.js'
import { StreamWriter, type StreamWriterDeps } from './stream-writer.js'

type Room = Pick<StreamDriver<StreamState, StreamInput, StreamEffect>, 'look' | 'due' | 'watchUntil' | 'stop'> & {
  readonly busy: readonly RunSlot<unknown>[]
  /** False when nothing is known of it here. */
  forget(streamId: string): boolean
  clear(): void
}

/** What kinds of streams have of the engine: their room, and the runs that they start and look at. */
export type StreamGround = {
  readonly standing: Pick<StandingStreams, 'open' | 'isAwake'>
  readonly starter: RunStarter
  readonly runs: RunWriter
  readonly cache: RunCache
  readonly followers: Pick<Followers, 'follow'>
}

/** All kinds of standing streams of a host, as its engine sees them: they are told apart by the ids. */
export class StandingStreams {
  readonly #rooms = new Map<StreamKindName, Room>()

  constructor(
    private readonly deps: StreamWriterDeps & {
      readonly log: Log
      readonly places: Pick<FairQueue, 'run'>
      readonly published: (streamId: string, stored: readonly StoredEvent[]) => void
    },
    private readonly options: StreamDriverOptions & { readonly cachedRuns: number },
  ) {}

  /** Makes room for a kind; whoever has its writer can put inputs to its streams. One that rests is not looked at. */
  open<State extends StreamState, Input extends StreamInput, Effect extends StreamEffect>(
    kind: StreamKind<State, Input, Effect>,
    { rests = false } = {},
  ): StreamWriter<State, Input, Effect> {
    const slots = new StreamSlots<LoadedStream<State>>(this.options.cachedRuns)
    const written = (stream: LoadedStream<State>, stored: readonly StoredEvent[]) => {
      this.deps.published(stream.streamId, stored)
      driver.written(stream)
    }
    const writer = new StreamWriter(kind, slots, this.deps, written)
    const driver = new StreamDriver(writer, slots, this.deps.places, this.deps, this.options)
    if (rests) return writer
    this.#rooms.set(kind.name, {
      look: (id, attempts) => driver.look(id, attempts),
      due: (due, now) => driver.due(due, now),
      watchUntil: horizon => driver.watchUntil(horizon),
      stop: () => driver.stop(),
      get busy() {
        return slots.busy
      },
      forget: id => {
        const slot = slots.get(id)
        if (slot) slot.loaded = undefined
        return slot !== undefined
      },
      clear: () => slots.clear(),
    })
    return writer
  }

  /** False before this host is registered: it can hold nothing yet. */
  get isAwake(): boolean {
    return this.deps.lease.hostId !== ''
  }

  /** Of a kind that this host has no room for, nothing is looked at. */
  async look(streamId: string, attempts?: number): Promise<void> {
    await this.#of(streamId)?.look(streamId, attempts)
  }

  due(due: DueRun, now: number): void {
    this.#of(due.runId)?.due(due, now)
  }

  watchUntil(horizon: number): void {
    for (const room of this.#rooms.values()) room.watchUntil(horizon)
  }

  /** Another host has written to it: what is known of it here may be old. */
  async hinted(streamId: string): Promise<void> {
    const room = this.#of(streamId)
    if (room?.forget(streamId)) await room.look(streamId)
  }

  get busy(): readonly RunSlot<unknown>[] {
    return [...this.#rooms.values()].flatMap(({ busy }) => busy)
  }

  stop(): void {
    for (const room of this.#rooms.values()) room.stop()
  }

  clear(): void {
    for (const room of this.#rooms.values()) room.clear()
  }

  #of(streamId: string): Room | undefined {
    const kind = kindOfId(streamId)
    return kind && this.#rooms.get(kind)
  }
}
