import type { Weights } from '../core/quotas.js'

export const weightFor = ({ others, of }: Weights, tenant: string): number =>
  Object.hasOwn(of, tenant) ? (of[tenant] ?? others) : others

/**
 * The first `limit` of all lists in turns: the nth of a tenant of weight w stands at n / w, so that whatever one tenant
 * has, the others' first ones are not behind all of it. Each list is in the order of its tenant.
 */
export function inTurns<T>(lists: ReadonlyMap<string, readonly T[]>, weights: Weights, limit: number): T[] {
  const turns: { readonly turn: number; readonly item: T }[] = []
  for (const [tenant, items] of [...lists].sort(([a], [b]) => (a < b ? -1 : 1))) {
    const weight = weightFor(weights, tenant)
    for (const [i, item] of items.entries()) turns.push({ turn: (i + 1) / weight, item })
  }
  // Sorting is stable: of equal turns the tenant that is first by name.
  return turns
    .sort((a, b) => a.turn - b.turn)
    .slice(0, limit)
    .map(({ item }) => item)
}
