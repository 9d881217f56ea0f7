import { own } from '../core/json.js'
import type { QuotasOf, TenantQuotas, Weights } from '../core/quotas.js'

/** What all tenants share on one host. */
type SharedLimits = {
  readonly maxInflightRequests: number
  readonly maxActiveRuns: number
  readonly maxConcurrentEffects: number
  readonly maxDepth: number
}

/** What a tenant may have of something that all share when nobody says otherwise: most of it, never all. */
const most = (ceiling: number): number => Math.max(1, Math.floor(ceiling * 0.75))

/** Room for a team; a root with more below it was started by a workflow that calls itself. */
const CHILDREN_PER_ROOT = 10_000
const STORED_BYTES = 20 * 1024 ** 3
const SCHEDULES = 1_000
const GOALS = 1_000

/**
 * The quotas of each tenant: those set for it, else those set for all, else ones that leave something of every ceiling
 * of the host to others.
 */
export function quotasWithin(ceilings: SharedLimits, given: (name: string) => unknown): QuotasOf {
  const { maxInflightRequests, maxActiveRuns, maxConcurrentEffects, maxDepth } = ceilings
  const get = (name: keyof TenantQuotas, otherwise: number) => (given(name) as number | undefined) ?? otherwise
  const everyone: TenantQuotas = Object.freeze({
    requestsInFlight: get('requestsInFlight', most(maxInflightRequests)),
    streams: get('streams', Math.max(1, Math.floor(maxInflightRequests / 2))),
    activeRuns: get('activeRuns', most(maxActiveRuns)),
    childrenPerRoot: get('childrenPerRoot', CHILDREN_PER_ROOT),
    childDepth: get('childDepth', maxDepth),
    storedBytes: get('storedBytes', STORED_BYTES),
    effectsAtOnce: get('effectsAtOnce', most(maxConcurrentEffects)),
    schedules: get('schedules', SCHEDULES),
    goals: get('goals', GOALS),
    weight: get('weight', 1),
  })
  const tenants = singled(given)
  const known = new Map(Object.keys(tenants).map(name => [name, { ...everyone, ...own(tenants, name) }]))
  return tenant => known.get(tenant) ?? everyone
}

/** The weights alone, as the store is told them. */
export function weightsWithin(given: (name: string) => unknown): Weights {
  const of = Object.entries(singled(given)).flatMap(([tenant, { weight }]) => (weight ? [[tenant, weight]] : []))
  return Object.freeze({ others: (given('weight') as number | undefined) ?? 1, of: Object.fromEntries(of) })
}

const singled = (given: (name: string) => unknown) =>
  (given('tenants') ?? {}) as { readonly [tenant: string]: Partial<TenantQuotas> }
