import { setImmediate } from 'node:timers/promises'
import type { Clock } from '../engine/ports/clock.js'
import type { Log } from '../engine/ports/log.js'
import type { ExpiredRun, ExpiredRuns } from '../engine/ports/retention.js'
import type { Store } from '../engine/ports/store.js'
import { expiredBy, type RetentionRules } from './rules.js'

type PurgerDeps = {
  readonly store: Pick<Store, 'expiredRoots' | 'purgeFamily' | 'claimPurge' | 'deletePurged'>
  readonly clock: Clock
  readonly log: Log
  readonly rules: RetentionRules
  /** Makes a checkpoint tell of what was marked. */
  readonly seal: () => Promise<unknown>
  readonly hostId: () => string
}

const PAGE = 200
/** Events per transaction: what else is written waits no longer than that takes. */
const SLICE = 500
const LEASE_MS = 60_000

/**
 * Purges families of runs whose time is over. Several hosts may do so on one database: a family has one who marks it,
 * and one at a time who deletes its rows. Where a host dies, the next one goes on.
 */
export class Purger {
  #disarm: () => void = () => undefined
  #last: Promise<unknown> = Promise.resolve()
  #stopped = false

  constructor(private readonly deps: PurgerDeps) {}

  /** Purges what is due by now, and tells how many families were marked. */
  purge(): Promise<number> {
    const purging = this.#last.then(() => this.#purgeAll())
    this.#last = purging.catch(() => 0)
    return purging
  }

  /** Purges again and again, `everyMs` after the time before was done. */
  start(everyMs: number): void {
    this.#disarm = this.deps.clock.after(everyMs, () => {
      void this.purge()
        .catch(error => this.deps.log.error({ err: error }, 'what is due could not be purged; trying again later'))
        .then(() => {
          if (!this.#stopped) this.start(everyMs)
        })
    })
  }

  /** What is begun is left to the next start, or to another host. */
  async stop(): Promise<void> {
    this.#stopped = true
    this.#disarm()
    await this.#last
  }

  async #purgeAll(): Promise<number> {
    let marked = 0
    for (const rule of expiredBy(this.deps.rules, this.deps.clock.now())) marked += await this.#mark(rule)
    await this.deps.seal()
    await this.#deleteRows()
    return marked
  }

  /** A family that cannot go yet is passed over: it is looked at again the next time. */
  async #mark(rule: Omit<ExpiredRuns, 'limit'>): Promise<number> {
    const { store, clock, log } = this.deps
    let marked = 0
    let after: ExpiredRun | undefined
    do {
      const page = await store.expiredRoots({ ...rule, ...(after ? { after } : {}), limit: PAGE })
      for (const { runId } of this.#stopped ? [] : page) {
        const result = await store.purgeFamily(runId, clock.now())
        if (result.kind !== 'purged') continue
        marked += 1
        log.info({ runId, runs: result.runs }, 'purged a family of runs whose retention was over')
      }
      after = page.length < PAGE ? undefined : page.at(-1)
    } while (after !== undefined && !this.#stopped)
    return marked
  }

  async #deleteRows(): Promise<void> {
    const { store, clock, hostId } = this.deps
    while (!this.#stopped) {
      const root = await store.claimPurge({ hostId: hostId(), now: clock.now(), leaseMs: LEASE_MS })
      if (root === undefined) return
      while (!this.#stopped && (await store.deletePurged(root, hostId(), SLICE)) === 'more') await setImmediate()
    }
  }
}
