import type { AgentHouse } from './agents/agents.js'
import { describe } from './agents/tools/descriptor.js'
import type { AgentDirectory } from './http/deps.js'
import { renderAgent } from './wire/agents.js'

/** What of the agents the HTTP edge may know. */
export const directoryOf = ({ catalog, tools }: AgentHouse): AgentDirectory => ({
  list: () => catalog.list().map(renderAgent),
  get(agentId) {
    const agent = catalog.get(agentId)
    return agent && renderAgent(agent)
  },
  toolsLacking: async (toolIds, signal) => new Set((await tools.lacking(toolIds, signal)).map(({ toolId }) => toolId)),
  toolServers: signal => tools.servers(signal),
  tools: async signal => (await tools.catalogue(signal)).map(describe),
})
