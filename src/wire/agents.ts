import { type Static, Type } from 'typebox'
import type { ModelClass } from '../core/invocation/brief.js'

/** The agents of a host, as readers may know them (contract agents §14.2). */

const closed = { additionalProperties: false }

const MemoryShape = Type.Object(
  {
    scratchpad: Type.Optional(Type.Boolean()),
    conversation: Type.Optional(Type.Boolean()),
    longTerm: Type.Optional(Type.Boolean()),
  },
  closed,
)

/** R-MANIF-2: closed, so that no prompt, schema or credential can slip in. */
export const AgentInventoryEntry = Type.Object(
  {
    agentId: Type.String(),
    persona: Type.String(),
    label: Type.String(),
    description: Type.Optional(Type.String()),
    modelClass: Type.String(),
    packName: Type.String(),
    packVersion: Type.String(),
    toolAllowlist: Type.Array(Type.String(), { description: 'What the agent may call; nothing else is ever called' }),
    hasHandoffSchemas: Type.Boolean(),
    memoryShape: Type.Optional(MemoryShape),
    confidenceThreshold: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
    degraded: Type.Optional(
      Type.Array(Type.String(), { description: 'What the agent would like this host to have and does not find' }),
    ),
    memoryDegraded: Type.Optional(Type.Boolean()),
    degradedMemoryDimensions: Type.Optional(Type.Array(Type.String())),
  },
  closed,
)
export type AgentInventoryEntry = Static<typeof AgentInventoryEntry>

/** R-MANIF-1: sorted by agentId. */
export const ListAgentsAnswer = Type.Object(
  { agents: Type.Array(AgentInventoryEntry), total: Type.Integer({ minimum: 0 }) },
  closed,
)
export type ListAgentsAnswer = Static<typeof ListAgentsAnswer>

/** What of an installed agent the inventory tells; it may have more, which stays here. */
export type InstalledAgent = {
  readonly manifest: {
    readonly agentId: string
    readonly persona: string
    readonly modelClass: ModelClass
    readonly label?: string
    readonly description?: string
    readonly toolAllowlist?: readonly string[]
    readonly memoryShape?: Static<typeof MemoryShape>
    readonly confidence?: { readonly defaultThreshold?: number }
  }
  readonly packName: string
  readonly packVersion: string
  readonly taskSchema?: object
  readonly returnSchema?: object
  readonly degraded: readonly string[]
  readonly memoryDegraded: boolean
  readonly degradedMemoryDimensions: readonly string[]
}

export function renderAgent(agent: InstalledAgent): AgentInventoryEntry {
  const { manifest, packName, packVersion, degraded, memoryDegraded, degradedMemoryDimensions } = agent
  const { agentId, persona, modelClass, label, description, toolAllowlist, memoryShape, confidence } = manifest
  const threshold = confidence?.defaultThreshold
  return {
    agentId,
    persona,
    label: label ?? persona,
    ...(description !== undefined && { description }),
    modelClass,
    packName,
    packVersion,
    toolAllowlist: [...(toolAllowlist ?? [])],
    hasHandoffSchemas: agent.taskSchema !== undefined || agent.returnSchema !== undefined,
    ...(memoryShape && { memoryShape }),
    ...(threshold !== undefined && { confidenceThreshold: threshold }),
    ...(degraded.length > 0 && { degraded: [...degraded] }),
    ...(memoryDegraded && { memoryDegraded, degradedMemoryDimensions: [...degradedMemoryDimensions] }),
  }
}
