import type { Weights } from '../../core/quotas.js'
import { type Effect, isWatching, nextTimer, pending } from '../../core/run/effects.js'
import { CHILD_RECHECK_MS } from '../../core/run/wake-time.js'
import { isStreamId } from '../../core/standing/stream.js'
import type { FairQueue, QueueLoad } from '../../timing/fair-queue.js'
import type { EffectContext } from '../effects/effect-context.js'
import { performEffect } from '../effects/perform.js'
import type { DueRun } from '../ports/run-index.js'
import type { StandingStreams } from '../standing/standing.js'
import type { LoadedRun, RunSlot } from './run-cache.js'
import type { Written } from './run-writer.js'
import { DueTimes } from './timers.js'

const DUE_LIMIT = 20_000
const CLAIM_LIMIT = 500

export type DriverOptions = {
  readonly maxPoisonAttempts: number
  readonly sweepMs: number
  readonly weights: Weights
  /** Whether this host may start new work now. */
  readonly mayWork: () => boolean
  /** Who sees to what is no run. */
  readonly standing: Pick<StandingStreams, 'look' | 'due' | 'watchUntil' | 'stop'>
  /** Effects of all tenants wait here for a place (Q7, Q8). */
  readonly places: FairQueue
}

/**
 * Keeps runs moving: asks what a run is owed, performs it, puts the outcome to the run. Recovery after a crash is this
 * same loop over claims that a dead host left behind.
 */
export class Driver {
  readonly #due: DueTimes
  /** Runs that were looked at and had nothing to do, and until when. */
  readonly #resting = new Map<string, number>()
  #stopped = false

  constructor(
    private readonly context: EffectContext,
    private readonly options: DriverOptions,
  ) {
    this.#due = new DueTimes(context.clock, runId => this.#spawn(this.#timeCame(runId), runId))
  }

  /** Effects that are performed, and those that wait for a place. */
  get load(): QueueLoad {
    return this.options.places.load
  }

  /** A run was written: stop what it no longer wants, start what it is owed now. */
  written({ slot, loaded, wakes }: Written): void {
    if (loaded.epoch === null) return
    for (const parent of wakes) this.#spawn(this.look(parent), parent)
    if (loaded.state.phase === 'ended') {
      for (const effect of slot.inFlight.values()) effect.abort()
      this.#due.forget(slot.runId)
      this.#resting.delete(slot.runId)
      return
    }
    this.#drive(slot, loaded)
  }

  /** Somebody says the run needs attention; the log knows whether it is true. */
  async look(runId: string, attempts = 0): Promise<void> {
    if (isStreamId(runId)) return this.options.standing.look(runId, attempts)
    const slot = this.context.cache.enter(runId)
    const loaded = await slot.runExclusive(() => this.context.runs.load(slot))
    if (!loaded || loaded.epoch === null || loaded.state.phase !== 'active') return
    slot.looks += 1
    if (attempts > this.options.maxPoisonAttempts && loaded.state.mode.kind !== 'stopping') {
      this.context.log.error(
        { runId, attempts },
        'run quarantined: its host stopped again and again while working on it',
      )
      await this.context.runs.submit(runId, { type: 'Quarantine', attempts }, { asHolder: true })
      return
    }
    this.#rest(runId, loaded)
    this.#drive(slot, loaded)
  }

