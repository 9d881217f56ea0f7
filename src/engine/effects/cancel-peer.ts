import { foreignRunId } from '../../core/handoff/peer-work.js'
import { isObject } from '../../core/json.js'
import { effectIdentity } from '../runtime/effect-identity.js'
import { claimAt, heard, notHeard, resting, tagOf } from './at-peer.js'
import type { EffectContext, EffectOf, PerformEffect } from './effect-context.js'

/** A request that was still under way when the hand-off was given up has arrived by then, or never will. */
const ARRIVED_MS = 60_000

/** Passes a stop on to a peer, or has it let go of what was given up (P6). Asked once for each run, by each process. */
export const cancelPeer: PerformEffect<'cancel-peer'> = async (context, run, effect, signal) => {
  const { nodeId, peer, lost } = effect
  const { nodeId: node, ordinal, provider } = claimAt(effect)
  const id = effectIdentity(run.tenant, run.runId, node, ordinal, provider)
  const at = { run, place: { nodeId, peer, began: effect.began } }
  if ((lost === undefined && context.tries.isCancelled(id)) || resting(context, at)) return undefined
  const known = await knownRun(context, effect, id, signal)
  if (signal.aborted) return undefined
  if (known.is === 'unheard') {
    notHeard(context, at, known)
    return undefined
  }
  if (known.is === 'run') {
    const answer = await context.peers.cancel(peer, known.runId, `${id}.cancel`, signal)
    if (signal.aborted) return undefined
    if (answer.is === 'unheard') {
      notHeard(context, at, answer)
      return undefined
    }
  }
  heard(context, at)
  context.tries.cancelled(id)
  return lost === undefined ? undefined : { input: { type: 'PeerLetGo', nodeId, lost } }
}

/** Which run it is; one that was created without this host having heard of it has the tag of the effect. */
async function knownRun(
  context: EffectContext,
  { childRunId, peer, lostAt = 0 }: EffectOf<'cancel-peer'>,
  id: string,
  signal: AbortSignal,
) {
  if (childRunId !== undefined) return { is: 'run', runId: foreignRunId(childRunId) } as const
  const kept = await context.store.readEffect(id)
  if (isObject(kept) && typeof kept.runId === 'string') return { is: 'run', runId: kept.runId } as const
  const found = await context.peers.find(peer, tagOf(id), signal)
  if (found.is === 'found') return { is: 'run', runId: found.runId } as const
  if (found.is === 'unheard') return found
  const tooSoon = context.clock.now() - lostAt < ARRIVED_MS
  return tooSoon ? ({ is: 'unheard', reason: 'busy' } as const) : ({ is: 'nobody' } as const)
}
