import { SPACES } from '../../../core/journal/place.js'
import type { JsonObject } from '../../../core/json.js'
import type { DeskSeat, JournalDesk, Looked, Prepared } from '../../../engine/ports/desk.js'
import type { HostTool, Tool, ToolCall, ToolSaid } from '../host-tool.js'
import { termsOf } from '../terms.js'
import type { Builtin, BuiltinDeps } from './builtins.js'

/** Tools by which agents use memory and workspace: what they read is as of the start of their node, or turn. */

type Described = Pick<HostTool, 'title' | 'description' | 'safetyTier'> & {
  readonly toolId: string
  readonly scopes?: readonly string[]
  readonly properties: JsonObject
  readonly required?: readonly string[]
}

type Performed = (desk: JournalDesk, seat: DeskSeat, call: ToolCall) => Promise<ToolSaid>

export const journalTool =
  ({ toolId, scopes, properties, required = [], ...shown }: Described, perform: Performed): Builtin =>
  ({ settings, desk, spaces = SPACES }: BuiltinDeps) => {
    if (desk === undefined || !spaces.some(space => toolId.startsWith(`assay:${space}.`))) return undefined
    const tool: Tool = {
      shown: {
        ...shown,
        terms: termsOf(toolId, 'native', { repeat: 'safe', ...(scopes ? { scopes } : {}) }, settings.rules),
        inputSchema: { type: 'object', properties, required: [...required], additionalProperties: false },
        source: 'host-extension',
      },
      invoke: call => {
        const { tenant, runId, id, desk: seen } = call
        return perform(desk, { tenant, runId, id, desk: seen }, call)
      },
    }
    return { tool }
  }

/** What was read, as JSON. */
export const lookedAt = (looked: Looked, told: (entries: readonly object[]) => unknown): ToolSaid =>
  looked.ok
    ? { ok: true, text: JSON.stringify(told(looked.entries)), read: looked.read }
    : { ok: false, code: 'tool_refused', text: looked.message }

/** J4: an agent that is not told so would think that its write was lost. */
export const preparedAs = (done: Prepared, text: string): ToolSaid =>
  done.ok ? { ok: true, text, entry: done.entry } : { ok: false, code: 'tool_refused', text: done.message }

export const LATER = 'You will see it from your next turn or node on, not in this one.'

export const textOf = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value ?? null))
