import { MEMORY_TOOLS } from '../../src/agents/tools/builtin/memory.js'
import { WORKSPACE_TOOLS } from '../../src/agents/tools/builtin/workspace.js'
import type { ToolTerms } from '../../src/core/invocation/brief.js'
import type { JsonObject } from '../../src/core/json.js'
import { createRunDesk } from '../../src/engine/journal/run-desk.js'
import type { Store } from '../../src/engine/ports/store.js'
import { glassVault, type Script } from '../../src/testing/agents.js'
import { DESK_SETTINGS } from '../../src/testing/engine-rig.js'
import { NO_TURNS } from '../../src/timing/turns.js'

/** The host's own tools of memory and workspace, over a store, for agents that are doubles. */

const toolsOver = (store: Store) => {
  const desk = createRunDesk({
    turns: NO_TURNS,
    store,
    vault: glassVault,
    redact: { text: text => text },
    settings: DESK_SETTINGS,
  })
  const settings = { mcp: {}, rules: {}, httpAllow: [], timeoutMs: 1_000, maxResultBytes: 100_000 }
  const deps = { settings, desk } as unknown as Parameters<(typeof MEMORY_TOOLS)[number]>[0]
  const made = [...MEMORY_TOOLS, ...WORKSPACE_TOOLS].map(builtin => builtin(deps)!.tool)
  return new Map(made.map(tool => [tool.shown.terms.toolId, tool]))
}

/** What a brief says of them. Whoever starts the run need have no scopes. */
export const JOURNAL_TERMS: readonly ToolTerms[] = [...toolsOver(undefined as unknown as Store).values()].map(
  ({ shown: { terms } }) => ({ ...terms, scopes: [] }),
)

/** Performs a call as the host would, without its limits. */
export function journalTools(store: Store): NonNullable<Script['use']> {
  const tools = toolsOver(store)
  return async ({ toolId, args, ...call }) => {
    const limits = { timeoutMs: 1_000, maxBytes: 100_000 }
    const said = await tools.get(toolId)!.invoke({ ...call, ...limits, args: args as JsonObject })
    const told = { durationMs: 1, resultTokens: 30, text: said.text }
    if (!said.ok) return { status: 'error', code: said.code, ...told }
    const { entry, read } = said
    return { status: 'ok', ...told, ...(entry && { entry }), ...(read && { read }) }
  }
}
