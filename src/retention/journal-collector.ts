import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../engine/ports/clock.js'
import type { JournalKeeping } from '../engine/ports/journal.js'
import type { PieceStore } from '../engine/ports/pieces.js'
import type { Log } from '../engine/ports/log.js'
import { Rounds } from '../timing/rounds.js'

type CollectorDeps = {
  readonly store: Pick<JournalKeeping, 'collectJournal'> & Pick<PieceStore, 'collectUploads'>
  readonly clock: Clock
  readonly log: Log
  /** How long what was replaced, forgotten or expired is kept; for ever when undefined. */
  readonly days: number | undefined
}

const DAY_MS = 24 * 60 * 60 * 1000
/** Rows per transaction: what else is written waits no longer than that takes. */
const SLICE = 500
/** No upload stands still for as long and goes on: the server has given up its request long before. */
const UPLOAD_STANDS_MS = 60 * 60 * 1000
/** Files per transaction. */
const UPLOADS = 10

/**
 * Deletes what memory and workspaces no longer show and nobody is to go back to (`memory.retentionDays`), and what hosts that
 * died had taken in of files. Each slice is a
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
    this.#rounds.start(everyMs)
  }

  /** What is begun is left to the next start, or to another host. */
  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  async #collectAll(): Promise<number> {
    const { store, clock, log, days } = this.deps
    const uploads = await this.#collect(UPLOADS, slice => store.collectUploads(clock.now() - UPLOAD_STANDS_MS, slice))
    if (uploads > 0) log.info({ uploads }, 'deleted what had come of files that were never written')
    if (days === undefined) return uploads
    const olderThan = clock.now() - days * DAY_MS
    const deleted = await this.#collect(SLICE, slice => store.collectJournal(olderThan, slice))
    if (deleted > 0) log.info({ deleted }, 'deleted what memory and workspaces have not shown for long enough')
    return uploads + deleted
  }

  async #collect(slice: number, take: (slice: number) => Promise<number>): Promise<number> {
    let deleted = 0
    while (!this.#rounds.isStopped) {
      const taken = await take(slice)
      deleted += taken
      if (taken < slice) break
      await setImmediate()
    }
    return deleted
  }
}
