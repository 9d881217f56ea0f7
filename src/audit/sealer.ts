import type { AuditStore } from '../engine/ports/audit.js'
import type { Clock } from '../engine/ports/clock.js'
import type { Log } from '../engine/ports/log.js'
import type { RetentionStore } from '../engine/ports/retention.js'
import { Rounds } from '../timing/rounds.js'
import { signCheckpoint } from './checkpoint.js'
import type { SigningKey } from './signing-key.js'

/** Runs per checkpoint at most, and purges. */
const BATCH = 500

type SealerDeps = {
  readonly store: Pick<AuditStore, 'unsealedRuns' | 'latestCheckpoint' | 'putCheckpoint'> &
    Pick<RetentionStore, 'unsealedPurges'>
  readonly clock: Clock
  readonly log: Log
  readonly key: SigningKey
}

/** Vouches for runs that have ended, and tells of those that are purged. Several hosts may do so on one database: the number of a checkpoint has one winner. */
export class Sealer {
  readonly #rounds: Rounds<number>

  constructor(private readonly deps: SealerDeps) {
    // What could not be sealed is still unsealed at the next attempt.
    this.#rounds = new Rounds(
      deps.clock,
      () => this.#sealAll(),
      error => deps.log.error({ err: error }, 'runs that have ended could not be sealed; trying again later'),
    )
  }

  /** Seals every run that has ended or is purged by now, and tells how many. */
  seal(): Promise<number> {
    return this.#rounds.next()
  }

  start(everyMs: number): void {
    this.#rounds.start(everyMs)
  }

  /** Seals once more, so that nothing that has ended is left for the next start. */
  async stop(): Promise<void> {
    const stopped = this.#rounds.stop()
    await this.#rounds.attempt()
    await stopped
  }

  async #sealAll(): Promise<number> {
    const { store, clock, key } = this.deps
    let sealed = 0
    let refused: number | undefined
    for (;;) {
      const [runs, purged] = [await store.unsealedRuns(BATCH), await store.unsealedPurges(BATCH)]
      if (runs.length === 0 && purged.length === 0) return sealed
      const checkpoint = signCheckpoint(await store.latestCheckpoint(), clock.now(), { runs, purged }, key)
      if (checkpoint.seq === refused) throw new Error(`checkpoint ${refused} is taken, yet is not there`)
      if (await store.putCheckpoint(checkpoint)) sealed += runs.length + purged.length
      else refused = checkpoint.seq
    }
  }
}
