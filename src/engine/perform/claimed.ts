import type { Json } from '../../core/json.js'
import type { Loaded } from '../cells.js'
import { effectIdentity } from '../effect-identity.js'
import type { Shop } from './performing.js'

export type Claiming = {
  readonly nodeId: string
  readonly ordinal: number | string
  readonly provider: string
  readonly attempt?: number
}

/** What came of a try: an outcome to keep, or nothing that could not be tried again. */
export type Tried<T> = { readonly outcome: T; readonly keep: boolean; readonly cacheKey?: string }

export type Effectful<T> = {
  /** `again`: a host that is gone had begun the same try, and nobody knows what came of it. */
  readonly perform: (id: string, again: boolean) => Promise<Tried<T>>
  readonly pack: (id: string, outcome: T) => Json
  readonly unpack: (id: string, outcome: Json) => T
}

/**
 * An effect that leaves the host (contract core §4.2): claimed by its identity before it happens, its outcome stored
 * before it is told. An outcome that could not be stored is kept, and only the storing is tried again. Undefined while
 * somebody else is at it.
 */
export async function claimed<T>(
  shop: Shop,
  { tenant, runId }: Pick<Loaded, 'tenant' | 'runId'>,
  { nodeId, ordinal, provider, attempt = 1 }: Claiming,
  { perform, pack, unpack }: Effectful<T>,
): Promise<{ readonly id: string; readonly outcome: T } | undefined> {
  const id = effectIdentity(tenant, runId, nodeId, ordinal, provider)
  const hostId = shop.hostId()
  const unstored = shop.unstored.get(id)
  if (unstored) {
    await store(shop, id)
    return { id, outcome: unpack(id, unstored.outcome) }
  }
  const at = shop.clock.now()
  const claim = { id, tenant, runId, nodeId, ordinal: String(ordinal), provider, attempt, hostId, at }
  const state = await shop.store.claimInvocation(claim)
  if (state.kind === 'in-flight') return undefined
  if (state.kind === 'done') return { id, outcome: unpack(id, state.outcome) }
  const { outcome, keep, cacheKey } = await perform(id, state.again)
  shop.unstored.set(id, { hostId, keep, outcome: pack(id, outcome), cacheKey })
  await store(shop, id)
  return { id, outcome }
}

/** What is not kept gives its claim back, and the next try claims anew. */
async function store({ store, unstored }: Shop, id: string): Promise<void> {
  const { hostId, keep, outcome, cacheKey } = unstored.get(id)!
  if (keep) await store.finishInvocation(id, hostId, outcome, cacheKey)
  else await store.releaseInvocation(id, hostId)
  unstored.delete(id)
}
