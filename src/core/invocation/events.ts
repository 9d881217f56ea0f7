import type { Anchors, EntryMade } from '../journal/entry.js'
import type { Json } from '../json.js'
import type { NodeFact } from '../run/events.js'
import type { Brief, Composition, ModelClass, PromptResolution, ToolWanted } from './brief.js'
import type { WithheldResult } from './state.js'
import type { ToolError } from './tool-codes.js'

/** What an agent did inside a node (contract agents §13). */
export type AgentFact =
  | NodeFact<'agent.reasoning.delta', { agentId: string; delta: string; sequence: number; verbosity?: Verbosity }>
  | NodeFact<'agent.reasoned', { agentId: string; reasoning: string; verbosity?: Verbosity }>
  | NodeFact<'agent.toolCalled', AgentToolCalled, { position: number; paid?: true }>
  | NodeFact<'agent.toolReturned', AgentToolReturned, ToolReturnedSecret>
  | NodeFact<'agent.handoff', { fromAgentId: string; toAgentId: string; reason?: string }>
  | NodeFact<'agent.decided', { agentId: string; decision: Json; confidence?: number }, { decision: Json }>

export type Verbosity = 'summary' | 'full' | 'off'

export type AgentToolCalled = {
  agentId: string
  toolName: string
  toolId: string
  callId: string
  /** Only where the workflow itself made them up; what a live agent passes on is told by its hash. */
  inputs?: Json
  argsHash?: string
  principal?: string
  transport?: 'mcp' | 'http' | 'native'
}

export type AgentToolReturned = {
  agentId: string
  toolName: string
  toolId: string
  callId: string
  status: 'ok' | 'error' | 'forbidden' | 'rate_limited'
  outcome?: Json
  error?: ToolError
  durationMs?: number
}

/** Which of the model's calls it was, and where the tool's own words are kept; `code` when it was not called. */
export type ToolReturnedSecret = {
  readonly position: number
  readonly contents?: string
  readonly resultTokens?: number
  readonly code?: string
  /** A gate stands between the result and the agent. */
  readonly gated?: true
  /** The tool has failed, and a gate stands between its words and the agent. */
  readonly withheld?: WithheldResult
}

/** One agent at work on one task (contract agents §14.3, §16, §17). All of these are free of content. */
export type InvocationFact =
  | NodeFact<'agent.invocation.started', InvocationStarted, { brief: Brief; contents: string; anchors?: Anchors }>
  /** A model lacks what the node needs: another is used in its place, or none. */
  | NodeFact<'model.capability.substituted', CapabilitySubstituted>
  | NodeFact<'model.capability.insufficient', CapabilityInsufficient>
  | NodeFact<'agent.promptResolved', { nodeId: string; agentId: string } & PromptResolution>
  | NodeFact<'prompt.composed', { nodeId: string } & Composition>
  /** A model is called: what the call may cost is set aside before it is made. */
  | NodeFact<'assay.model.requested', ModelRequested>
  /** The host died during a call; what it may have cost is counted in full. */
  | NodeFact<'assay.model.lost', ModelLost>
  | NodeFact<'provider.usage', ProviderUsage, UsageSecret>
  | NodeFact<
      'envelope.retry.attempted',
      { nodeId: string; attempt: number; reason: EnvelopeReason },
      { correction: string }
    >
  | NodeFact<'envelope.retry.exhausted', { nodeId: string; totalAttempts: number; finalReason: EnvelopeReason }>
  | NodeFact<
      'envelope.refusal',
      { nodeId: string; provider: string; model: string; refusalText: null; safetyCategory?: string }
    >
  | NodeFact<'envelope.truncated', EnvelopeTruncated>
  | NodeFact<'envelope.recovery.applied', { nodeId: string; path: 'jsonrepair' | 'markdown-fence' | 'brace-walker' }>
  | NodeFact<'agent.invocation.completed', InvocationCompleted>
  /** Every gate before a tool's result has let it pass, or none of them blocks: the agent is given it. */
  | NodeFact<'assay.tool.delivered', ToolJudged, { position: number; resultHash?: string }>
  /** A gate has not let it pass: the agent is told so, and nothing of what the tool has said. */
  | NodeFact<'assay.tool.withheld', ToolJudged & ToolWithheld, { position: number } & WithheldResult>

export type ToolJudged = { callId: string; toolId: string }

export type ToolWithheld = { gateId: string; attempt: number; criteriaFailed: number; criteria: number }

export type CapabilitySubstituted = {
  nodeId: string
  originalProvider: string
  originalModel: string
  fallbackProvider: string
  fallbackModel: string
  missingCapabilities: readonly string[]
}

export type CapabilityInsufficient = {
  nodeId: string
  provider: string
  model: string
  missingCapabilities: readonly string[]
  /** There is one that would take its place, and it cannot. */
  fallbackAttempted: boolean
}

export type InvocationSource = 'workflow-node' | 'run-api' | 'chat-mention'

export type InvocationStarted = {
  invocationId: string
  agentId: string
  source: InvocationSource
  modelClass: ModelClass
  resolvedModel: string
  resolvedProvider: string
  resolvedAgentVersion?: string
  toolSurfaceCount: number
  memoryBound: boolean
}

export type InvocationOutcome = 'completed' | 'handed-off' | 'escalated' | 'refused' | 'failed'

export type InvocationCompleted = {
  invocationId: string
  agentId: string
  outcome: InvocationOutcome
  schemaValidated?: boolean
  confidence?: number
}

export type ModelRequested = {
  nodeId: string
  invocationId: string
  /** Numbers the model calls of the invocation, from 1. */
  call: number
  /** Tries of this call that may have been billed, from 1. */
  attempt: number
  maxOutputTokens: number
  /** Set aside until the call's own usage is known. */
  reservedTokens: number
  reservedCostUsd?: number
}

export type ModelLost = {
  nodeId: string
  invocationId: string
  call: number
  attempt: number
  /** What was set aside for it: nobody knows what it cost, so that much is held. */
  heldTokens?: number
  heldCostUsd?: number
  /** In the place of those, in logs of engine versions before 4: told as spent. */
  chargedTokens?: number
  chargedCostUsd?: number
}

export type ProviderUsage = {
  provider: string
  model: string
  inputTokens: number
  outputTokens: number
  totalTokens: number
  costEstimateUsd?: number
  currency?: 'USD'
  cacheHit?: true
  cacheReadTokens?: number
  cacheWriteTokens?: number
  nodeId: string
}

/** What the call brought, besides its price: where the model's words are kept, and what it asks for. */
export type UsageSecret = {
  readonly contents?: string
  readonly replyTokens?: number
  readonly wanted?: readonly ToolWanted[]
  /** What a conversation remembers of it, if the answer stands. */
  readonly exchange?: EntryMade
}

export type EnvelopeReason = 'schema-violation' | 'parse-error' | 'truncation' | 'unknown'

export type EnvelopeTruncated = {
  nodeId: string
  provider: string
  model: string
  stopReason: 'max_tokens' | 'length' | 'stop_sequence' | 'unknown'
  outputTokenCount: number
}
