import { setImmediate } from 'node:timers/promises'
import type { Trail } from '../engine/ports/audit.js'
import type { Clock } from '../engine/ports/clock.js'
import type { Log } from '../engine/ports/log.js'
import type { ExpiredRun, ExpiredRuns } from '../engine/ports/retention.js'
import type { Store } from '../engine/ports/store.js'
import { Rounds } from '../timing/rounds.js'
import { expiredBy, type RetentionRules } from './rules.js'

type PurgerDeps = {
  readonly store: Pick<Store, 'expiredRoots' | 'purgeFamily' | 'readPurged' | 'claimPurge' | 'deletePurged'>
  readonly trail: Pick<Trail, 'record'>
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
  readonly #rounds: Rounds<number>

  constructor(private readonly deps: PurgerDeps) {
    this.#rounds = new Rounds(
      deps.clock,
      () => this.#purgeAll(),
      error => deps.log.error({ err: error }, 'what is due could not be purged; trying again later'),
    )
  }

  /** Purges what is due by now, and tells how many families were marked. */
  purge(): Promise<number> {
    return this.#rounds.next()
  }

  start(everyMs: number): void {
    this.#rounds.start(everyMs)
  }

  /** What is begun is left to the next start, or to another host. */
  stop(): Promise<void> {
    return this.#rounds.stop()
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
      for (const { runId } of this.#rounds.isStopped ? [] : page) {
        const result = await store.purgeFamily(runId, clock.now())
        if (result.kind !== 'purged') continue
        marked += 1
        await this.#record(runId)
        log.info({ runId, runs: result.runs }, 'purged a family of runs whose retention was over')
      }
      after = page.length < PAGE ? undefined : page.at(-1)
    } while (after !== undefined && !this.#rounds.isStopped)
    return marked
  }

  /** S17: the host does it by itself, under the rules of its operator. */
  async #record(runId: string): Promise<void> {
    const purged = await this.deps.store.readPurged(null, runId)
    if (purged === undefined) return
    const entry = { action: 'run.purge', object: `run:${runId}`, outcome: 'allowed' } as const
    await this.deps.trail.record({ tenant: purged.tenant, principal: 'assay', credential: 'host', ...entry })
  }

  async #deleteRows(): Promise<void> {
    const { store, clock, hostId } = this.deps
    while (!this.#rounds.isStopped) {
      const root = await store.claimPurge({ hostId: hostId(), now: clock.now(), leaseMs: LEASE_MS })
      if (root === undefined) return
      while (!this.#rounds.isStopped && (await store.deletePurged(root, hostId(), SLICE)) === 'more')
        await setImmediate()
    }
  }
}
