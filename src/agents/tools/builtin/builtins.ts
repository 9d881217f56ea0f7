import type { Space } from '../../../core/journal/place.js'
import type { Egress } from '../../../egress/egress.js'
import type { Artifacts } from '../../../engine/ports/agents.js'
import type { JournalDesk } from '../../../engine/ports/desk.js'
import type { ToolSettings } from '../../settings.js'
import type { Tool, ToolSource } from '../host-tool.js'
import { artifactCreate } from './artifact-create.js'
import { artifactList } from './artifact-list.js'
import { artifactRead } from './artifact-read.js'
import { httpGet } from './http-get.js'
import { MEMORY_TOOLS } from './memory.js'
import { WORKSPACE_TOOLS } from './workspace.js'

/** What a tool of the host's own may use. */
export type BuiltinDeps = {
  readonly settings: ToolSettings
  readonly egress: Egress
  /** Without it agents can make artifacts but not look at them. */
  readonly artifacts?: Artifacts | undefined
  /** Without it agents have neither memory nor files. */
  readonly desk?: JournalDesk | undefined
  /** Which of the two there are; both where absent. */
  readonly spaces?: readonly Space[] | undefined
}

/** One file per tool; `problems` are about the settings it goes by. Undefined where the tool lacks what it needs. */
export type Builtin = (deps: BuiltinDeps) => { readonly tool: Tool; readonly problems?: readonly string[] } | undefined

const BUILTINS: readonly Builtin[] = [
  artifactCreate,
  artifactList,
  artifactRead,
  httpGet,
  ...MEMORY_TOOLS,
  ...WORKSPACE_TOOLS,
]

export function createBuiltins(deps: BuiltinDeps): ToolSource {
  const made = BUILTINS.map(builtin => builtin(deps)).filter(one => one !== undefined)
  const tools = new Map(made.map(({ tool }) => [tool.shown.terms.toolId, tool]))
  return {
    owns: toolId => toolId.startsWith('assay:'),
    tools: async () => tools,
    problems: () => made.flatMap(({ problems = [] }) => problems),
    close: async () => undefined,
  }
}
