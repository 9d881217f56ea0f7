import { isReplay } from '../../core/replay/events.js'
import type { Effect } from '../../core/run/effects.js'
import type { LoadedRun } from '../runtime/run-cache.js'
import { callModel } from './call-model.js'
import { callProvider } from './call-provider.js'
import { callTool } from './call-tool.js'
import { cancelChild } from './cancel-child.js'
import { cancelPeer } from './cancel-peer.js'
import { checkSchema } from './check-schema.js'
import type { EffectContext, PerformEffect } from './effect-context.js'
import { gatherEvidence } from './gather-evidence.js'
import { prepareAgent } from './prepare-agent.js'
import { replay } from './replay.js'
import { performStartChild } from './start-child.js'
import { startPeer } from './start-peer.js'
import { useJournal } from './use-journal.js'
import { watchChild } from './watch-child.js'
import { watchPeer } from './watch-peer.js'

/**
 * The one door through which a run reaches the world. R-REPLAY-12: for a replay it is shut, whatever the effect. The
 * rules owe a replay nothing else than to be told; should they ever, it does not happen (contract core §8.4).
 */
export async function performEffect(
  context: EffectContext,
  run: LoadedRun,
  effect: Effect,
  signal: AbortSignal,
): ReturnType<PerformEffect<'call-provider'>> {
  if (effect.kind === 'replay') return replay(context, run, effect, signal)
  if (isReplay(run.state)) throw new Error(`a replay has no effects, and ${effect.kind} is one; it is not performed`)
  switch (effect.kind) {
    case 'continue':
      // What has been decided in one go before is not gone on with at the cost of everybody else.
      return context.turns.next(run.tenant).then(() => ({ input: { type: 'Continue' }, options: { inTurn: true } }))
    case 'start-child':
      return performStartChild(context, run, effect, signal)
    case 'watch-child':
      return watchChild(context, run, effect, signal)
    case 'cancel-child':
      return cancelChild(context, run, effect, signal)
    case 'start-peer':
      return startPeer(context, run, effect, signal)
    case 'watch-peer':
      return watchPeer(context, run, effect, signal)
    case 'cancel-peer':
      return cancelPeer(context, run, effect, signal)
    case 'check-schema':
      return checkSchema(context, run, effect, signal)
    case 'call-provider':
      return callProvider(context, run, effect, signal)
    case 'gather-evidence':
      return gatherEvidence(context, run, effect, signal)
    case 'prepare-agent':
      return prepareAgent(context, run, effect, signal)
    case 'call-model':
      return callModel(context, run, effect, signal)
    case 'call-tool':
      return callTool(context, run, effect, signal)
    case 'use-journal':
      return useJournal(context, run, effect, signal)
    default:
      return effect satisfies never
  }
}
