import type { Egress } from '../../../egress/egress.js'
import type { ToolSettings } from '../../settings.js'
import type { Tool, ToolSource } from '../host-tool.js'
import { httpGet } from './http-get.js'

/** What a tool of the host's own may use. */
export type BuiltinDeps = { readonly settings: ToolSettings; readonly egress: Egress }

/** One file per tool; `problems` are about the settings it goes by. */
export type Builtin = (deps: BuiltinDeps) => { readonly tool: Tool; readonly problems: readonly string[] }

const BUILTINS: readonly Builtin[] = [httpGet]

export function createBuiltins(deps: BuiltinDeps): ToolSource {
  const made = BUILTINS.map(builtin => builtin(deps))
  const tools = new Map(made.map(({ tool }) => [tool.shown.terms.toolId, tool]))
  return {
    owns: toolId => toolId.startsWith('assay:'),
    tools: async () => tools,
    problems: () => made.flatMap(({ problems }) => problems),
    close: async () => undefined,
  }
}
