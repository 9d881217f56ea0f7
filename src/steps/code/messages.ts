import type { Json, JsonObject } from '../../core/json.js'
import type { RepeatPolicy } from '../../core/run/events.js'

/** What the host and the process of a step say to each other: lines of JSON, over a pipe in each direction. */

/** What a run pins of a step: were it another, the run would not be the one that was started. */
export type StepContract = {
  readonly input: JsonObject
  readonly output: JsonObject
  readonly repeat: RepeatPolicy
}

/** What a file of `steps/` exports, but for its code. */
export type StepShown = StepContract & {
  readonly secrets: { readonly [name: string]: JsonObject }
  readonly timeoutMs: number
}

export type FromStep =
  | { readonly say: 'loaded'; readonly step: StepShown }
  | { readonly say: 'workflow'; readonly definition: JsonObject }
  | { readonly say: 'unusable'; readonly problem: string }
  | { readonly say: 'ask'; readonly id: number; readonly what: StepQuestion; readonly args: Json }
  | { readonly say: 'progress'; readonly text: string }
  | { readonly say: 'done'; readonly output: Json }
  | { readonly say: 'failed'; readonly message: string; readonly retryable: boolean }

export const ASKED = [
  'memory.get',
  'memory.list',
  'memory.put',
  'workspace.read',
  'workspace.list',
  'workspace.write',
  'workspace.remove',
  'fetch',
] as const
export type StepQuestion = (typeof ASKED)[number]

export type ToStep =
  | { readonly say: 'run'; readonly call: StepTask }
  | { readonly say: 'answer'; readonly id: number; readonly value: Json }
  | { readonly say: 'refusal'; readonly id: number; readonly problem: string }
  | { readonly say: 'stop' }

export type StepTask = {
  readonly input: Json
  readonly effectId: string
  readonly runId: string
  readonly nodeId: string
  readonly traceparent: string
  readonly secrets: { readonly [name: string]: string }
}

/** What a file is loaded as. */
export const KINDS = ['step', 'workflow'] as const
export type FileKind = (typeof KINDS)[number]

/** The pipes, by their numbers in the child. */
export const TO_HOST = 3
export const FROM_HOST = 4
