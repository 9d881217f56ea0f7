import type { SealedRun } from './audit.js'

/**
 * Families of runs whose time is over: a run without a parent, with everything that was started below it. Part of the
 * Store.
 *
 * A family goes in three steps, each of which can be repeated. It is marked, all of it at once: from then on none of its
 * runs is found, and none can be forked. A checkpoint tells of it. Then its rows go, a slice at a time, under a lease.
 * What stays is one row per run, without content: that it was there, how its log ended, and when it was purged.
 */
export interface RetentionStore {
  /** Runs without a parent whose time is over, the first to end first. */
  expiredRoots(query: ExpiredRuns): Promise<ExpiredRun[]>
  /** Marks the family of a run without a parent, or says why not; nothing is written then. */
  purgeFamily(rootRunId: string, at: number): Promise<PurgeResult>
  /** Purges that no checkpoint tells of, at most `limit`. */
  unsealedPurges(limit: number): Promise<SealedRun[]>
  /**
   * Leases a marked family that a checkpoint tells of and that still has rows. It is not handed out again before the
   * lease is over or its host was fenced.
   */
  claimPurge(claim: { hostId: string; now: number; leaseMs: number }): Promise<string | undefined>
  /** Deletes up to `limit` events of a leased family, and what belongs to a run with the last of them. */
  deletePurged(rootRunId: string, hostId: string, limit: number): Promise<'more' | 'done' | 'lost'>
  /** What is left of a run that was purged, if `tenant` owned it. `tenant: null` is for the host itself. */
  readPurged(tenant: string | null, runId: string): Promise<PurgedRun | undefined>
}

export type ExpiredRuns = {
  readonly tenant?: string
  readonly exceptTenants?: readonly string[]
  readonly workflowId?: string
  readonly exceptWorkflows?: readonly string[]
  readonly endedBefore: number
  /** Only those that come after this one. */
  readonly after?: ExpiredRun
  readonly limit: number
}

export type ExpiredRun = { readonly runId: string; readonly endedAt: number }

/**
 * `open`: a run of the family has not ended. `unsealed`: no checkpoint vouches yet for how one of them ended.
 * `forked`: a run outside the family shares the beginning of one inside. `gone`: it is marked, or was never there.
 */
export type PurgeResult =
  | { readonly kind: 'purged'; readonly runs: number }
  | { readonly kind: 'open' | 'unsealed' | 'forked' | 'gone' }

export type PurgedRun = SealedRun & {
  readonly rootRunId: string
  readonly tenant: string
  readonly endedAt: number
  readonly purgedAt: number
  /** The checkpoint that tells of the purge; none of its rows is deleted before there is one. */
  readonly checkpoint: number | null
}
