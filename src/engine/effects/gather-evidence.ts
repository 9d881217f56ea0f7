import { type Json, sameJson } from '../../core/json.js'
import { taggedSha256OfJson } from '../../digest.js'
import { filesSeen } from '../journal/sight.js'
import type { EffectOf, PerformEffect } from './effect-context.js'
import { effectTrace } from './effect-trace.js'

/** Evidence first: what the host can find out by itself, and what is known of those who will judge. */
export const gatherEvidence: PerformEffect<'gather-evidence'> = async (context, run, effect, signal) => {
  const { tenant, runId } = run
  const { nodeId, since, bound, attempt, round, dimensions, result, output, context: sources } = effect
  const gateId = bound.gate.gate_id
  const hidden = sameJson(result, output) ? {} : { hidden: result }
  const { store, vault, turns, plans } = context
  const files = filesSeen({ store, vault, turns, plans: () => plans }, tenant, effect.sight)
  const shown = { output, context: sources, files, ...hidden }
  const inquiry = JSON.stringify([runId, nodeId, since, gateId, attempt, round])
  const traceparent = effectTrace(run, inquiry)
  const evidence = await context.inspector.inspect({ tenant, runId, bound, dimensions, ...shown, traceparent, signal })
  if (signal.aborted) return undefined
  const { effectiveVotes, ...licence } = await context.records.standing(tenant, gateId, bound.hash)
  const resultHash = taggedSha256OfJson('hidden' in hidden ? nameOf(runId, effect) : result)
  const told = { nodeId, since, gateId, attempt, round, resultHash, evidence, licence }
  const known = {
    ...(effectiveVotes === undefined ? {} : { effectiveVotes }),
    // Nothing that must not be seen is among the sources, so their hash gives nothing away.
    ...(sources.length === 0 ? {} : { contextHash: taggedSha256OfJson(sources) }),
  }
  return { input: { type: 'Inspected', ...told, ...known } }
}

/** The event that brought a result names it as well as its content, and gives nothing away to whoever tries values. */
const nameOf = (runId: string, { nodeId, since }: EffectOf<'gather-evidence'>): Json => ({ runId, nodeId, since })
