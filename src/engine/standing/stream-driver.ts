import { CHILD_RECHECK_MS } from '../../core/run/wake-time.js'
import type { StreamState } from '../../core/standing/stream.js'
import type { FairQueue } from '../../timing/fair-queue.js'
import type { Clock } from '../ports/clock.js'
import type { Log } from '../ports/log.js'
import type { DueRun } from '../ports/run-index.js'
import type { RunSlot } from '../runtime/run-cache.js'
import { DueTimes } from '../runtime/timers.js'
import type { LoadedStream, StreamEffect, StreamInput } from './stream-kind.js'
import type { StreamSlots } from './stream-slots.js'
import { streamLength, type StreamWriter } from './stream-writer.js'

export type StreamDriverOptions = {
  readonly maxPoisonAttempts: number
  /** Whether this host may start new work now. */
  readonly mayWork: () => boolean
}

/**
 * Keeps the streams of one kind moving, as the driver of runs does for runs: asks what a stream is owed, performs it, puts
 * the outcome to the stream. Recovery after a crash is this same loop.
 */
export class StreamDriver<State extends StreamState, Input extends StreamInput, Effect extends StreamEffect> {
  readonly #due: DueTimes
  /** Streams that were looked at and had nothing to do, and until when. */
  readonly #resting = new Map<string, number>()
  #stopped = false

  constructor(
    private readonly writer: StreamWriter<State, Input, Effect>,
    private readonly slots: StreamSlots<LoadedStream<State>>,
    /** Places for effects, which runs and streams of all tenants share. */
    private readonly places: Pick<FairQueue, 'run'>,
    private readonly context: { readonly clock: Clock; readonly log: Log },
    private readonly options: StreamDriverOptions,
  ) {
    this.#due = new DueTimes(context.clock, id => this.#spawn(this.look(id), id))
  }

  /** A stream was written: stop what it no longer wants, start what it is owed now. */
  written(stream: LoadedStream<State>): void {
    const slot = this.slots.get(stream.streamId)
    if (!slot || stream.epoch === null) return
    if (stream.state.phase === 'open') return this.#drive(slot, stream)
    for (const effect of slot.inFlight.values()) effect.abort()
    this.#due.forget(stream.streamId)
    this.#resting.delete(stream.streamId)
  }

  /** Somebody says the stream needs attention; the log knows whether it is true. */
  async look(streamId: string, attempts = 0): Promise<void> {
    const slot = this.slots.enter(streamId)
    const loaded = await slot.runExclusive(() => this.writer.load(slot))
    if (!loaded || loaded.epoch === null || loaded.state.phase !== 'open') return
    slot.looks += 1
    if (attempts > this.options.maxPoisonAttempts) {
      this.context.log.error({ streamId, attempts }, 'hosts stopped again and again while working on a stream')
      await this.#tell(streamId, this.writer.kind.poisoned(attempts))
      return
    }
    this.#rest(streamId, loaded.state)
    const { timer, timeCame } = this.writer.kind
    if (timeCame && timer(loaded.state) <= this.context.clock.now()) await this.#tell(streamId, timeCame)
    if (slot.loaded?.epoch != null && slot.loaded.state.phase === 'open') this.#drive(slot, slot.loaded)
  }

  /** The next sweep is at `horizon` or before: what falls due until then is watched here. */
  watchUntil(horizon: number): void {
    const now = this.context.clock.now()
    this.#due.watchUntil(horizon)
    for (const [id, until] of this.#resting) if (until <= now) this.#resting.delete(id)
  }

  /** The table of due times has this stream in it. */
  due(due: DueRun, now: number): void {
    if (due.wakeAt > now) this.#due.note(due.runId, due.wakeAt)
    else if (due.wakeAt === 0 || !this.#isTended(due, now)) this.#spawn(this.look(due.runId, due.attempts), due.runId)
  }

  /** No new effects; those under way are stopped and will be owed again to whoever holds the stream next. */
  stop(): void {
    this.#stopped = true
    this.#due.stop()
  }

  /** True when nothing is gained by looking: what it is owed is under way, or it watches and was looked at not long ago. */
  #isTended({ runId, length }: DueRun, now: number): boolean {
    const slot = this.slots.get(runId)
    const loaded = slot?.loaded
    const rests = (this.#resting.get(runId) ?? 0) > now
    if (!slot || !loaded || loaded.epoch === null) return rests
    if (streamLength(loaded.state) < length) return false
    // Whoever only read the stream has loaded it without telling it that its time has come.
    if (this.writer.kind.timer(loaded.state) <= now && !rests) return false
    this.#note(runId, loaded.state)
    return this.#owed(loaded.state).every(effect => (effect.watches ? rests : slot.inFlight.has(effect.key)))
  }

  #rest(streamId: string, state: State): void {
    const now = this.context.clock.now()
    const timer = this.writer.kind.timer(state)
    const recheck = now + CHILD_RECHECK_MS
    this.#resting.set(streamId, timer > now ? Math.min(recheck, timer) : recheck)
  }

  /** A time that has come was told of when the stream was looked at. */
  #note(streamId: string, state: State): void {
    const timer = this.writer.kind.timer(state)
    if (timer > this.context.clock.now()) this.#due.note(streamId, timer)
    else this.#due.forget(streamId)
  }

  #drive(slot: RunSlot<LoadedStream<State>>, { streamId, tenant, state }: LoadedStream<State>): void {
    const owed = new Map(this.#owed(state).map(effect => [effect.key, effect]))
    for (const [key, effect] of slot.inFlight) if (!owed.has(key)) effect.abort()
    this.#note(streamId, state)
    if (this.#stopped || !this.options.mayWork()) return
    for (const [key, effect] of owed) {
      if (slot.inFlight.has(key)) continue
      const abort = new AbortController()
      slot.inFlight.set(key, abort)
      this.#spawn(this.#perform(tenant, slot, effect, abort), streamId)
    }
  }

  #owed(state: State): readonly Effect[] {
    const now = this.context.clock.now()
    return this.writer.kind.pending(state).filter(({ notBefore = 0 }) => notBefore <= now)
  }

  async #perform(
    tenant: string,
    slot: RunSlot<LoadedStream<State>>,
    effect: Effect,
    abort: AbortController,
  ): Promise<void> {
    const looks = slot.looks
    const isOver = () => abort.signal.aborted || this.#stopped
    try {
      await this.places.run(tenant, async () => {
        const stream = slot.loaded
        if (isOver() || !stream) return
        const put = await this.writer.kind.perform(stream, effect, abort.signal)
        if (put && !this.#stopped) await this.writer.submit(slot.runId, { put: () => put, asHolder: true })
      })
    } finally {
      slot.inFlight.delete(effect.key)
    }
    // Someone pointed at this stream while the effect was looking elsewhere: what it saw may be old.
    if (slot.looks !== looks && slot.loaded?.state.phase === 'open') this.#drive(slot, slot.loaded)
  }

  async #tell(streamId: string, input: Input): Promise<void> {
    await this.writer.submit(streamId, { put: () => ({ input }), asHolder: true })
  }

  /** A failed attempt to move a stream is not lost: the next sweep finds it still due. */
  #spawn(work: Promise<void>, streamId: string): void {
    work.catch(error => {
      this.#resting.delete(streamId)
      this.context.log.warn({ streamId, error: String(error) }, 'could not move a stream; it will be tried again')
    })
  }
}
