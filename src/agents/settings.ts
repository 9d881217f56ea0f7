import type { ModelClass, ModelName, Price } from '../core/invocation/brief.js'
import type { RepeatPolicy } from '../core/run/events.js'

/** A secret is never written down in a setting, only where it is to be found when it is needed. */
export type SecretRef = { readonly env: string } | { readonly file: string }

/** What of the configuration agents go by; `config.ts` makes it. Paths are absolute. */
export type AgentSettings = {
  /** The folder with `agents/`, `prompts/`, `tools/` and `packs/`, if there is one. */
  readonly project: string | undefined
  /** Look at those folders again whenever a file changes. */
  readonly watch: boolean
  readonly models: ModelSettings
  /** By `provider:model`, or `provider:*`. */
  readonly prices: { readonly [model: string]: Price }
  readonly tools: ToolSettings
}

export type ModelSettings = {
  readonly worker: ModelName
  readonly supervisor: ModelName
  readonly verifier: ModelName
  /** In place of the worker's, for agents of a class. */
  readonly classes: { readonly [Class in ModelClass]?: ModelName }
  /** By `provider:model`, or `provider:*`: what a model has, where the operator says so. */
  readonly capabilities: { readonly [model: string]: readonly string[] }
  /** The same: which model takes its place where it lacks what is needed. */
  readonly fallbacks: { readonly [model: string]: ModelName }
  /** By the name that stands before the colon of `provider:model`. */
  readonly providers: { readonly [name: string]: ProviderSettings }
  readonly maxOutputTokens: number
  /** One request, from its first try to the last byte of the answer. */
  readonly timeoutMs: number
  /** Tries of one request that the provider turns away unbilled (429, 503, no connection). */
  readonly maxTries: number
  /** Model calls of one invocation. */
  readonly maxRounds: number
  /** Times an unusable answer is asked for again. */
  readonly maxRetries: number
  /** Answer a request that this tenant has made before with the answer of then. */
  readonly reuseAnswers: boolean
  readonly cacheKeyRecipe: 'v1' | 'v2'
  /** The script of the offline model. */
  readonly script: string | undefined
}

export type ProviderSettings = {
  readonly kind: 'openai' | 'anthropic' | 'google' | 'openai-compatible' | 'scripted' | 'mock'
  readonly apiKey?: SecretRef
  /** Said by the operator, so it may be on this machine or its network. */
  readonly baseUrl?: string
}

export type ToolSettings = {
  readonly mcp: { readonly [server: string]: McpServer }
  /** By exact tool id. */
  readonly rules: { readonly [toolId: string]: ToolRule }
  /** URL prefixes that `assay:http.get` may fetch; none by default. */
  readonly httpAllow: readonly string[]
  readonly timeoutMs: number
  /** What of a result the model is told at most. */
  readonly maxResultBytes: number
}

export type McpServer =
  | {
      readonly kind: 'stdio'
      readonly command: string
      readonly args: readonly string[]
      readonly cwd?: string
      readonly env: { readonly [name: string]: string | SecretRef }
    }
  | { readonly kind: 'http'; readonly url: string; readonly headers: { readonly [name: string]: string | SecretRef } }

export type ToolRule = {
  readonly scopes?: readonly string[]
  /** Calls per minute and principal. */
  readonly ratePerMinute?: number
  readonly repeat?: RepeatPolicy
  readonly timeoutMs?: number
}
