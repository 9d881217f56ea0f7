import type { Json } from '../../core/json.js'
import type { Store } from '../ports/store.js'
import { effectIdentity } from '../runtime/effect-identity.js'
import type { LoadedRun } from '../runtime/run-cache.js'
import type { EffectContext } from './effect-context.js'

export type Claiming = {
  readonly nodeId: string
  readonly ordinal: number | string
  readonly provider: string
  readonly attempt?: number
}

/** What came of a try, and what becomes of its claim. */
export type AttemptResult<T> = { readonly outcome: T; readonly claim: ClaimDisposition; readonly cacheKey?: string }

/**
 * `keep`: there is an outcome, told again to whoever asks. `release`: nothing has happened, and the next try is as good
 * as the first. `leave`: it may have happened, and the next try is told so.
 */
export type ClaimDisposition = 'keep' | 'release' | 'leave'

export type Effectful<T> = {
  /**
   * `again`: the same try was begun before, and nobody knows what came of it. `sending` is called before anything leaves
   * the host: if `perform` breaks off after it, the effect may have happened.
   */
  readonly perform: (id: string, again: boolean, sending: () => void) => Promise<AttemptResult<T>>
  readonly pack: (id: string, outcome: T) => Json
  readonly unpack: (id: string, outcome: Json) => T
}

type Claims = Pick<EffectContext, 'store' | 'clock' | 'hostId' | 'unstored'>

/**
 * An effect that leaves the host (contract core §4.2): claimed by its identity before it happens, its outcome stored
 * before it is told. An outcome that could not be stored is kept, and only the storing is tried again. Undefined while
 * somebody else is at it.
 */
export async function runOnce<T>(
  context: Claims,
  { tenant, runId }: Pick<LoadedRun, 'tenant' | 'runId'>,
  { nodeId, ordinal, provider, attempt = 1 }: Claiming,
  { perform, pack, unpack }: Effectful<T>,
): Promise<{ readonly id: string; readonly outcome: T } | undefined> {
  const id = effectIdentity(tenant, runId, nodeId, ordinal, provider)
  const hostId = context.hostId()
  const unstored = context.unstored.get(id)
  if (unstored) {
    await settle(context, id)
    if (unstored.claim === 'keep') return { id, outcome: unpack(id, unstored.outcome) }
  }
  const at = context.clock.now()
  const claim = { id, tenant, runId, nodeId, ordinal: String(ordinal), provider, attempt, hostId, at }
  const state = await context.store.claimEffect(claim)
  if (state.kind === 'in-flight') return undefined
  if (state.kind === 'done') return { id, outcome: unpack(id, state.outcome) }
  let sent = state.again
  const sending = () => {
    sent = true
  }
  const tried = await perform(id, state.again, sending).catch(async error => {
    context.unstored.set(id, { hostId, claim: sent ? 'leave' : 'release', outcome: null, cacheKey: undefined })
    await settle(context, id)
    throw error
  })
  const { outcome, cacheKey } = tried
  context.unstored.set(id, { hostId, claim: tried.claim, outcome: pack(id, outcome), cacheKey })
  await settle(context, id)
  return { id, outcome }
}

async function settle({ store, unstored }: Claims, id: string): Promise<void> {
  const held = unstored.get(id)
  if (held === undefined) return
  const { hostId, claim, outcome, cacheKey } = held
  if (claim === 'keep') await store.finishEffect(id, hostId, outcome, cacheKey)
  else if (claim === 'leave') await store.abandonEffect(id, hostId)
  else await store.releaseEffect(id, hostId)
  unstored.delete(id)
}

/** Contract core §4: at least 24 hours for responses, 14 days for effects. */
const RESPONSES_KEPT_MS = 2 * 24 * 3_600_000
const INVOCATIONS_KEPT_MS = 14 * 24 * 3_600_000

/** What was kept to recognise repetitions goes when no repetition can come any more. */
export async function forgetRepetitions(
  store: Pick<Store, 'purgeResponses' | 'purgeEffects'>,
  now: number,
): Promise<void> {
  await store.purgeResponses(now - RESPONSES_KEPT_MS)
  await store.purgeEffects(now - INVOCATIONS_KEPT_MS)
}
