import { refuse } from '../../core/problem.js'
import { AgentInventoryEntry, ListAgentsAnswer } from '../../wire/agents.js'
import type { Edge } from '../deps.js'
import { json, problem } from '../http-answer.js'
import { type Route, route } from '../route.js'

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
    handle() {
      const agents = edge.agents.list()
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
    handle({ params }) {
      const agent = edge.agents.get(params.agentId)
      return agent === undefined ? NO_AGENT : json(200, agent)
    },
  })
