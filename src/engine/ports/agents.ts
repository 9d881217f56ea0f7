import type {
  AgentWanted,
  AiOverride,
  Brief,
  ModelClass,
  ModelLacks,
  ModelName,
  ModelReply,
  ModelRole,
  ToolReply,
  Usage,
} from '../../core/invocation/brief.js'
import type { Desk, EntriesRead } from '../../core/journal/entry.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { ArtifactCreated } from '../../core/run/events.js'
import type { TeamMember } from '../../core/supervisor/team.js'
import type { Feedback } from '../../core/verification/voting/judgement.js'
import type { DeskSeat } from './desk.js'
import type { TranscriptEvent } from './performer.js'

/**
 * Agents as the engine knows them: it asks for a brief, then for one model call or one tool call at a time. Every
 * answer has two parts: what the run is told, and its `contents`, which the engine seals and keeps apart (see
 * `effects/sealed.ts`). None of these throws; what went wrong is part of the answer.
 *
 *  A1  Nothing is remembered between calls: after a crash another host goes on from the contents alone.
 *  A2  `callModel` is one request to a model. It tries again by itself only what the provider has turned away unbilled.
 *  A3  `callTool` is one call of one tool, which the engine has found on the surface and allowed.
 *  A4  What is told and what is kept has been redacted: no secret the host knows is in it (R-EVENT-6, SR-1).
 */
export interface Agents {
  /** Whether an agent of that name is installed. */
  knows(agentId: string): boolean
  /** All that are, to find the one that a misspelt name was meant for. */
  names(): readonly string[]
  /** Those of these ids that are no tool on this host now, and why. */
  lacking(toolIds: readonly string[], signal: AbortSignal): Promise<readonly ToolLacking[]>
  /** Resolves the agent, its model, prompts and tools, and checks the task. Calls no model and no tool. */
  prepare(ask: PrepareAgentRequest): Promise<AgentAnswer<Brief, BriefContents> & { readonly read?: EntriesRead }>
  callModel(ask: ModelCallRequest): Promise<AgentAnswer<ModelReply, ModelCallContents>>
  callTool(ask: ToolCallRequest): Promise<AgentAnswer<ToolReply, ToolContents>>
  /** The key under which the answer to this request may be found again (contract core §8.6), 64 hex digits. */
  keyOf(ask: ModelCallRequest): string
}

export type ToolLacking = {
  readonly toolId: string
  /** `unavailable`: its server does not answer, so that nobody can say whether it has the tool. */
  readonly why: 'unknown' | 'unavailable'
  /** The tool that was probably meant. */
  readonly close?: string
}

export type AgentAnswer<Told, Contents> =
  | { readonly ok: true; readonly told: Told; readonly contents: Contents }
  | AgentFailure

export type AgentFailure = {
  readonly ok: false
  /** A code of core FAILURES. */
  readonly code: string
  readonly message: string
  readonly details?: JsonObject
  readonly retryable: boolean
  /** What a model call that failed half-way has cost at most. */
  readonly usage?: Usage
  /** The model that lacks what the node needs, where that is why. */
  readonly lacks?: ModelLacks & { readonly fallbackAttempted: boolean }
}

export type PrepareAgentRequest = {
  readonly tenant: string
  readonly agent: AgentWanted
  readonly role: ModelRole
  readonly task: Json
  /** The workflow's own prompts, by layer: the node's and the workflow's defaults (contract agents §16). */
  readonly prompts: { readonly node: JsonObject; readonly workflow: JsonObject }
  /** Values that prompts may name: the task under `input`, the run's shown variables under `variable`. */
  readonly variables: JsonObject
  readonly ai: AiOverride
  /** The model this run has used for the same role and this class before (R-LIVE-3). */
  readonly fixed: (modelClass: ModelClass) => ModelName | undefined
  /** What the answer must be, where the node itself demands it: a schema that wins over the agent's own. */
  readonly returnSchema?: JsonObject
  /** Events of the run that the agent may look back on. */
  readonly transcript?: readonly TranscriptEvent[]
  /** Of a supervisor: whom it may name. */
  readonly team?: readonly TeamMember[]
  /** Where it looks into its memory from. */
  readonly seat?: DeskSeat
  /** Why the agent's last result was sent back. */
  readonly feedback?: Feedback
  readonly signal: AbortSignal
}

