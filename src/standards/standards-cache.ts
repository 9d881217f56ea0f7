import type { Clock } from '../engine/ports/clock.js'
import type { Store } from '../engine/ports/store.js'
import { Lru } from '../lru.js'
import { type StandardsSnapshot, standardsSnapshot } from './standards-snapshot.js'

/** How long a change that was made through another host may go unnoticed here; twice that for a child's run. */
const FRESH_MS = 1_000
const KEPT_TENANTS = 500

/** What each tenant's work is held to. `now` asks the store, the others are a cache of it. */
export type StandardsCache = {
  now(tenant: string): Promise<StandardsSnapshot>
  lately(tenant: string): Promise<StandardsSnapshot>
  /** Without waiting; the store is asked meanwhile if that was long ago, and undefined if it was too long ago. */
  known(tenant: string): StandardsSnapshot | undefined
  /** Something of this tenant's has changed; with null, something that all share. */
  forget(tenant: string | null): void
}

export function createStandardsCache({
  store,
  clock,
}: {
  readonly store: Pick<Store, 'listStandards'>
  readonly clock: Pick<Clock, 'monotonic'>
}): StandardsCache {
  const kept = new Lru<{ readonly shelf: StandardsSnapshot; readonly readAt: number }>(KEPT_TENANTS)
  const asking = new Set<string>()
  // A read that began before a change must not be kept after it.
  let changes = 0
  const now = async (tenant: string): Promise<StandardsSnapshot> => {
    const [asked, readAt] = [changes, clock.monotonic()]
    const shelf = standardsSnapshot(await store.listStandards(tenant))
    if (asked !== changes) return shelf
    kept.set(tenant, { shelf, readAt })
    return shelf
  }
  const refresh = (tenant: string): void => {
    if (asking.has(tenant)) return
    asking.add(tenant)
    // After a failure whoever needs it next asks the store itself, and sees what is wrong with it.
    void now(tenant)
      .catch(() => kept.delete(tenant))
      .finally(() => asking.delete(tenant))
  }
  const ageOf = (tenant: string): number => clock.monotonic() - (kept.get(tenant)?.readAt ?? Number.NEGATIVE_INFINITY)
  return {
    now,
    async lately(tenant) {
      const known = kept.get(tenant)
      return known && ageOf(tenant) < FRESH_MS ? known.shelf : now(tenant)
    },
    known(tenant) {
      const age = ageOf(tenant)
      if (age >= 2 * FRESH_MS) return undefined
      if (age >= FRESH_MS) refresh(tenant)
      return kept.get(tenant)?.shelf
    },
    forget(tenant) {
      changes++
      if (tenant === null) kept.clear()
      else kept.delete(tenant)
    },
  }
}