  /** Somebody has news of a run, and waits for nothing. */
  wake(runId: string): void {
    if (!this.#stopped && this.context.cache.get(runId)) this.#spawn(this.look(runId), runId)
  }

  /** Claims what dead hosts left, and looks at every held run whose time has come or comes before the next sweep. */
  async sweep(): Promise<void> {
    const { store, clock, hostId } = this.context
    const now = clock.now()
    while ((await store.claimOrphans(hostId(), now, CLAIM_LIMIT, this.options.weights)) > 0);
    const horizon = now + this.options.sweepMs
    this.#due.watchUntil(horizon + this.options.sweepMs)
    this.options.standing.watchUntil(horizon + this.options.sweepMs)
    for (const [runId, until] of this.#resting) if (until <= now) this.#resting.delete(runId)
    for (const due of await store.dueRuns(hostId(), horizon, DUE_LIMIT, this.options.weights)) {
      if (isStreamId(due.runId)) this.options.standing.due(due, now)
      else if (due.wakeAt > now) this.#due.note(due.runId, due.wakeAt)
      else if (due.wakeAt === 0 || !this.#isTended(due, now)) this.#spawn(this.look(due.runId, due.attempts), due.runId)
    }
  }

  /**
   * True when nothing is gained by looking at a run that stays due: what it is owed is being performed, or it waits for
   * a child that was looked at not long ago. Its timers are seen to in either case. Not so when another host has
   * written to it since.
   */
  #isTended({ runId, length }: DueRun, now: number): boolean {
    const slot = this.context.cache.get(runId)
    const loaded = slot?.loaded
    const rests = (this.#resting.get(runId) ?? 0) > now
    if (!slot || !loaded || loaded.epoch === null) return rests
    if (loaded.state.phase !== 'absent' && loaded.state.next < length) return false
    const timer = nextTimer(loaded.rules, loaded.state)
    if (timer < Number.POSITIVE_INFINITY) this.#due.note(runId, timer)
    return pending(loaded.rules, loaded.state).every(effect =>
      isWatching(effect) || effect.kind === 'start-peer' ? rests : slot.inFlight.has(keyOf(effect)),
    )
  }

  /** No need to look again, unless somebody says so, before the next re-check or timer. */
  #rest(runId: string, { rules, state }: LoadedRun): void {
    this.#resting.set(runId, Math.min(this.context.clock.now() + CHILD_RECHECK_MS, nextTimer(rules, state)))
  }

  /** No new effects; those under way are stopped and will be owed again to whoever holds the run next. */
  stop(): void {
    this.#stopped = true
    this.#due.stop()
    this.options.standing.stop()
  }

  #drive(slot: RunSlot, loaded: LoadedRun): void {
    const owed = new Map(pending(loaded.rules, loaded.state).map(effect => [keyOf(effect), effect]))
    for (const [key, effect] of slot.inFlight) if (!owed.has(key)) effect.abort()
    const timer = nextTimer(loaded.rules, loaded.state)
    if (timer < Number.POSITIVE_INFINITY) this.#due.note(slot.runId, timer)
    if (this.#stopped || !this.options.mayWork()) return
    for (const [key, effect] of owed) {
      if (slot.inFlight.has(key)) continue
      const abort = new AbortController()
      slot.inFlight.set(key, abort)
      // Looked at with this, and again when somebody says so.
      if (effect.kind === 'watch-peer') this.#rest(slot.runId, loaded)
      this.#spawn(this.#perform(loaded.tenant, slot, key, effect, abort), slot.runId)
    }
  }

  async #perform(tenant: string, slot: RunSlot, key: string, effect: Effect, abort: AbortController): Promise<void> {
    const looks = slot.looks
    try {
      const report = await this.options.places.run(tenant, async () => {
        if (abort.signal.aborted || this.#stopped || !slot.loaded) return undefined
        return performEffect(this.context, slot.loaded, effect, abort.signal)
      })
      if (report && !this.#stopped)
        await this.context.runs.submit(slot.runId, report.input, { ...report.options, asHolder: true })
    } finally {
      slot.inFlight.delete(key)
    }
    // Someone pointed at this run while the effect was looking elsewhere: what it saw may be old.
    if (slot.looks !== looks && slot.loaded?.state.phase === 'active') this.#drive(slot, slot.loaded)
  }

  async #timeCame(runId: string): Promise<void> {
    await this.context.runs.submit(runId, { type: 'TimeCame' }, { asHolder: true })
  }

  /** A failed attempt to move a run is not lost: the next sweep finds the run still due. */
  #spawn(work: Promise<void>, runId: string): void {
    work.catch(error => {
      this.#resting.delete(runId)
      this.context.log.warn({ runId, error: String(error) }, 'could not move a run; it will be tried again')
    })
  }
}

const keyOf = (effect: Effect): string => {
  const worker = 'worker' in effect ? `:${effect.worker}` : ''
  if (effect.kind === 'call-model')
    return `${effect.kind}:${effect.nodeId}:${effect.since}:${effect.call}.${effect.attempt}`
  if (effect.kind === 'gather-evidence')
    return `${effect.kind}:${effect.nodeId}:${effect.since}:${effect.bound.gate.gate_id}:${effect.attempt}.${effect.round}`
  if (effect.kind === 'call-tool')
    return `${effect.kind}:${effect.nodeId}:${effect.since}:${effect.call}.${effect.position}`
  if (effect.kind === 'start-peer' || effect.kind === 'watch-peer' || effect.kind === 'cancel-peer')
    return `${effect.kind}:${effect.nodeId}:${effect.began}${'early' in effect ? ':early' : ''}`
  const early = effect.kind === 'watch-child' && effect.early ? ':early' : ''
  return 'nodeId' in effect
    ? `${effect.kind}:${effect.nodeId}:${effect.since}${worker}${early}`
    : `${effect.kind}:${effect.since}`
}
