import type { Rules } from '../../core/run/decide.js'
import type { RunState } from '../../core/run/state.js'

/** A run in memory: a cache of its log, valid until a commit is refused. */
export type LoadedRun = {
  readonly runId: string
  readonly tenant: string
  readonly rules: Rules
  readonly state: RunState
  /** Hash of the last event (see chain.ts). */
  readonly head: string
  /** How long the log was when its state was last kept (see snapshot.ts). */
  readonly kept: number
  /** About how much of memory it takes: the characters of what was folded since its state was last kept. */
  readonly characters: number
  /** The claim under which this host writes; null when another host holds the run. */
  readonly epoch: number | null
}

/**
 * The place of one run, or stream, in the process: its cached state, the queue that makes writers take turns, and the effects under way.
 */
export class RunSlot<Loaded = LoadedRun> {
  loaded: Loaded | undefined
  /** Effects being performed, by key; aborting one only stops the work, its answer would be ignored anyway. */
  readonly inFlight = new Map<string, AbortController>()
  /** How often someone asked this host to look at the run. */
  looks = 0
  /** When, on the monotonic clock, `loaded` was last known to be all there is. */
  seenAt = Number.NEGATIVE_INFINITY
  #tail: Promise<unknown> = Promise.resolve()
  #waiting = 0

  constructor(readonly runId: string) {}

  /** Runs `task` after every task given before it. */
  runExclusive<T>(task: () => Promise<T>): Promise<T> {
    this.#waiting += 1
    const turn = this.#tail.then(task, task)
    const done = () => {
      this.#waiting -= 1
    }
    this.#tail = turn.then(done, done)
    return turn
  }

  get isIdle(): boolean {
    return this.#waiting === 0 && this.inFlight.size === 0
  }
}

/** Characters of all runs in memory together: many small runs are worth having at hand, a few huge ones are not. */
const MOST_CHARACTERS = 64 * 1_048_576

/**
 * Runs in memory, least recently used first: so many, and of so many characters in all. What is dropped is read again
 * from the log when it is needed. Not an `Lru`: a run at work is never dropped, however long ago it was entered, so there
 * may be more than there is room for.
 */
export class RunCache {
  readonly #cells = new Map<string, RunSlot>()
  /** Tenants of runs that have not ended, by run; and how many each has. */
  readonly #active = new Map<string, string>()
  readonly #perTenant = new Map<string, number>()
  /** The slot entered last: entering it once more moves nothing. */
  #latest: RunSlot | undefined

  #characters = 0

  constructor(
    private readonly capacity: number,
    private readonly mostCharacters = MOST_CHARACTERS,
  ) {}

  get(runId: string): RunSlot | undefined {
    return this.#cells.get(runId)
  }

  /** The run's cell, made if need be, and marked as used. */
  enter(runId: string): RunSlot {
    const known = this.#cells.get(runId)
    if (known && known === this.#latest) return known
    if (known) this.#cells.delete(runId)
    else if (this.#cells.size >= this.capacity) this.#evict(this.capacity - 1)
    const slot = known ?? new RunSlot(runId)
    this.#cells.set(runId, slot)
    this.#latest = slot
    return slot
  }

  /** Forgets everything, stopping what is under way: this host no longer speaks for these runs. */
  clear(): void {
    for (const slot of this.#cells.values()) {
      slot.loaded = undefined
      for (const effect of slot.inFlight.values()) effect.abort()
    }
    this.#cells.clear()
    this.#characters = 0
    this.#active.clear()
    this.#perTenant.clear()
  }

  /** Replaces what is known of a run; undefined when only the log knows. */
  put(slot: RunSlot, loaded: LoadedRun | undefined): void {
    // A slot that was dropped is nobody's any more, and counts for nothing.
    if (this.#cells.get(slot.runId) === slot)
      this.#characters += (loaded?.characters ?? 0) - (slot.loaded?.characters ?? 0)
    slot.loaded = loaded
    if (this.#characters > this.mostCharacters) this.#evict(this.capacity)
    this.#count(slot.runId, loaded?.state.phase === 'active' ? loaded.tenant : undefined)
  }

  #count(runId: string, tenant: string | undefined): void {
    const before = this.#active.get(runId)
    if (before === tenant) return
    if (before !== undefined) {
      const left = this.activeOf(before) - 1
      if (left === 0) this.#perTenant.delete(before)
      else this.#perTenant.set(before, left)
      this.#active.delete(runId)
    }
    if (tenant === undefined) return
    this.#active.set(runId, tenant)
    this.#perTenant.set(tenant, this.activeOf(tenant) + 1)
  }

  /** Runs in memory, and their characters. */
  get load(): { readonly kept: number; readonly characters: number } {
    return { kept: this.#cells.size, characters: this.#characters }
  }

  /** Runs in memory that have not ended. */
  get active(): number {
    return this.#active.size
  }

  /** Those of one tenant. */
  activeOf(tenant: string): number {
    return this.#perTenant.get(tenant) ?? 0
  }

  get busy(): RunSlot[] {
    return [...this.#cells.values()].filter(slot => !slot.isIdle)
  }

  #evict(room: number): void {
    for (const [runId, slot] of this.#cells) {
      if (this.#cells.size <= room && this.#characters <= this.mostCharacters) return
      if (!slot.isIdle) continue
      this.#cells.delete(runId)
      this.#characters -= slot.loaded?.characters ?? 0
      this.#count(runId, undefined)
    }
  }
}
