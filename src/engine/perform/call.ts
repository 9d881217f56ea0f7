import type { Json } from '../../core/json.js'
import { failure } from '../../core/problem.js'
import { effectIdentity } from '../effect-identity.js'
import type { EffectAnswer } from '../ports.js'
import type { EffectOf, Perform } from './performing.js'

/**
 * An effect that leaves the host (contract core §4.2): claimed by its identity before it happens, its result stored
 * before it is told. A claim that a dead host left open is taken over only if the effect may be repeated.
 */
export const call: Perform<'call'> = async (shop, { tenant, runId }, effect, signal) => {
  const { nodeId, ordinal, provider } = effect
  const id = effectIdentity(tenant, runId, nodeId, ordinal, provider)
  const hostId = shop.hostId()
  const claim = await shop.store.claimInvocation({ id, runId, nodeId, ordinal, provider, hostId, at: shop.clock.now() })
  if (claim.kind === 'in-flight') return undefined
  if (claim.kind === 'done') return answered(effect, claim.outcome as EffectAnswer)
  if (claim.again && effect.repeat === 'never') {
    const message = `the host stopped while "${provider}" was being called and it must not be called twice; find out what happened there`
    return answered(effect, { ok: false, code: 'effect_outcome_unknown', message, retryable: false })
  }
  const performer = shop.performers.get(provider)
  const answer: EffectAnswer = performer
    ? await performer.perform({ id, input: effect.input, signal })
    : { ok: false, code: 'effect_failed', message: `no provider named "${provider}" is configured`, retryable: false }
  // A failure that may be retried is not an outcome yet: the next try claims the same identity anew.
  if (!answer.ok && answer.retryable) await shop.store.releaseInvocation(id, hostId)
  else await shop.store.finishInvocation(id, hostId, answer as unknown as Json)
  return answered(effect, answer)
}

function answered({ nodeId, since }: EffectOf<'call'>, answer: EffectAnswer) {
  const told = answer.ok
    ? { ok: true as const, output: answer.output }
    : {
        ok: false as const,
        error: { ...failure('effect_failed', answer.message, { retryable: answer.retryable }), code: answer.code },
      }
  return { input: { type: 'EffectAnswered' as const, nodeId, since, answer: told } }
}
