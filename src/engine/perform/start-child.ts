import { failure } from '../../core/problem.js'
import { hire, isHired, refused, started } from '../hire.js'
import type { Perform } from './performing.js'

/** A child is born in the commit that tells its parent so: neither can be without the other (contract core §9.2). */
export const startChild: Perform<'start-child'> = async (shop, parent, effect) => {
  if (parent.state.phase !== 'active') return undefined
  const { lastAt } = parent.state
  const plan = await shop.plans.named(parent.tenant, effect.workflowId)
  const childRunId = shop.ids.run()
  const start = hire(parent, effect, plan, childRunId)
  if (!plan || !isHired(start)) return { input: refused(effect, start as Exclude<typeof start, { started: unknown }>) }
  const birth = () => shop.runs.birth(shop.cells.enter(childRunId), start, plan, lastAt)
  const trial = birth()
  if ('code' in trial) return { input: refused(effect, failure('child_refused', trial.message, { retryable: false })) }
  return { input: started(effect, plan, childRunId), options: { child: birth } }
}
