import type { Plan } from './plan.js'
import { agentOf } from './supervisor-loop.js'

/** Who works in a run of this plan, as far as the plan says: its agents, and those it always hands work to. */
export const actorsIn = ({ nodes }: Pick<Plan, 'nodes'>): string[] =>
  nodes.flatMap(({ node }) =>
    [agentOf(node), node.config.agentId, node.config.workflowId].filter(name => typeof name === 'string'),
  )
