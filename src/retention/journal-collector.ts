import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../engine/ports/clock.js'
import type { JournalKeeping } from '../engine/ports/journal.js'
import type { Log } from '../engine/ports/log.js'
import { Rounds } from '../timing/rounds.js'

type CollectorDeps = {
  readonly store: Pick<JournalKeeping, 'collectJournal'>
  readonly clock: Clock
  readonly log: Log
  /** How long what was replaced, forgotten or expired is kept; for ever when undefined. */
  readonly days: number | undefined
}

const DAY_MS = 24 * 60 * 60 * 1000
/** Rows per transaction: what else is written waits no longer than that takes. */
const SLICE = 500

/**
 * Deletes what memory and workspaces no longer show and nobody is to go back to (`memory.retentionDays`). Each slice is a
 * transaction that takes rows and raises horizons: where a host dies, or two are at it, the next slice is what is left.
 */
export class JournalCollector {
  readonly #rounds: Rounds<number>

  constructor(private readonly deps: CollectorDeps) {
    this.#rounds = new Rounds(
      deps.clock,
      () => this.#collectAll(),
      error => deps.log.error({ err: error }, 'what memory no longer shows could not be deleted; trying again later'),
    )
  }

  /** Deletes what is due by now, and tells how much that was. */
  collect(): Promise<number> {
    return this.#rounds.next()
  }

  start(everyMs: number): void {
    if (this.deps.days !== undefined) this.#rounds.start(everyMs)
  }

  /** What is begun is left to the next start, or to another host. */
  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  async #collectAll(): Promise<number> {
    const { store, clock, log, days } = this.deps
    if (days === undefined) return 0
    const olderThan = clock.now() - days * DAY_MS
    let deleted = 0
    while (!this.#rounds.isStopped) {
      const taken = await store.collectJournal(olderThan, SLICE)
      deleted += taken
      if (taken < SLICE) break
      await setImmediate()
    }
    if (deleted > 0) log.info({ deleted }, 'deleted what memory and workspaces have not shown for long enough')
    return deleted
  }
}
