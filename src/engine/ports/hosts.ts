import type { Weights } from '../../core/quotas.js'

/** Which hosts are alive, and who holds which runs. A `hostId` is that of an incarnation here. */
export interface HostRegistry {
  /** Enters the host as alive; earlier incarnations of the same `hostName` are fenced at once. */
  registerHost(host: { hostId: string; hostName: string; leaseMs: number; now: number }): Promise<void>
  /** Renews the lease. False when the host has been fenced: it must stop writing and register anew. */
  heartbeat(hostId: string, leaseMs: number, now: number): Promise<boolean>
  /** Gives up all claims in good order, so that a peer or the next start need not wait for the lease. */
  releaseHost(hostId: string): Promise<void>
  /**
   * Fences hosts whose lease is over and claims up to `limit` unfinished runs of fenced or released hosts: owner and
   * epoch change, and for runs that a fenced host left with work in hand (`wakeAt ≤ WORK_OWED`) `attempts` rises by
   * one, before any of that work is done. Of each tenant the earliest first, tenants in turns (Q8). Returns how many were
   * claimed.
   */
  claimOrphans(hostId: string, now: number, limit: number, weights?: Weights): Promise<number>
  /**
   * The id by which others know whoever works on this store: one for all who share it, and kept for as long as it is. The
   * first that is wanted is kept; one that an operator has `given` takes the place of one that was made, and of no other.
   * Answers the one that is kept then, however many ask at once.
   */
  lastingId(wanted: { readonly id: string; readonly given: boolean }): Promise<string>
}
