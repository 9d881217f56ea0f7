import { type Failure, failure, type Refusal, refuse } from '../../core/problem.js'
import { overQuota, type QuotasOf, quotaDetails, quotaMessage, type StoredQuotas } from '../../core/quotas.js'
import { FairQueue } from '../../timing/fair-queue.js'
import { type CommitResult, StoreUnavailable } from '../ports/event-log.js'
import type { RunCache } from './run-cache.js'
import type { PendingWrite } from './run-writer.js'

const MAX_CONFLICTS = 20

/** How many more children the store has room for in the family of a run, and what the one after these is told (Q4). */
export type Room = { readonly children: number; readonly refused: Failure }

type OverQuota = Extract<CommitResult, { kind: 'over-quota' }>

/** What becomes of a commit that would have crossed a quota: there is room for fewer children, or for no new run. */
export const afterOverQuota = ({ quota, limit, left }: OverQuota): Room | { ok: false; refusal: Refusal } =>
  quota === 'childrenPerRoot'
    ? { children: left, refused: noRoomLeft(limit) }
    : { ok: false, refusal: overQuota(quota, limit) }

/** A scope has one active run at a time, where whoever starts one asks for that. */
export const scopeActive = (activeRunId: string): Refusal =>
  refuse('run_already_active', `run ${activeRunId} of the same scope is still active; wait for it or cancel it`, {
    activeRunId,
    activeHost: 'cloud',
    retryAfter: 5,
  })

const isRoom = (result: unknown): result is Room =>
  typeof result === 'object' && result !== null && 'children' in result && 'refused' in result

const noRoomLeft = (limit: number): Failure =>
  failure('child_quota_exceeded', quotaMessage('childrenPerRoot', limit), {
    retryable: false,
    details: quotaDetails('childrenPerRoot', limit),
  })

/**
 * Why a host starts no child of a tenant, with so many that it does not know of yet. Children may be started up to twice
 * the limits for new runs, so that runs that were let in can finish (Q3).
 */
export const childFullness =
  (cache: RunCache, { maxActiveRuns, quotas }: { readonly maxActiveRuns: number; readonly quotas: QuotasOf }) =>
  (tenant: string, more: number): Failure | undefined => {
    if (cache.active + more >= 2 * maxActiveRuns) {
      const message = 'this host holds too many unfinished runs to start another; try again later'
      return failure('too_many_runs', message)
    }
    const { activeRuns } = quotas(tenant)
    if (cache.activeOf(tenant) + more < 2 * activeRuns) return undefined
    const message = `twice as many runs are unfinished as new ones would be let in: ${quotaMessage('activeRuns', activeRuns)}`
    return failure('too_many_runs', message, { details: quotaDetails('activeRuns', activeRuns) })
  }

export const unavailable = (why: string): Refusal =>
  refuse('service_unavailable', `${why}; try again in a few seconds`, { retryAfter: 2 })

/** What the tenant of new runs may have, for the store to hold (S13). */
export function quotasFor(quotasOf: QuotasOf, steps: readonly PendingWrite[]): StoredQuotas | undefined {
  const born = steps.find(({ append }) => append.create !== undefined)
  if (born === undefined) return undefined
  const { activeRuns, childrenPerRoot, storedBytes } = quotasOf(born.loaded.tenant)
  return { activeRuns, childrenPerRoot, storedBytes }
}

/** `attempt` is told how much room its family has, once that is known to be less than it has asked for. */
export async function retried<T>(
  runId: string,
  attempt: (room: Room | undefined) => Promise<T | Room | 'again'>,
): Promise<T> {
  let room: Room | undefined
  for (let tries = 0; tries < MAX_CONFLICTS; tries += 1) {
    const result = await attempt(room)
    if (isRoom(result)) room = result
    else if (result !== 'again') return result
  }
  throw new StoreUnavailable(`run ${runId} is being written by others faster than this host can follow`)
}

export type Phase = 'new' | 'running' | 'draining' | 'stopped'

/** Why a host cannot be relied on now. */
export const troubles = (phase: string, isFirm: boolean, sinceSweep: number, sweepMs: number): string[] => [
  ...(phase === 'running' ? [] : [`the host is ${phase === 'new' ? 'starting' : phase}`]),
  ...(isFirm ? [] : ['the lease could not be renewed in time']),
  ...(sinceSweep > Math.max(10 * sweepMs, 10_000) ? ['the sweep for due runs has stalled'] : []),
]

/** Where effects of all tenants wait for a place (Q7, Q8). */
export const effectPlaces = (options: {
  readonly maxConcurrentEffects: number
  readonly quotas: QuotasOf
}): FairQueue =>
  new FairQueue(options.maxConcurrentEffects, tenant => {
    const { weight, effectsAtOnce } = options.quotas(tenant)
    return { weight, atOnce: effectsAtOnce }
  })
