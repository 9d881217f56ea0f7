import { bear } from '../runtime/children.js'
import type { Perform } from './effect-context.js'

/** A child is born in the commit that tells its parent so: neither can be without the other (contract core §9.2). */
export const startChild: Perform<'start-child'> = async (shop, { tenant, runId }, effect) => {
  const plan = await shop.plans.named(tenant, effect.workflowId)
  // R-DWS-33: nobody judges the judges here; their record does. Without a plan nothing starts.
  const isGated = plan !== undefined && !effect.verifier
  const gates = isGated ? await shop.standards.gatesFor(tenant, plan.definition.id) : []
  const parent = shop.cells.get(runId)?.loaded
  if (parent?.state.phase !== 'active') return undefined
  const { input, child } = bear(shop.runs.nursery, parent, effect, plan, gates)
  return { input, ...(child ? { options: { child } } : {}) }
}
