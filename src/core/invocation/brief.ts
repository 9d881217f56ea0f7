import type { EntriesRead, EntryMade } from '../journal/entry.js'
import type { Json } from '../json.js'
import type { RepeatPolicy } from '../run/events.js'

/** Who is to act, as a node names it. */
export type AgentWanted = ModelNeeds &
  (
    | /** An agent of the catalogue. */
    { readonly agentId: string; readonly version?: string; readonly memoryRef?: string }
    /** One that the workflow describes itself, such as a supervisor with a prompt of its own. */
    | { readonly agentId: string; readonly inline: InlineAgent }
  )

export type InlineAgent = {
  /** Absent where the node's own prompts, or those below them, are all there is. */
  readonly systemPrompt?: string
  readonly modelClass?: ModelClass
  /** `provider:model`, in place of what the class stands for. */
  readonly model?: string
  readonly toolAllowlist?: readonly string[]
  readonly temperature?: number
  readonly maxOutputTokens?: number
  /** Beyond what the host does anyway: times an answer that cannot be used is asked for again. */
  readonly moreRetries?: number
}

/** What a node needs of a model, whichever that is. */
export type ModelNeeds = {
  readonly needs?: readonly string[]
  /** Takes the place of a model that lacks some of it. */
  readonly fallback?: ModelName
}

/** R-ENV-4: a model that has not what is needed; content-free. */
export type ModelLacks = ModelName & { readonly missing: readonly string[] }

/** The programmable provider of conformance runs. What it says may change at any time, so no answer of it is used again. */
export const MOCK_PROVIDER = 'mock'

/** Which of the host's settings chooses the model. */
export type ModelRole = 'worker' | 'supervisor' | 'verifier'

/** As manifests say it (contract agents §14.1). */
export const MODEL_CLASSES = ['reasoning', 'writing', 'coding', 'research', 'classification', 'general'] as const
export type ModelClass = (typeof MODEL_CLASSES)[number]

export type ModelName = { readonly provider: string; readonly model: string }

/**
 * What an invocation goes by, fixed when it begins and told to the run. No prompt, schema, price or credential is shown
 * by any event made of it; the texts themselves are kept apart, under `contents`.
 */
export type Brief = ModelName & {
  readonly agentId: string
  readonly version?: string
  readonly modelClass: ModelClass
  readonly prompts: readonly PromptResolution[]
  readonly composed: Composition
  /** Of a verifier, by hash: what it judges by, besides what its gate gives it. */
  readonly promptHash?: string
  /** Of a supervisor, by hash: the workers that it was told of. */
  readonly teamHash?: string
  /** The surface: host tools that the agent's allowlist names, and nothing else (R-TOOL-1, R-TOOL-2). */
  readonly tools: readonly ToolTerms[]
  /** Whether it is given any of the memory that its manifest asks for (R-LIVE-8). */
  readonly memoryBound: boolean
  /** Under which reference the exchange is kept, where it has conversations. */
  readonly conversationRef?: string
  /** The task breaks the agent's task schema: nothing is called (R-LIVE-10). */
  readonly taskProblem?: string
  /** The result is held to the agent's return schema. */
  readonly checksResult: boolean
  /** Below it a person looks at the result first; the run's own threshold where absent. */
  readonly threshold?: number
  readonly maxOutputTokens: number
  /** Model calls of one invocation at most, besides repeated ones. */
  readonly maxRounds: number
  /** How often an answer that cannot be used is asked for again. */
  readonly maxRetries: number
  /** USD per million tokens; absent when nobody has told. */
  readonly price?: Price
  /** The model that this one stands in for. */
  readonly substituted?: ModelLacks
  /** No first request of this invocation can take more input tokens than this. */
  readonly inputTokens: number
}

export type Price = {
  readonly input: number
  readonly output: number
  readonly cacheRead?: number
  readonly cacheWrite?: number
}

export type ToolTerms = {
  /** `<scope>:<tool-id>`, matched exactly. */
  readonly toolId: string
  readonly transport: 'mcp' | 'http' | 'native'
  readonly repeat: RepeatPolicy
  /** What the principal must be allowed; missing ones forbid the call (R-TOOL-4). */
  readonly scopes: readonly string[]
}

