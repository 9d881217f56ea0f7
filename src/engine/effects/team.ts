import { isAgentId } from '../../core/names.js'
import { MOST_MEMBERS, type TeamMember, termsOfWorker, workersNamedIn } from '../../core/supervisor/team.js'
import type { Plan } from '../../core/workflow/plan.js'
import type { Agents } from '../ports/agents.js'
import { isReserved } from '../plans/agent-workflow.js'
import type { EffectContext } from './effect-context.js'

export type TeamDeps = Pick<EffectContext, 'plans'> & { readonly agents: Pick<Agents, 'names'> }

/**
 * R-STATE-5: whom a supervisor may name: the workers that its dispatch has terms for, or, where that names nobody, the
 * tenant's workflows and the host's agents; those beyond the first by name alone. What an agent is for, its own catalogue
 * knows.
 */
export async function readTeam(
  { plans, agents }: TeamDeps,
  tenant: string,
  plan: Plan,
): Promise<readonly TeamMember[]> {
  const named = workersNamedIn(plan)
  const others = async () => {
    const workflows = (await plans.list(tenant)).map(({ workflowId }) => workflowId)
    return [...workflows.filter(id => !isReserved(id) && id !== plan.definition.id), ...agents.names()]
  }
  const workers = named.length > 0 ? named : await others()
  const members = workers.map(async (worker, i) => {
    if (i >= MOST_MEMBERS) return { worker, given: [], brings: [] }
    const terms = termsOfWorker(plan, worker)
    if (isAgentId(worker)) return { worker, ...terms }
    const definition = (await plans.named(tenant, worker))?.definition
    const takes = definition?.variables.map(({ name }) => name) ?? []
    const about = definition?.description === undefined ? {} : { about: definition.description }
    return { worker, ...about, ...terms, takes }
  })
  return Promise.all(members)
}
