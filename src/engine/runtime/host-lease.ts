import type { Clock, Ids } from '../ports/clock.js'
import { StoreUnavailable } from '../ports/event-log.js'
import type { Log } from '../ports/log.js'
import type { Store } from '../ports/store.js'

/**
 * This host's standing among the hosts of a store. One lease per host, renewed at a third of its time; runs are held
 * through it. A host that was fenced begins again under a new identity, holding nothing.
 */
export class HostLease {
  #hostId = ''
  #renewal: Promise<void> | undefined
  #renewedAt = Number.NEGATIVE_INFINITY
  #disarm: () => void = () => undefined
  #stopped = false

  constructor(
    private readonly deps: { store: Store; clock: Clock; ids: Ids; log: Log },
    private readonly options: { hostName: string; leaseMs: number },
    /** Called when every claim is gone, after the new identity is in place. */
    private readonly onLost: () => void,
  ) {}

  get hostId(): string {
    return this.#hostId
  }

  /** False once two thirds of the lease have gone by unrenewed: own work stops before a peer may take it over. */
  get isFirm(): boolean {
    return this.deps.clock.monotonic() - this.#renewedAt < (this.options.leaseMs * 2) / 3
  }

  async start(): Promise<void> {
    await this.#register(this.deps.ids.unique(), this.options.hostName)
    this.#arm()
  }

  /** Renews the lease; a host that finds itself fenced takes a new identity. Calls that meet share one renewal. */
  renew(): Promise<void> {
    this.#renewal ??= this.#renew().finally(() => {
      this.#renewal = undefined
    })
    return this.#renewal
  }

  async #renew(): Promise<void> {
    if (this.#stopped) throw new StoreUnavailable('this host has stopped')
    const before = this.deps.clock.monotonic()
    const alive = await this.deps.store.heartbeat(this.#hostId, this.options.leaseMs, this.deps.clock.now())
    if (alive) {
      this.#renewedAt = before
      return
    }
    this.deps.log.warn({ hostId: this.#hostId }, 'fenced by another host; every claim is gone, starting afresh')
    // Not under the old name: a successor may bear it now, and it must not be fenced in turn.
    const fresh = this.deps.ids.unique()
    await this.#register(fresh, `${this.options.hostName}~${fresh}`)
    this.onLost()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#disarm()
    await this.deps.store.releaseHost(this.#hostId)
  }

  async #register(hostId: string, hostName: string): Promise<void> {
    const { store, clock } = this.deps
    const before = clock.monotonic()
    await store.registerHost({ hostId, hostName, leaseMs: this.options.leaseMs, now: clock.now() })
    this.#hostId = hostId
    this.#renewedAt = before
  }

  #arm(): void {
    if (this.#stopped) return
    this.#disarm = this.deps.clock.after(this.options.leaseMs / 3, () => {
      this.renew()
        .catch(error => this.deps.log.error({ error: String(error) }, 'the lease could not be renewed'))
        .finally(() => this.#arm())
    })
  }
}