export const PROMPT_KINDS = ['system', 'user', 'few-shot', 'schema-hint'] as const
export type PromptKind = (typeof PROMPT_KINDS)[number]

export const PROMPT_LAYERS = [
  'run-configurable',
  'node',
  'agent-intrinsic',
  'agent-overrides',
  'agent-library-default',
  'workflow-defaults',
  'host-defaults',
] as const
export type PromptLayer = (typeof PROMPT_LAYERS)[number]

/** R-PROMPT-1: where a prompt came from. Names of prompts, never their text. */
export type PromptResolution = {
  readonly kind: PromptKind
  readonly chain: readonly {
    readonly layer: PromptLayer
    readonly applied: boolean
    readonly source?: string
    readonly reason?: string
  }[]
  readonly resolved: string | null
}

/** R-PROMPT-5: what was put together, by hash. */
export type Composition = {
  readonly refs: readonly string[]
  readonly kind: 'system+user' | 'system-only' | 'user-only' | 'agent-reasoning'
  /** `sha256:` and 64 hex digits. */
  readonly hash: string
  readonly variableHashes: { readonly [name: string]: string }
}

/** What of a brief is told of prompts. */
export type PromptsTold = Pick<Brief, 'prompts' | 'composed'>

/** What a model call used, as its provider says; for one that broke off, at most what was reserved. */
export type Usage = {
  readonly inputTokens: number
  readonly outputTokens: number
  readonly cacheReadTokens?: number
  readonly cacheWriteTokens?: number
  /** Answered from an earlier call: told again, not spent again. */
  readonly cacheHit?: true
}

/** What a model said, as far as the run must know it. */
export type ModelReply = {
  readonly said: ModelSaid
  /** Already cut to what the run's verbosity allows; absent when the model told none, or none is wanted. */
  readonly reasoning?: string
  readonly usage: Usage
  /** Tries that the provider turned away before one was taken up: not billed, but counted. */
  readonly retries: number
  /** What this reply adds to the input of the next request at most. */
  readonly replyTokens: number
}

export type ModelSaid =
  | {
      readonly kind: 'answered'
      readonly result: Json
      readonly confidence?: number
      /** How the answer was found in the text; absent when the text was the answer. */
      readonly recovery?: 'jsonrepair' | 'markdown-fence' | 'brace-walker'
    }
  | { readonly kind: 'tools'; readonly calls: readonly ToolWanted[] }
  /** Not what was asked for; `problem` tells the model what to mend, and nobody else. */
  | { readonly kind: 'unusable'; readonly reason: 'schema-violation' | 'parse-error'; readonly problem: string }
  | { readonly kind: 'truncated'; readonly stopReason: 'max_tokens' | 'length' | 'stop_sequence' | 'unknown' }
  | { readonly kind: 'refused'; readonly safetyCategory?: string }

/** A tool call as the model asked for it. Its arguments are kept apart. */
export type ToolWanted = {
  /** The tool of the surface that is meant; absent when the name is none of them. */
  readonly toolId?: string
  /** SHA-256 of the redacted arguments as canonical JSON (R-TOOL-3). */
  readonly argsHash: string
  /** The arguments break the tool's input schema. */
  readonly problem?: string
}

/** What became of a tool call. What it returned is kept apart. */
export type ToolReply = {
  readonly status: 'ok' | 'error' | 'rate_limited'
  readonly durationMs: number
  /** What the result adds to the input of the next request at most. */
  readonly resultTokens: number
  /** A code, for the log; never the tool's own words. */
  readonly code?: string
  /** What the run is to keep as an artifact of its own. */
  readonly artifact?: ArtifactMade
  /** What it is to write into memory or workspace. */
  readonly entry?: EntryMade
  /** What of these the tool has read. */
  readonly read?: EntriesRead
}

export type ArtifactMade = { readonly artifactType: string; readonly content: Json }

/** What a run says of the models of its agents (`configurable.ai`), in place of what the host would choose. */
export type AiOverride = {
  readonly provider?: string
  readonly model?: string
  readonly temperature?: number
  readonly maxOutputTokens?: number
  /** Of single agents: before all else that is said of models. Who judges is not among them. */
  readonly agents?: { readonly [agentId: string]: { readonly model?: string; readonly modelClass?: ModelClass } }
}
