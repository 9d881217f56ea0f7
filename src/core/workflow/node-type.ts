import type { TSchema } from 'typebox'
import type { Expression, ExpressionScope } from '../expression.js'
import type { WorkerResult } from '../handoff/state.js'
import type { Interrupt, Resolution } from '../interrupt/interrupt.js'
import type { Asked } from '../interrupt/state.js'
import type { AgentFact } from '../invocation/events.js'
import type { Json, JsonObject } from '../json.js'
import type { Failure } from '../problem.js'
import type { Wait } from '../run/events.js'
import type { ConfidencePolicy, OrchestratorDecision } from '../supervisor/decision.js'
import type { ConfidenceEscalated } from '../supervisor/events.js'
import type { Orchestrator } from '../supervisor/state.js'
import type { Slot } from '../verification/state.js'
import type { DwsVerdict } from '../verification/voting/judgement.js'
import type { TriggerRule, WorkflowNode } from './definition.js'

/**
 * A kind of node: pure rules for what it does when it starts and when what it waited for has come. Each lives in its
 * own file under `nodes/`; the registry is generated from that folder.
 */
export type NodeType = {
  readonly typeId: string
  /** What it does, as the reference says it. */
  readonly about: string
  /** Its configuration. What is not in here is refused when a workflow is registered. */
  readonly config: TSchema
  /** Its part in the orchestrator's loop. */
  readonly role?: 'supervisor' | 'dispatch'
  /** Hands work to workers, each of which is a run of its own. */
  readonly hands?: true
  /** Has an agent do a task, which calls models and tools. */
  readonly invokes?: true
  /** Reads or writes memory or files itself. */
  readonly journals?: true
  /** Does by itself what the scopes of whoever the run acts for may not allow. */
  readonly acts?: true
  /** Ports whose values no reader of the log sees, whatever the workflow says. */
  hides?(config: JsonObject): readonly string[]
  /** What no schema can say: of several fields together, of the ports, of the host. Asked of a configuration that fits. */
  check?(node: WorkflowNode, permit: Permit): readonly string[]
  /** CEL sources in the configuration, by name; parsed when the workflow is registered. */
  expressions?(config: JsonObject): { readonly [name: string]: string }
  /** What these can read besides what every expression can. */
  readonly reads?: readonly string[]
  /** Ports of which only one is chosen per completion; edges from the others are dead. */
  readonly ports?: readonly string[]
  chosenPort?(outputs: JsonObject): string
  /** Rule of inbound edges that name none. */
  readonly defaultRule?: TriggerRule
  /**
   * Edges may lead back to this node. It chooses `body`, and its body runs again; `again`, and it starts again itself;
   * or `done`.
   */
  readonly loops?: true
  /** Host capabilities without which the node must not run. */
  readonly requires?: readonly string[]
  start(ctx: NodeContext): NodeStep
  settle?(ctx: NodeContext, wait: Wait, outcome: WaitOutcome): NodeStep
  /** What is wrong with an answer to what the node asked, besides what the kind of question demands. */
  answerProblems?(asked: Asked, value: Json): readonly string[]
}

/** What the host lets this workflow do. */
export type Permit = {
  /** Scripted agents and supervisors (R-ORCH-11, R-MOCK-5). */
  readonly mocks: boolean
  /** A supervisor that nothing drives gets the built-in plan of the conformance suite. */
  readonly builtInPlan: boolean
  /** Who can be called here; unknown when absent. */
  readonly providers?: ReadonlySet<string>
  /** It comes with the files of the project, which are the operator's: it may run programs and name secrets. */
  readonly ofProject: boolean
}

