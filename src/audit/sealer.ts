import type { AuditStore } from '../engine/ports/audit.js'
import type { Clock } from '../engine/ports/clock.js'
import type { Log } from '../engine/ports/log.js'
import type { RetentionStore } from '../engine/ports/retention.js'
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
  #disarm: () => void = () => undefined
  #last: Promise<unknown> = Promise.resolve()
  #stopped = false

  constructor(private readonly deps: SealerDeps) {}

  /** Seals every run that has ended or is purged by now, and tells how many. */
  seal(): Promise<number> {
    // One at a time: two of the same host would only race each other for the next number. Whoever asked for a seal hears
    // of its failure; the next one in line only waits for it to be over.
    const sealing = this.#last.then(() => this.#sealAll())
    this.#last = sealing.catch(() => 0)
    return sealing
  }

  /** Seals again and again, `everyMs` after the time before was done. */
  start(everyMs: number): void {
    this.#disarm = this.deps.clock.after(everyMs, () => {
      void this.#attempt().then(() => {
        if (!this.#stopped) this.start(everyMs)
      })
    })
  }

  /** Seals once more, so that nothing that has ended is left for the next start. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#disarm()
    await this.#attempt()
  }

  /** What could not be sealed is still unsealed at the next attempt, so a failure is only logged. */
  async #attempt(): Promise<void> {
    try {
      await this.seal()
    } catch (error) {
      this.deps.log.error({ err: error }, 'runs that have ended could not be sealed; trying again later')
    }
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
