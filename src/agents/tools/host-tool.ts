import type { ArtifactMade, ToolTerms } from '../../core/invocation/brief.js'
import type { ToolCode } from '../../core/invocation/tool-codes.js'
import type { Desk, EntriesRead, EntryMade } from '../../core/journal/entry.js'
import type { Json, JsonObject } from '../../core/json.js'

/** A tool of this host, as agents and readers of the catalogue may know it. */
export type HostTool = {
  readonly terms: ToolTerms
  readonly title?: string
  readonly description: string
  readonly inputSchema: JsonObject
  readonly outputSchema?: JsonObject
  readonly safetyTier: SafetyTier
  readonly source: 'mcp' | 'host-extension'
}

export const SAFETY_TIERS = ['pure', 'read', 'write', 'exec'] as const
export type SafetyTier = (typeof SAFETY_TIERS)[number]

/** A tool that can be called. */
export type Tool = {
  readonly shown: HostTool
  /**
   * One call. A tool whose code is not ours may also throw, or never come back; `use.ts` deals with both. What it says
   * is neither cut, cleaned nor redacted yet.
   */
  readonly invoke: (call: ToolCall) => Promise<ToolSaid>
}

export type ToolCall = {
  /** Whose run the call is made for. */
  readonly tenant: string
  readonly runId: string
  /** The effect's identity: the same when the call is repeated, so that the other side can drop the repetition. */
  readonly id: string
  /** W3C trace context of the run and this call, for whatever is sent. */
  readonly traceparent: string
  readonly args: JsonObject
  /** Who calls, and what of memory and workspace is seen from there. */
  readonly agentId: string
  readonly desk: Desk
  /** Aborts when time is over or the run no longer wants the answer. */
  readonly signal: AbortSignal
  readonly timeoutMs: number
  /** More than this is not worth reading. */
  readonly maxBytes: number
}

export type ToolSaid =
  | {
      readonly ok: true
      readonly text: string
      /** What the output schema, where there is one, is about. */
      readonly value?: Json
      /** There was more than `maxBytes`. */
      readonly truncated?: boolean
      /** What the run is to keep. */
      readonly artifact?: ArtifactMade
      /** What it is to write into memory or workspace. */
      readonly entry?: EntryMade
      /** What of these was read. */
      readonly read?: EntriesRead
    }
  | { readonly ok: false; readonly code: ToolCode; readonly text: string; readonly truncated?: boolean }

/** Where tools come from: a server, a folder, this host itself. */
export interface ToolSource {
  /** Whether an id can only be one of this source's; asked before anything is started or connected. */
  owns(toolId: string): boolean
  /** All its tools by id; undefined when they cannot be had now. */
  tools(signal: AbortSignal): Promise<ReadonlyMap<string, Tool> | undefined>
  problems(): readonly string[]
  /** Of a server outside this host: how it is doing. */
  server?(): ToolServer
  close(): Promise<void>
}

/** `stderr`: how much it has written there, and the end of that, redacted and fenced. */
export type ToolServer = {
  readonly name: string
  readonly transport: 'stdio' | 'http'
  /** Why it cannot be used now. */
  readonly problem?: string
  readonly stderr?: { readonly bytes: number; readonly tail: string }
}