export type NodeContext = {
  readonly node: WorkflowNode
  readonly config: JsonObject
  /** Resolved input ports. */
  readonly inputs: JsonObject
  readonly attempt: number
  /** Failed attempts of this execution so far. */
  readonly failures: number
  /** What whoever the run acts for may do. */
  readonly scopes: readonly string[]
  /** Completions of this node since its enclosing loop last began: 0 the first time. */
  readonly iteration: number
  /** Fresh starts of this node in the whole run: numbers its effects. */
  readonly ordinal: number
  readonly variables: JsonObject
  /** The same without those whose values must not be seen. */
  readonly shownVariables: JsonObject
  readonly channels: JsonObject
  readonly runInputs: JsonObject
  /** What the host gave the run besides its inputs. */
  readonly withheld: JsonObject
  readonly configurable: JsonObject
  /** Outputs of the completed nodes that lead here, by node id, in definition order. */
  readonly inbound: JsonObject
  readonly maxLoopbackIterations: number
  /** Whether the workflow names work at another host anywhere, in a mapping or in words. */
  readonly namesPeers: boolean
  /** Whether the node is inside the orchestrator's loop. */
  readonly supervised: boolean
  /** Where the orchestrator's loop stands. */
  readonly orchestrator: Orchestrator | undefined
  readonly confidence: ConfidencePolicy
  /** Gates whose latest word on this run's work is not a pass. */
  readonly unverified: readonly Pick<Slot, 'gateId' | 'criteria' | 'nodeId' | 'workerId'>[]
  /** Whether a worker completed and said itself that it has not reached its goal. */
  readonly gaveUp: boolean
  /** The events that a turn of the orchestrator may look back on: from this one on, up to its own start. */
  readonly transcript: { readonly from: number; readonly to: number }
  /** Whether any edge leaves this port of the node. */
  wired(port: string): boolean
  /** The schema a declared channel holds its writes to. */
  channelSchema(channel: string): JsonObject | undefined
  /** The parsed expression of that name, and the data to evaluate it over. */
  expression(name: string): Expression
  readonly scope: ExpressionScope
  /** The same data, and more under these names. */
  scopeWith(more: { readonly [name: string]: unknown }): ExpressionScope
}

export type NodeStep =
  | { readonly kind: 'completed'; readonly outputs: JsonObject; readonly writes?: readonly Write[] }
  | { readonly kind: 'failed'; readonly error: Failure; readonly writes?: readonly Write[] }
  | { readonly kind: 'waiting'; readonly wait: Wait }
  | { readonly kind: 'asking'; readonly interrupt: Interrupt; readonly writes?: readonly Write[] }

export type Write =
  | { readonly kind: 'variable'; readonly name: string; readonly value: Json; readonly sensitive?: boolean }
  | {
      readonly kind: 'channel'
      readonly channel: string
      readonly value: Json
      readonly reducer?: string
      readonly ttlMs?: number
    }
  | { readonly kind: 'loopback-limit'; readonly iterations: number; readonly limit: number }
  | {
      readonly kind: 'decided'
      readonly agentId: string
      readonly decision: OrchestratorDecision
      readonly iteration: number
    }
  | { readonly kind: 'escalated'; readonly doubt: Omit<ConfidenceEscalated, 'parentRunId'> }
  | { readonly kind: 'agent'; readonly event: AgentSaid }

/** What an agent did, without what the log adds: its node, and the id that pairs a tool's call with its return. */
export type AgentSaid = AgentFact extends infer Event
  ? Event extends { readonly type: infer Type; readonly payload: infer Payload }
    ? { readonly type: Type; readonly payload: Omit<Payload, 'callId'> }
    : never
  : never

export type WaitOutcome =
  | { readonly kind: 'timer' }
  | { readonly kind: 'answer'; readonly output: Json }
  | { readonly kind: 'resolved'; readonly resolution: Resolution }
  | { readonly kind: 'handed'; readonly workers: readonly WorkerResult[] }
  | { readonly kind: 'agent'; readonly agentId: string; readonly result: Json; readonly confidence?: number }
  /** What a gate says of a result that nothing is made of. */
  | {
      readonly kind: 'judged'
      readonly verdict: DwsVerdict | 'none'
      readonly artifactId?: string
      readonly confidence?: number
    }

export const completed = (outputs: JsonObject = {}, writes: readonly Write[] = []): NodeStep =>
  writes.length > 0 ? { kind: 'completed', outputs, writes } : { kind: 'completed', outputs }

export const failedStep = (error: Failure): NodeStep => ({ kind: 'failed', error })
