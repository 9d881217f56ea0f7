import { setImmediate } from 'node:timers/promises'
import { refuse } from '../core/problem.js'
import type { Answer, TenantAdmin, TenantState } from '../engine/api.js'
import type { Clock } from '../engine/ports/clock.js'
import type { Log } from '../engine/ports/log.js'
import type { Store } from '../engine/ports/store.js'
import type { RunToErase, TenantStore } from '../engine/ports/tenants.js'
import { erasedContent } from '../engine/runtime/chain.js'

type EraserDeps = {
  readonly store: TenantStore & Pick<Store, 'readEvents' | 'listKeys' | 'listRuns'>
  readonly clock: Clock
  readonly log: Log
  readonly hostId: () => string
  /** Tenants whose keys come from the configuration: they would be there again at the next request. */
  readonly configured: readonly string[]
}

/** Events, or other rows, per transaction: what else is written waits no longer than that takes. */
const SLICE = 500
const LEASE_MS = 60_000

/**
 * Erases tenants. Several hosts may do so on one database: a tenant has one at a time who erases its content, and where
 * a host dies, the next one goes on.
 */
export class Eraser implements TenantAdmin {
  #disarm: () => void = () => undefined
  #last: Promise<unknown> = Promise.resolve()
  #stopped = false

  constructor(private readonly deps: EraserDeps) {}

  async erase(parts: readonly string[]): Promise<Answer<TenantState>> {
    const { store, clock, log, configured } = this.deps
    const kept = parts.find(part => configured.includes(part))
    if (kept !== undefined) {
      const message = `Tenant "${kept}" is that of the key this host is configured with, which would go on working; only tenants whose keys were made later can be erased. To be rid of this one, stop the host and delete its database.`
      return { ok: false, refusal: refuse('tenant_in_use', message, { tenant: kept }) }
    }
    if ((await this.find(parts)) === undefined) {
      return { ok: false, refusal: refuse('not_found', 'There is nothing of a tenant of that name.') }
    }
    const result = await store.eraseTenants(parts, clock.now())
    if (result.kind === 'open') {
      const { runs } = result
      const message = `${runs} of the tenant's runs have not ended; cancel them, or wait for their end, and ask again.`
      return { ok: false, refusal: refuse('tenant_in_use', message, { openRuns: runs }) }
    }
    log.info({ tenants: parts }, 'a tenant is being erased; its keys are destroyed')
    void this.work().catch(error => this.#failed(error))
    return { ok: true, value: (await this.find(parts)) ?? { state: 'active' } }
  }

  async find(parts: readonly string[]): Promise<TenantState | undefined> {
    const { store } = this.deps
    const marks = await Promise.all(parts.map(part => store.readErasure(part)))
    const asked = marks.flatMap(mark => (mark ? [mark.askedAt] : []))
    if (asked.length > 0) {
      const askedAt = Math.min(...asked)
      const ends = marks.flatMap(mark => (mark ? [mark.erasedAt] : []))
      const isDone = ends.every(end => end !== null)
      return isDone ? { state: 'erased', askedAt, erasedAt: Math.max(...ends) } : { state: 'erasing', askedAt }
    }
    const hasKey = (await store.listKeys()).some(({ tenant }) => parts.includes(tenant))
    const runs = await Promise.all(parts.map(tenant => store.listRuns({ tenant, limit: 1 })))
    return hasKey || runs.flat().length > 0 ? { state: 'active' } : undefined
  }

  /** Erases the content of all tenants that are marked and that no other host is at. */
  work(): Promise<void> {
    const working = this.#last.then(() => this.#eraseAll())
    this.#last = working.catch(() => false)
    return working
  }

  /** Looks again and again, `everyMs` after the time before was done, for what another host has left. */
  start(everyMs: number): void {
    this.#disarm = this.deps.clock.after(everyMs, () => {
      void this.work()
        .catch(error => this.#failed(error))
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

  async #eraseAll(): Promise<void> {
    const { store, clock, hostId } = this.deps
    while (!this.#stopped) {
      const tenant = await store.claimErasure({ hostId: hostId(), now: clock.now(), leaseMs: LEASE_MS })
      if (tenant === undefined) return
      await this.#eraseTenant(tenant)
    }
  }

  async #eraseTenant(tenant: string): Promise<void> {
    const { store, clock, log, hostId } = this.deps
    while (!this.#stopped) {
      const run = await store.nextToErase(tenant)
      if (run !== undefined) {
        if (!(await this.#eraseRun(tenant, run))) return
        continue
      }
      const result = await store.finishErasure({ tenant, hostId: hostId(), at: clock.now(), limit: SLICE })
      if (result === 'done') log.info({ tenant }, 'a tenant is erased')
      if (result !== 'more') return
    }
  }

  /** False when somebody else is at it. What a fork shares is erased with its source. */
  async #eraseRun(tenant: string, { runId, fromSeq, length }: RunToErase): Promise<boolean> {
    const { store, hostId } = this.deps
    for (let next = fromSeq; next < length && !this.#stopped; next += SLICE) {
      const page = await store.readEvents(runId, next, Math.min(SLICE, length - next))
      const left = page.filter(({ erased }) => erased === null)
      const events = left.map(event => ({ sequence: event.sequence, erased: erasedContent(event) }))
      if (events.length > 0 && !(await store.eraseEvents({ tenant, hostId: hostId(), runId }, events))) return false
      await setImmediate()
    }
    return this.#stopped || store.eraseRun({ tenant, hostId: hostId(), runId })
  }

  #failed(error: unknown): void {
    this.deps.log.error({ err: error }, 'a tenant could not be erased to the end; trying again later')
  }
}
