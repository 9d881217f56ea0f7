import type { Silence } from '../../core/handoff/peer-work.js'
import type { Input } from '../runtime/run-writer.js'
import type { LoadedRun } from '../runtime/run-cache.js'
import type { Unheard } from '../ports/peers.js'
import type { EffectContext } from './effect-context.js'

/** One piece of work at a peer, as its effects name it. */
export type PeerPlace = {
  readonly nodeId: string
  readonly peer: string
  readonly began: number
  readonly silentAt?: number
}

type At = { readonly run: Pick<LoadedRun, 'runId'>; readonly place: PeerPlace }

/** What a peer is asked to do is known by the event that began it, whatever it is tried for (P1). */
export const claimAt = ({ nodeId, began, peer }: PeerPlace) => ({
  nodeId,
  ordinal: began,
  provider: `peer:${peer}`,
})

export const tagOf = (id: string): string => `assay-effect:${id}`

const workOf = ({ run, place }: At): string => `${run.runId} ${place.began}`

/** Whether it rests after a failure; then what is to be told of that, if anything is. */
export function resting(context: EffectContext, at: At): { readonly told: ReturnType<typeof silence> } | undefined {
  const reason = context.tries.reasonFor(at.place.peer, workOf(at))
  return reason === undefined ? undefined : { told: silence(context, at, reason) }
}

/** P3: it was not heard. The next try is not made before its time, and is made then. */
export function notHeard(context: EffectContext, at: At, { reason, retryAfterMs }: Omit<Unheard, 'is'>) {
  const pause = context.tries.failed(at.place.peer, workOf(at), reason, retryAfterMs)
  const { silentAt } = at.place
  const left = silentAt === undefined ? pause : silentAt + context.peers.lostAfterMs - context.clock.now()
  context.clock.after(Math.max(1, left > 0 ? Math.min(pause, left) : pause), () => context.wake(at.run.runId))
  return silence(context, at, reason)
}

export const heard = (context: EffectContext, at: At): void => context.tries.answered(at.place.peer, workOf(at))

/** Only what the run does not know yet, or has waited for long enough. */
function silence(context: EffectContext, { place }: At, reason: Silence): { readonly input: Input } | undefined {
  const { nodeId, began, silentAt } = place
  const { lostAfterMs } = context.peers
  if (silentAt !== undefined && context.clock.now() - silentAt < lostAfterMs) return undefined
  return { input: { type: 'PeerSilent', nodeId, began, reason, lostAfterMs } }
}
