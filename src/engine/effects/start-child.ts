import { childRefusedInput } from '../../core/handoff/child-start.js'
import type { Failure } from '../../core/problem.js'
import { startChild } from '../runtime/children.js'
import type { PerformEffect } from './effect-context.js'

/** A child is born in the commit that tells its parent so: neither can be without the other (contract core §9.2). */
export const performStartChild: PerformEffect<'start-child'> = async (context, { tenant, runId }, effect, signal) => {
  const plan = await context.plans.named(tenant, effect.workflowId)
  // R-DWS-33: a verifier's run has no gates; how good it is, its record shows. Without a plan nothing starts.
  const isGated = plan !== undefined && !effect.verifier
  const gates = isGated ? await context.standards.gatesFor(tenant, plan.definition.id, 'child') : []
  await context.turns.room(tenant)
  // Meanwhile it may have been born in a commit of its parent's.
  if (signal.aborted) return undefined
  const parent = context.cache.get(runId)?.loaded
  if (parent?.state.phase !== 'active') return undefined
  const { input, child } = startChild(context.runs.spawner, parent, effect, plan, gates)
  context.turns.spent(tenant, child?.steps ?? 0)
  const refused = (error: Failure) => childRefusedInput(effect, error)
  return { input, ...(child ? { options: { child: { born: child, refused } } } : {}) }
}
