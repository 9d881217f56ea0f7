import { foreignRunId } from '../../core/handoff/peer-work.js'
import { isWaiting } from '../../core/run/state.js'
import { sha256OfJson } from '../../digest.js'
import type { PeerLook } from '../ports/peers.js'
import { heard, notHeard, resting } from './at-peer.js'
import type { EffectOf, PerformEffect } from './effect-context.js'

/** Looks what has become of a run of a peer's. Its stream says when; looking again is always harmless (P7). */
export const watchPeer: PerformEffect<'watch-peer'> = async (context, run, effect, signal) => {
  const { nodeId, peer, childRunId, wanted, early, began, silentAt } = effect
  const at = { run, place: effect }
  const rest = resting(context, at)
  if (rest) return rest.told
  const runId = foreignRunId(childRunId)
  context.peers.follow(peer, runId, () => context.wake(run.runId))
  const look = await context.peers.look(peer, runId, wanted, signal)
  if (signal.aborted) return undefined
  if (look.is === 'unheard') return notHeard(context, at, look)
  heard(context, at)
  if (look.is === 'ended' && !early) {
    context.peers.leave(peer, runId)
    return { input: endedInput(effect, look) }
  }
  // One that has ended waits for nobody.
  const status = look.is === 'going' && isWaiting(look.status) ? look.status : 'running'
  if (status !== effect.status) return { input: { type: 'ChildWaits', nodeId, childRunId, status } }
  return silentAt === undefined ? undefined : { input: { type: 'PeerHeard', nodeId, began } }
}

function endedInput(
  { nodeId, childRunId, attest }: EffectOf<'watch-peer'>,
  { status, variables, error, goalSatisfied, claimed, foreign, receipt }: Extract<PeerLook, { is: 'ended' }>,
) {
  return {
    type: 'ChildEnded' as const,
    nodeId,
    childRunId,
    status,
    variables,
    hidden: [],
    // R-ATTEST-1: over what has come here.
    ...(attest && status === 'completed' ? { checksum: sha256OfJson(variables) } : {}),
    ...(error ? { error } : {}),
    ...(claimed ? { claimed } : {}),
    ...(goalSatisfied === false && status === 'completed' ? { goalSatisfied } : {}),
    foreign,
    ...(receipt ? { receipt } : {}),
  }
}
