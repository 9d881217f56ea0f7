import type { JsonObject } from '../../core/json.js'
import type { RepeatPolicy } from '../../core/run/events.js'
import type { HostTool, SafetyTier } from './host-tool.js'

/** A tool as `GET /v1/tools` shows it (contract agents §15). Names scopes, never a credential (SR-1). */
export type DescribedTool = {
  readonly toolId: string
  readonly source: HostTool['source']
  readonly safetyTier: SafetyTier
  readonly title?: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject
  readonly auth?: { scopes: string[] }
  readonly egress: 'safe-fetch' | 'host-mediated' | 'host-owned'
  readonly replayPolicy: 'deterministic' | 'idempotent' | 'non-deterministic'
}

export function describe(tool: HostTool): DescribedTool {
  const { terms, title, outputSchema } = tool
  return {
    toolId: terms.toolId,
    source: tool.source,
    // What runs commands is the host's own, whatever else it says of itself.
    safetyTier: tool.safetyTier === 'exec' && tool.source !== 'host-extension' ? 'write' : tool.safetyTier,
    ...(title !== undefined && { title }),
    description: tool.description,
    inputSchema: tool.inputSchema,
    ...(outputSchema !== undefined && { outputSchema }),
    ...(terms.scopes.length > 0 && { auth: { scopes: [...new Set(terms.scopes)] } }),
    egress: EGRESS[terms.transport],
    replayPolicy: tool.safetyTier === 'pure' ? 'deterministic' : REPLAY[terms.repeat],
  }
}

const EGRESS = { http: 'safe-fetch', mcp: 'host-mediated', native: 'host-owned' } as const

const REPLAY: { readonly [Policy in RepeatPolicy]: DescribedTool['replayPolicy'] } = {
  safe: 'idempotent',
  keyed: 'idempotent',
  never: 'non-deterministic',
}
