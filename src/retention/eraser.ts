import { setImmediate } from 'node:timers/promises'
import { refuse } from '../core/problem.js'
import type { Answer, TenantAdmin, TenantState } from '../engine/api.js'
import type { Clock } from '../engine/ports/clock.js'
import type { Log } from '../engine/ports/log.js'
import type { Store } from '../engine/ports/store.js'
import type { ErasureMark, ErasureMarks, RunToErase, TenantStore } from '../engine/ports/tenants.js'
import { erasedContent } from '../engine/log/chain.js'
import { Rounds } from '../timing/rounds.js'

type EraserDeps = {
  readonly store: TenantStore & Pick<Store, 'readEvents' | 'listKeys' | 'listRuns'>
  readonly clock: Clock
  readonly log: Log
  readonly hostId: () => string
  /** Tenants whose keys come from the configuration: they would be there again at the next request. */
  readonly configured: readonly string[]
  readonly marks: ErasureMarks
}

/** Events, or other rows, per transaction: what else is written waits no longer than that takes. */
const SLICE = 500
const LEASE_MS = 60_000

/**
 * Erases tenants. Several hosts may do so on one database: a tenant has one at a time who erases its content, and where
 * a host dies, the next one goes on.
 */
export class Eraser implements TenantAdmin {
  readonly #rounds: Rounds<void>

  constructor(private readonly deps: EraserDeps) {
    this.#rounds = new Rounds(
      deps.clock,
      () => this.#eraseAll(),
      error => deps.log.error({ err: error }, 'a tenant could not be erased to the end; trying again later'),
    )
  }

  async erase(parts: readonly string[]): Promise<Answer<TenantState>> {
    const { store, log, configured } = this.deps
    const kept = parts.find(part => configured.includes(part))
    if (kept !== undefined) {
      const message = `Tenant "${kept}" is that of the key this host is configured with, which would go on working; only tenants whose keys were made later can be erased. To be rid of this one, stop the host and delete its database.`
      return { ok: false, refusal: refuse('tenant_in_use', message, { tenant: kept }) }
    }
    if ((await this.find(parts)) === undefined) {
      return { ok: false, refusal: refuse('not_found', 'There is nothing of a tenant of that name.') }
    }
    const result = await store.eraseTenants(await Promise.all(parts.map(part => this.#markOf(part))))
    if (result.kind === 'open') {
      const { runs } = result
      const message = `${runs} of the tenant's runs have not ended; cancel them, or wait for their end, and ask again.`
      return { ok: false, refusal: refuse('tenant_in_use', message, { openRuns: runs }) }
    }
    log.info({ tenants: parts }, 'a tenant is being erased; its keys are destroyed')
    void this.#rounds.attempt()
    return { ok: true, value: (await this.find(parts)) ?? { state: 'active' } }
  }

  /** The one it has, if that proves anything; a new one is of now. */
  async #markOf(tenant: string): Promise<ErasureMark> {
    const { store, clock, marks } = this.deps
    const known = await store.readErasure(tenant)
    if (known === undefined || known.keyId === null || known.signature === null) return marks.sign(tenant, clock.now())
    const { askedAt, keyId, signature } = known
    const isProof = (await marks.judge(known)) !== 'signature-invalid'
    return isProof ? { tenant, askedAt, keyId, signature } : marks.sign(tenant, clock.now())
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
    return this.#rounds.next()
  }

  /** Looks again and again for what another host has left. */
  start(everyMs: number): void {
    this.#rounds.start(everyMs)
  }

  /** What is begun is left to the next start, or to another host. */
  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  async #eraseAll(): Promise<void> {
    const { store, clock, hostId } = this.deps
    while (!this.#rounds.isStopped) {
      const tenant = await store.claimErasure({ hostId: hostId(), now: clock.now(), leaseMs: LEASE_MS })
      if (tenant === undefined) return
      if (await this.#isMeant(tenant)) await this.#eraseTenant(tenant)
    }
  }

  /** Whether somebody has asked for it. What a row alone says is no reason to destroy anything; its lease keeps it from being claimed again at once. */
  async #isMeant(tenant: string): Promise<boolean> {
    const { store, log, marks } = this.deps
    const erasure = await store.readErasure(tenant)
    const trouble = erasure && (await marks.judge(erasure))
    if (trouble === undefined || trouble === 'key-unknown') return true
    log.error({ tenant, trouble }, 'a tenant is marked as erased, but nobody vouches for it: nothing of it is erased')
    return false
  }

  async #eraseTenant(tenant: string): Promise<void> {
    const { store, clock, log, hostId } = this.deps
    while (!this.#rounds.isStopped) {
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
    for (let next = fromSeq; next < length && !this.#rounds.isStopped; next += SLICE) {
      const page = await store.readEvents(runId, next, Math.min(SLICE, length - next))
      const left = page.filter(({ erased }) => erased === null)
      const events = left.map(event => ({ sequence: event.sequence, erased: erasedContent(event) }))
      if (events.length > 0 && !(await store.eraseEvents({ tenant, hostId: hostId(), runId }, events))) return false
      await setImmediate()
    }
    return this.#rounds.isStopped || store.eraseRun({ tenant, hostId: hostId(), runId })
  }
}
