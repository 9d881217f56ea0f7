import type { JsonObject } from '../../core/json.js'
import type { PromptTemplate } from '../prompts/template.js'
import type { AgentManifest, MemoryShape } from './manifest.js'

/** An agent that can be used: its manifest, and everything the manifest refers to, read once. */
export type CatalogAgent = {
  readonly manifest: AgentManifest
  readonly packName: string
  readonly packVersion: string
  /** Of all that makes the agent what it is, 64 hex digits. */
  readonly digest: string
  readonly systemPrompt: string
  /** Where the system prompt is from, when it is a template: its variables are put in when it is used. */
  readonly systemTemplate?: PromptTemplate
  readonly taskSchema?: JsonObject
  readonly returnSchema?: JsonObject
  /** What it, or its pack, would like this host to have and does not find. */
  readonly degraded: readonly string[]
  readonly memoryDegraded: boolean
  readonly degradedMemoryDimensions: readonly MemoryDimension[]
}

/** As the protocol's inventory names them; only what this host may lack. */
export type MemoryDimension = 'long-term-durability' | 'read' | 'write'

/** Notes are there as long as the invocation lasts; conversations, and what outlasts them, are kept in memory. */
export function lackingMemory(
  { longTerm = false, conversation = false }: MemoryShape = {},
  hasMemory: boolean,
): readonly MemoryDimension[] {
  if (hasMemory) return []
  return [
    ...(conversation ? (['read', 'write'] as const) : []),
    ...(longTerm ? (['long-term-durability'] as const) : []),
  ]
}
