import type { Json } from '../../core/json.js'
import { failure } from '../../core/problem.js'
import type { ActingFrom } from '../../core/run/effects.js'
import type { Acted, EffectAnswer } from '../ports/performer.js'
import type { LoadedRun } from '../runtime/run-cache.js'
import type { EffectContext, EffectOf, PerformEffect } from './effect-context.js'
import { effectTrace } from './effect-trace.js'
import { runOnce } from './once.js'
import { readTranscript } from './transcript.js'

/** An effect of a named provider. One that must not happen twice is not begun anew by whoever finds it half done. */
export const callProvider: PerformEffect<'call-provider'> = async (context, run, effect, signal) => {
  const { provider, repeat } = effect
  const told = await runOnce<Acted>(context, run, effect, {
    perform: async (id, again, sending) => {
      sending()
      const answer =
        again && repeat === 'never'
          ? unknownOutcome(provider)
          : await perform(context, run, effect, { id, again, signal })
      // Work that was stopped on our own wish has no outcome: when it is wanted again, it is tried again.
      const stopped = signal.aborted && !answer.ok && repeat !== 'never'
      return { outcome: answer, claim: !stopped && (answer.ok || !answer.retryable) ? 'keep' : 'release' }
    },
    pack: (_id, answer) => answer as unknown as Json,
    unpack: (_id, outcome) => outcome as unknown as Acted,
  })
  return told && answered(effect, told.outcome)
}

type Try = { readonly id: string; readonly again: boolean; readonly signal: AbortSignal }

async function perform(
  context: EffectContext,
  run: LoadedRun,
  effect: EffectOf<'call-provider'>,
  { id, again, signal }: Try,
): Promise<Acted> {
  const { provider, input, repeat, seat } = effect
  if (seat) return act(context, run, { ...effect, seat }, { id, again, signal })
  const performer = context.performers.get(provider)
  if (!performer)
    return {
      ok: false,
      code: 'effect_failed',
      message: `no provider named "${provider}" is configured`,
      retryable: false,
    }
  try {
    const transcript = effect.transcript && { transcript: await readTranscript(context, run.runId, effect.transcript) }
    return await performer.perform({ id, traceparent: effectTrace(run, id), input, signal, ...transcript })
  } catch (error) {
    // Performers promise not to throw; one that does must not hold its run for ever.
    if (repeat === 'never') return unknownOutcome(provider)
    return { ok: false, code: 'effect_failed', message: `"${provider}" broke off: ${String(error)}`, retryable: true }
  }
}

/** What the host does itself, for a node without an agent. */
async function act(
  { actors, log }: EffectContext,
  run: LoadedRun,
  { provider, input, repeat, nodeId, seat }: EffectOf<'call-provider'> & { readonly seat: ActingFrom },
  { id, again, signal }: Try,
): Promise<Acted> {
  const { tenant, runId } = run
  const actor = actors?.get(provider)
  if (!actor)
    return { ok: false, code: 'effect_failed', message: `this host does nothing for ${provider}`, retryable: false }
  const from = { tenant, runId, nodeId, ...seat }
  try {
    return await actor.act({ id, traceparent: effectTrace(run, id), input, signal, again, repeat, seat: from })
  } catch (error) {
    log.error({ runId, nodeId, provider, error: String(error) }, 'what was done for a node broke off')
    if (repeat === 'never') return unknownOutcome(provider)
    return {
      ok: false,
      code: 'effect_failed',
      message: `${provider} broke off; the log of the host says why`,
      retryable: true,
    }
  }
}

const unknownOutcome = (provider: string): Extract<EffectAnswer, { ok: false }> => ({
  ok: false,
  code: 'effect_outcome_unknown',
  message: `"${provider}" was cut short and must not be called twice; find out there what happened`,
  retryable: false,
})

function answered({ nodeId, since }: EffectOf<'call-provider'>, answer: Acted) {
  const { entries, read } = answer.ok ? answer : {}
  const { call, said, codeDigest } = answer
  const more = { ...(call && { call }), ...(said && { said }), ...(codeDigest && { codeDigest }) }
  const told = answer.ok
    ? { ok: true as const, output: answer.output, ...(entries && { entries }), ...(read && { read }) }
    : {
        ok: false as const,
        error: { ...failure('effect_failed', answer.message, { retryable: answer.retryable }), code: answer.code },
      }
  return { input: { type: 'EffectAnswered' as const, nodeId, since, answer: { ...told, ...more } } }
}
