import type { Expression, Scope } from './expression.js'
import type { Interrupt, Resolution } from './interrupt.js'
import type { Json, JsonObject } from './json.js'
import type { Failure } from './problem.js'
import type { TriggerRule, WorkflowNode } from './run/definition.js'
import type { Wait } from './run/event.js'

/**
 * A kind of node: pure rules for what it does when it starts and when what it waited for has come. Each lives in its
 * own file under `nodes/`; the registry is generated from that folder.
 */
export type NodeType = {
  readonly typeId: string
  /** What is wrong with this node's configuration; each entry names the field and the fix. */
  check?(node: WorkflowNode): readonly string[]
  /** CEL sources in the configuration, by name; parsed when the workflow is registered. */
  expressions?(config: JsonObject): { readonly [name: string]: string }
  /** Ports of which only one is chosen per completion; edges from the others are dead. */
  readonly ports?: readonly string[]
  chosenPort?(outputs: JsonObject): string
  /** Rule of inbound edges that name none. */
  readonly defaultRule?: TriggerRule
  /** Edges may lead back to this node; on each completion through `body` its body runs again. */
  readonly loops?: true
  /** Host capabilities without which the node must not run. */
  readonly requires?: readonly string[]
  start(ctx: NodeContext): Step
  settle?(ctx: NodeContext, wait: Wait, outcome: WaitOutcome): Step
}

export type NodeContext = {
  readonly node: WorkflowNode
  readonly config: JsonObject
  /** Resolved input ports. */
  readonly inputs: JsonObject
  readonly attempt: number
  /** Failed attempts of this execution so far. */
  readonly failures: number
  /** Completions of this node since its enclosing loop last began: 0 the first time. */
  readonly iteration: number
  /** Fresh starts of this node in the whole run: numbers its effects. */
  readonly ordinal: number
  readonly variables: JsonObject
  readonly channels: JsonObject
  readonly runInputs: JsonObject
  readonly configurable: JsonObject
  /** Outputs of the completed nodes that lead here, by node id, in definition order. */
  readonly inbound: JsonObject
  readonly maxLoopbackIterations: number
  /** Whether any edge leaves this port of the node. */
  wired(port: string): boolean
  /** The schema a declared channel holds its writes to. */
  channelSchema(channel: string): JsonObject | undefined
  /** The parsed expression of that name, and the data to evaluate it over. */
  expression(name: string): Expression
  readonly scope: Scope
}

export type Step =
  | { readonly kind: 'completed'; readonly outputs: JsonObject; readonly writes?: readonly Write[] }
  | { readonly kind: 'failed'; readonly error: Failure; readonly writes?: readonly Write[] }
  | { readonly kind: 'waiting'; readonly wait: Wait }
  | { readonly kind: 'asking'; readonly interrupt: Interrupt }

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

export type WaitOutcome =
  | { readonly kind: 'timer' }
  | { readonly kind: 'answer'; readonly output: Json }
  | { readonly kind: 'resolved'; readonly resolution: Resolution }
  | {
      readonly kind: 'child'
      readonly childRunId: string
      readonly status: 'completed' | 'failed' | 'cancelled'
      readonly variables: JsonObject
      /** Names among them that must not be seen. */
      readonly hidden: readonly string[]
      readonly error?: Failure
    }

export const completed = (outputs: JsonObject = {}, writes: readonly Write[] = []): Step =>
  writes.length > 0 ? { kind: 'completed', outputs, writes } : { kind: 'completed', outputs }

export const failedStep = (error: Failure): Step => ({ kind: 'failed', error })
