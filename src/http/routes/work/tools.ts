import { refuse } from '../../../core/problem.js'
import { ListToolServersAnswer, ListToolsAnswer, ToolDescriptor } from '../../../wire/tools.js'
import type { Edge } from '../../deps.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'
import { whileConnected } from './while-connected.js'

const NO_TOOL = problem(refuse('not_found', 'No such tool; GET /v1/tools lists them all.'))

/** What agents can be allowed to call. Reading it calls none of them. */
export const toolRoutes = (edge: Edge): Route[] => [listTools(edge), getTool(edge), listServers(edge)]

const listTools = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/tools',
    operation: 'listTools',
    summary: 'Tools that agents can be allowed to call',
    access: 'manifest:read',
    responses: { 200: { description: 'The tools, by id', schema: ListToolsAnswer } },
    refusals: [],
    async handle({ reply }) {
      const tools = await known(edge, reply.raw)
      return json(200, { tools, total: tools.length })
    },
  })

const getTool = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/tools/{toolId}',
    operation: 'getTool',
    summary: 'One tool: what it takes, and how careful one must be with it',
    access: 'manifest:read',
    responses: { 200: { description: 'The tool', schema: ToolDescriptor } },
    refusals: ['not_found'],
    async handle({ params, reply }) {
      const tool = (await known(edge, reply.raw)).find(one => one.toolId === params.toolId)
      return tool === undefined ? NO_TOOL : json(200, tool)
    },
  })

/** All tenants share a server, so what it has written is for who looks after all of them. */
const listServers = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/host/assay/tool-servers',
    operation: 'listToolServers',
    summary: 'MCP servers: whether they can be used, and the end of what they wrote to stderr',
    access: 'transcripts:read',
    alsoNeeds: 'tenants:manage',
    recorded: { action: 'tool-servers.read', object: () => '-' },
    responses: { 200: { description: 'The servers, by name', schema: ListToolServersAnswer } },
    refusals: [],
    async handle({ reply }) {
      const servers = await whileConnected(reply.raw, signal => edge.agents.toolServers(signal))
      return json(200, { servers: servers.toSorted((a, b) => (a.name < b.name ? -1 : 1)) }, PRIVATE)
    },
  })

const PRIVATE = { 'x-content-type-options': 'nosniff', 'cache-control': 'private, no-store' }

/** Servers are asked for their tools. */
async function known({ agents }: Edge, socket: NodeJS.EventEmitter): Promise<readonly ToolDescriptor[]> {
  const tools = await whileConnected(socket, signal => agents.tools(signal))
  return tools.toSorted((a, b) => (a.toolId < b.toolId ? -1 : 1))
}
