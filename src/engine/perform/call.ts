import type { Json } from '../../core/json.js'
import { failure } from '../../core/problem.js'
import { effectIdentity } from '../effect-identity.js'
import type { EffectAnswer, TranscriptEvent } from '../ports.js'
import type { EffectOf, Perform, Shop } from './performing.js'

/**
 * An effect that leaves the host (contract core §4.2): claimed by its identity before it happens, its result stored
 * before it is told. A claim that a dead host left open is taken over only if the effect may be repeated. A result that
 * could not be stored is kept, and only the storing is tried again.
 */
export const call: Perform<'call'> = async (shop, { tenant, runId }, effect, signal) => {
  const { nodeId, ordinal, provider } = effect
  const id = effectIdentity(tenant, runId, nodeId, ordinal, provider)
  const hostId = shop.hostId()
  const kept = shop.unstored.get(id)
  if (kept) return answered(effect, await settle(shop, id, kept.hostId, kept.answer, false))
  const claim = await shop.store.claimInvocation({ id, runId, nodeId, ordinal, provider, hostId, at: shop.clock.now() })
  if (claim.kind === 'in-flight') return undefined
  if (claim.kind === 'done') return answered(effect, claim.outcome as EffectAnswer)
  const cutShort = claim.again && effect.repeat === 'never'
  const answer = cutShort ? unknownOutcome(provider) : await perform(shop, runId, effect, id, signal)
  // Work that was stopped on our own wish has no outcome: when it is wanted again, it is tried again.
  return answered(
    effect,
    await settle(shop, id, hostId, answer, signal.aborted && !answer.ok && effect.repeat !== 'never'),
  )
}

async function perform(
  shop: Shop,
  runId: string,
  effect: EffectOf<'call'>,
  id: string,
  signal: AbortSignal,
): Promise<EffectAnswer> {
  const { provider, input, repeat } = effect
  const performer = shop.performers.get(provider)
  if (!performer)
    return {
      ok: false,
      code: 'effect_failed',
      message: `no provider named "${provider}" is configured`,
      retryable: false,
    }
  try {
    const transcript = effect.transcript && { transcript: await readTranscript(shop, runId, effect.transcript) }
    return await performer.perform({ id, input, signal, ...transcript })
  } catch (error) {
    // Performers promise not to throw; one that does must not hold its run for ever.
    if (repeat === 'never') return unknownOutcome(provider)
    return { ok: false, code: 'effect_failed', message: `"${provider}" broke off: ${String(error)}`, retryable: true }
  }
}

/** R-STATE-5, R-STATE-7: what the log says up to the turn, as readers see it; the same again after a crash. */
async function readTranscript(
  { store }: Shop,
  runId: string,
  { from, to }: { readonly from: number; readonly to: number },
): Promise<TranscriptEvent[]> {
  const events = await store.readEvents(runId, from, to - from)
  return events.map(({ sequence, type, nodeId, payload }) => ({
    sequence,
    type,
    ...(nodeId === null ? {} : { nodeId }),
    payload: JSON.parse(payload) as Json,
  }))
}

/** A failure that may be retried is not an outcome yet: its claim is given back, and the next try claims it anew. */
async function settle(
  shop: Shop,
  id: string,
  hostId: string,
  answer: EffectAnswer,
  stopped: boolean,
): Promise<EffectAnswer> {
  shop.unstored.set(id, { hostId, answer })
  if (stopped || (!answer.ok && answer.retryable)) await shop.store.releaseInvocation(id, hostId)
  else await shop.store.finishInvocation(id, hostId, answer as unknown as Json)
  shop.unstored.delete(id)
  return answer
}

const unknownOutcome = (provider: string): EffectAnswer => ({
  ok: false,
  code: 'effect_outcome_unknown',
  message: `"${provider}" was cut short and must not be called twice; find out there what happened`,
  retryable: false,
})

function answered({ nodeId, since }: EffectOf<'call'>, answer: EffectAnswer) {
  const told = answer.ok
    ? { ok: true as const, output: answer.output }
    : {
        ok: false as const,
        error: { ...failure('effect_failed', answer.message, { retryable: answer.retryable }), code: answer.code },
      }
  return { input: { type: 'EffectAnswered' as const, nodeId, since, answer: told } }
}
