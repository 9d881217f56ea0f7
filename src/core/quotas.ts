import { type Refusal, refuse } from './problem.js'

/**
 * What one tenant may have of what all tenants share. What was begun is never taken away: a quota refuses what is new,
 * or lets it wait.
 *
 *  Q1  `requestsInFlight`: requests of a tenant that are being answered, streams included; one more gets 429.
 *  Q2  `streams`: open event streams and held polls of a tenant; one more gets 429.
 *  Q3  `activeRuns`: unfinished runs of a tenant in the database; a new run or fork beyond it gets 429. Children belong
 *      to a run that was let in: a host starts them up to twice the quota, then refuses them with `too_many_runs`.
 *  Q4  `childrenPerRoot`: runs below one root, however deep, ended ones too; one more is refused to its parent with
 *      `child_quota_exceeded`. The store counts them in the transaction that creates them.
 *  Q5  `childDepth`: how deep runs nest; one deeper is refused with `recursion_limit_exceeded`.
 *  Q6  `storedBytes`: what the logs of a tenant, their kept states and what was said in them take up; a new run or fork
 *      of a tenant that has as much gets 429. What runs goes on, with its children.
 *  Q7  `effectsAtOnce`: effects of a tenant that a host performs at once; the next one waits.
 *  Q8  `weight`: where places for effects or in a pool of workers, and runs to claim or to look at, are scarce, tenants take
 *      turns in proportion to it.
 *  Q9  `schedules`: schedules of a tenant's workflows; a workflow that brings more is refused with 429.
 *  Q10 `goals`: goals of a tenant that have not come to their end; one more is refused with 429.
 */
export type TenantQuotas = {
  readonly requestsInFlight: number
  readonly streams: number
  readonly activeRuns: number
  readonly childrenPerRoot: number
  readonly childDepth: number
  readonly storedBytes: number
  readonly effectsAtOnce: number
  readonly schedules: number
  readonly goals: number
  readonly weight: number
}

export type QuotaName = Exclude<keyof TenantQuotas, 'weight'>

/** What the store is asked to hold in the transaction that would cross it. */
export type StoredQuotas = Pick<TenantQuotas, 'activeRuns' | 'childrenPerRoot' | 'storedBytes'>

export type QuotasOf = (tenant: string) => TenantQuotas

/** Weights as the store is told them: those of single tenants, and that of all others. */
export type Weights = { readonly others: number; readonly of: { readonly [tenant: string]: number } }

export const EQUAL_WEIGHTS: Weights = { others: 1, of: {} }

/** What a tenant has in the store. */
export type TenantUsage = { readonly activeRuns: number; readonly storedBytes: number }

const NONE: TenantQuotas = {
  requestsInFlight: Number.MAX_SAFE_INTEGER,
  streams: Number.MAX_SAFE_INTEGER,
  activeRuns: Number.MAX_SAFE_INTEGER,
  childrenPerRoot: Number.MAX_SAFE_INTEGER,
  childDepth: Number.MAX_SAFE_INTEGER,
  storedBytes: Number.MAX_SAFE_INTEGER,
  effectsAtOnce: Number.MAX_SAFE_INTEGER,
  schedules: Number.MAX_SAFE_INTEGER,
  goals: Number.MAX_SAFE_INTEGER,
  weight: 1,
}

/** Every tenant may have whatever the host has. */
export const noQuotas: QuotasOf = () => NONE

const THINGS: { readonly [name in QuotaName]: string } = {
  requestsInFlight: 'requests in progress',
  streams: 'open streams',
  activeRuns: 'unfinished runs',
  childrenPerRoot: 'runs below one root',
  childDepth: 'levels of runs',
  storedBytes: 'stored bytes',
  effectsAtOnce: 'effects in progress',
  schedules: 'schedules',
  goals: 'goals that have not come to their end',
}

/** Which quota, how large it is, and who can raise it: for refusals and failures alike. */
export const quotaMessage = (quota: QuotaName, limit: number): string =>
  `this tenant may have ${limit} ${THINGS[quota]} (quota ${quota}); whoever operates this host can raise it with quotas.${quota}, or for this tenant alone under quotas.tenants`

export const quotaDetails = (quota: QuotaName, limit: number) => ({
  scope: 'tenant',
  quota,
  limit,
  raisedBy: 'operator',
  setting: `quotas.${quota}`,
})

const WAIT_MS = 1_000

/** 429: this tenant has used up what it may have; nobody else is held up by it. */
export const overQuota = (quota: QuotaName, limit: number): Refusal =>
  refuse('quota_exceeded', `Refused: ${quotaMessage(quota, limit)}.`, {
    retryAfterMs: WAIT_MS,
    ...quotaDetails(quota, limit),
  })
