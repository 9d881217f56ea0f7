import { refuse } from '../../../core/problem.js'
import { AgentInventoryEntry, ListAgentsAnswer } from '../../../wire/agents.js'
import type { Edge } from '../../deps.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'
import { whileConnected } from './while-connected.js'

const NO_AGENT = problem(refuse('not_found', 'No such agent; GET /v1/agents lists them all.'))

/** R-MANIF-1: the agents of this host, the same for every caller. Never a prompt, a schema or a credential (R-MANIF-2). */
export const agentRoutes = (edge: Edge): Route[] => [listAgents(edge), getAgent(edge)]

const listAgents = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/agents',
    operation: 'listAgents',
    summary: 'Agents that can be given work',
    access: 'manifest:read',
    responses: { 200: { description: 'The agents, by id', schema: ListAgentsAnswer } },
    refusals: [],
    async handle({ reply }) {
      const agents = await withLacking(edge, edge.agents.list(), reply.raw)
      return json(200, { agents, total: agents.length })
    },
  })

const getAgent = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/agents/{agentId}',
    operation: 'getAgent',
    summary: 'One agent',
    access: 'manifest:read',
    responses: { 200: { description: 'The agent', schema: AgentInventoryEntry } },
    refusals: ['not_found'],
    async handle({ params, reply }) {
      const found = edge.agents.get(params.agentId)
      if (found === undefined) return NO_AGENT
      const [agent] = await withLacking(edge, [found], reply.raw)
      return json(200, agent ?? found)
    },
  })

/** An agent without one of its tools is not given work to do without it, so readers see which it lacks. */
async function withLacking(
  edge: Edge,
  agents: readonly AgentInventoryEntry[],
  socket: NodeJS.EventEmitter,
): Promise<AgentInventoryEntry[]> {
  const wanted = agents.flatMap(({ toolAllowlist }) => toolAllowlist)
  const lacking = await whileConnected(socket, signal => edge.agents.toolsLacking(wanted, signal))
  return agents.map(agent => {
    const tools = agent.toolAllowlist.filter(toolId => lacking.has(toolId))
    return tools.length === 0 ? agent : { ...agent, degraded: [...(agent.degraded ?? []), ...tools] }
  })
}
