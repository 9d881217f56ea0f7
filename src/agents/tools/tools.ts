import { closestName } from '../../core/schema/suggest.js'
import type { Egress } from '../../egress/egress.js'
import type { Artifacts, ToolCallRequest, ToolLacking } from '../../engine/ports/agents.js'
import type { Clock } from '../../engine/ports/clock.js'
import type { JournalDesk } from '../../engine/ports/desk.js'
import type { Log } from '../../engine/ports/log.js'
import type { SchemaChecker } from '../../engine/ports/schema-checker.js'
import type { Secrets } from '../../secrets/secrets.js'
import type { ToolSettings } from '../settings.js'
import { createBuiltins } from './builtin/builtins.js'
import type { HostTool, Tool, ToolServer, ToolSource } from './host-tool.js'
import { loadLocalTools } from './local/local-tools.js'
import { createRateLimit } from './rate-limit.js'
import { type Used, useTool } from './use.js'
import { within } from './within.js'

export type ToolDeps = {
  readonly settings: ToolSettings
  /** The folder whose `tools/` holds modules of the operator's. */
  readonly project: string | undefined
  readonly egress: {
    /** To what the operator has configured by its URL, and nothing else on this machine and its network. */
    readonly configured: Egress
    /** To what an agent asks for. */
    readonly tools: Egress
  }
  readonly secrets: Secrets
  readonly schemas: SchemaChecker
  readonly clock: Clock
  readonly log: Log
  readonly artifacts?: Artifacts | undefined
  readonly desk?: JournalDesk | undefined
}

/** Most hosts have none, and need not load what talks to them. */
async function serversOf(deps: ToolDeps): Promise<readonly ToolSource[]> {
  if (Object.keys(deps.settings.mcp).length === 0) return []
  const { createMcpSources } = await import('./mcp/mcp-source.js')
  return createMcpSources({ ...deps, egress: deps.egress.configured })
}

const PATIENCE_MS = 5_000

export interface Tools {
  /** The tools whose ids are exactly these, in this order; the others are not there (R-TOOL-1, R-TOOL-2). */
  surface(allowlist: readonly string[], signal: AbortSignal): Promise<readonly HostTool[]>
  /** All there are now, sorted by id. */
  catalogue(signal: AbortSignal): Promise<readonly HostTool[]>
  /** Those of these ids that are no tool now, and why; a server that is slow to answer counts as one that does not. */
  lacking(toolIds: readonly string[], signal: AbortSignal, patienceMs?: number): Promise<readonly ToolLacking[]>
  use(ask: ToolCallRequest): Promise<Used>
  /** Loads the operator's modules again; a call that is under way goes on with what it has. */
  reload(): Promise<void>
  /** What the operator should know: servers that cannot be reached, modules and settings that are no good. */
  problems(): readonly string[]
  /** The servers that are configured, each asked for its tools first, so that its state is of now. */
  servers(signal: AbortSignal): Promise<readonly ToolServer[]>
  close(): Promise<void>
}

/** Loads modules; servers are started or connected to when they are first wanted. */
export async function createTools(deps: ToolDeps): Promise<Tools> {
  const builtins = createBuiltins({ ...deps, egress: deps.egress.tools })
  const servers = await serversOf(deps)
  let sources: readonly ToolSource[] = [builtins, await loadLocalTools(deps), ...servers]
  const rateLimit = createRateLimit(deps.clock)

  async function find(toolId: string, signal: AbortSignal): Promise<Tool | 'unavailable' | undefined> {
    for (const source of sources) {
      if (!source.owns(toolId)) continue
      const tools = await source.tools(signal)
      return tools === undefined ? 'unavailable' : tools.get(toolId)
    }
    return undefined
  }

  async function lack(toolId: string, signal: AbortSignal): Promise<ToolLacking[]> {
    const source = sources.find(one => one.owns(toolId))
    if (source === undefined) return [{ toolId, why: 'unknown' }]
    const tools = await source.tools(signal)
    if (tools === undefined) return [{ toolId, why: 'unavailable' }]
    const close = closestName(toolId, [...tools.keys()])
    return tools.has(toolId) ? [] : [{ toolId, why: 'unknown', ...(close !== undefined && { close }) }]
  }

  return {
    async lacking(toolIds, signal, patienceMs = PATIENCE_MS) {
      const found = await Promise.all(
        [...new Set(toolIds)].map(async toolId => {
          const ended = await within(deps.clock, patienceMs, signal, inner => lack(toolId, inner))
          return ended.kind === 'done' ? ended.value : [{ toolId, why: 'unavailable' as const }]
        }),
      )
      return found.flat()
    },
    async surface(allowlist, signal) {
      const found = await Promise.all([...new Set(allowlist)].map(toolId => find(toolId, signal)))
      return found.filter(tool => typeof tool === 'object').map(({ shown }) => shown)
    },
    async catalogue(signal) {
      const all = await Promise.all(sources.map(source => source.tools(signal)))
      return all
        .flatMap(tools => [...(tools?.values() ?? [])])
        .map(({ shown }) => shown)
        .sort((a, b) => (a.terms.toolId < b.terms.toolId ? -1 : 1))
    },
    async reload() {
      sources = [builtins, await loadLocalTools(deps), ...servers]
    },
    use: ask => useTool({ ...deps, rateLimit, find }, ask),
    problems: () => sources.flatMap(source => source.problems()),
    async servers(signal) {
      await Promise.all(servers.map(source => source.tools(signal)))
      return servers.flatMap(source => source.server?.() ?? [])
    },
    async close() {
      await Promise.all(sources.map(source => source.close()))
    },
  }
}
