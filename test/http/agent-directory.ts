import type { AgentDirectory } from '../../src/http/deps.js'

/** Agents and tools as the host would know them, without any behind them. */
export function directoryOf(agentIds: readonly string[], toolIds: readonly string[] = []): AgentDirectory {
  const agents = agentIds.toSorted().map(agentId => ({
    agentId,
    persona: 'Somebody',
    label: agentId,
    modelClass: 'general' as const,
    packName: 'local',
    packVersion: '0.0.0',
    toolAllowlist: [],
    hasHandoffSchemas: false,
  }))
  return {
    list: () => agents,
    get: agentId => agents.find(agent => agent.agentId === agentId),
    toolServers: async () => [],
    toolsLacking: async () => new Set(),
    tools: async () => toolIds.map(toolId => ({ toolId, source: 'mcp', safetyTier: 'read', description: toolId })),
  }
}