/** Everything a model or tool call needs, as it was when the invocation began. */
export type BriefContents = {
  readonly system: string
  readonly user: string
  readonly tools: readonly ToolContentsOfBrief[]
  readonly returnSchema?: JsonObject
  /** The answer is asked for as {result, confidence}. */
  readonly wrapped: boolean
  readonly temperature?: number
  /** A code planted in what a verifier judges; a reply that repeats it is void. */
  readonly canary?: string
}

export type ToolContentsOfBrief = {
  readonly toolId: string
  /** As the model knows it: letters, digits, `_` and `-`, 64 at most. */
  readonly name: string
  readonly description: string
  readonly inputSchema: JsonObject
}

export type ModelCallRequest = ModelName & {
  readonly tenant: string
  /** Whose words these are; only the offline model asks. */
  readonly agentId?: string
  readonly role?: ModelRole
  /** Which call of which node it is; only the programmable model asks. */
  readonly nodeId?: string
  readonly call?: number
  /** The effect's identity, sent along so that a provider can drop a repetition. */
  readonly id: string
  /** What it is sent under: the trace of its run, the same for every try. */
  readonly traceparent: string
  readonly brief: BriefContents
  /** What was said before, oldest first; the last is always followed by this request. */
  readonly rounds: readonly Round[]
  readonly maxOutputTokens: number
  readonly verbosity: 'summary' | 'full' | 'off'
  /** Reasoning as it comes; called often, batched by the caller. */
  readonly onReasoning?: (delta: string) => void
  readonly signal: AbortSignal
}

/** One earlier model call and what followed from it. */
export type Round = {
  readonly thought: ModelCallContents
  /** By position of the calls in the thought: what the model is told of each. */
  readonly results: readonly ToolContents[]
  /** The reply could not be used: what to mend. */
  readonly correction?: string
}

export type ModelCallContents = {
  readonly text: string
  readonly calls: readonly {
    readonly id: string
    readonly name: string
    readonly toolId?: string
    readonly args: Json
    /** Why the arguments do not fit. It may quote them, so the log says only that they do not. */
    readonly problem?: string
    readonly violation?: BrokenRule
  }[]
  /** What to mend in an answer that cannot be used; kept here for the same reason. */
  readonly problem?: string
  readonly violation?: BrokenRule
  /** What the provider wants to see again with the next request, such as signed reasoning. */
  readonly carry?: Json
}

/** Where a reply or its arguments break which rule of their schema, and what stands there, as JSON, cut. */
export type BrokenRule = { readonly field: string; readonly rule: string; readonly value: string }

export type ToolCallRequest = {
  readonly tenant: string
  readonly principal: string
  readonly runId: string
  readonly agentId: string
  readonly id: string
  /** What it is sent under: the trace of its run, the same for every try. */
  readonly traceparent: string
  readonly toolId: string
  readonly args: Json
  /** What of memory and workspace is seen from where the agent works. */
  readonly desk: Desk
  readonly signal: AbortSignal
}

/** A tool's result as the next model call is told it: capped, redacted, not yet fenced. */
export type ToolContents = { readonly text: string; readonly isError: boolean }

/** The artifacts of a run, as its own agents may know them; of another tenant's run there are none. */
export interface Artifacts {
  /** Oldest first. */
  list(tenant: string, runId: string): Promise<ArtifactCreated[]>
  /** The content without what the run's log must not show; undefined when the run has no such artifact. */
  read(tenant: string, runId: string, artifactId: string): Promise<Json | undefined>
}

/** Keeps contents so that only this host can read them, and only for the tenant and the effect they belong to. */
export interface Vault {
  /** With the tenant's own key, made at its first use. Rejects with TenantErased when it can have none any more. */
  of(tenant: string): Promise<TenantVault>
}

export interface TenantVault {
  seal(id: string, contents: Json): string
  /** Throws when the text was changed, belongs elsewhere, or was sealed with a key this host does not have. */
  open(id: string, sealed: string): Json
  /** The same for bytes, which stay bytes. */
  sealBytes(id: string, bytes: Uint8Array): Buffer
  openBytes(id: string, sealed: Uint8Array): Buffer
}
