import type { JsonObject, Json } from '../json.js'
import type { Failure } from '../problem.js'
import type { DrainPolicy, RunStarted } from './event.js'

/** What can happen to a run. Time is part of every input: the core has no clock. */
export type RunInput = { readonly now: number } & (Command | Outcome)

/** A person or a client asks; may be refused. */
export type Command =
  | {
      readonly type: 'StartRun'
      readonly runId: string
      readonly started: RunStarted
      /** Inputs that carry a secret of the parent, besides those declared sensitive. */
      readonly hiddenInputs?: readonly string[]
    }
  | { readonly type: 'CancelRun'; readonly reason?: string; readonly by: string; readonly parentRunId?: string }
  | { readonly type: 'PauseRun'; readonly drainPolicy: DrainPolicy; readonly reason?: string }
  | { readonly type: 'ResumeRun'; readonly reason?: string }

/**
 * The world answers. `since` is the sequence of the node.started the answer belongs to: an answer to a question that is
 * no longer open decides to nothing, so delivering it twice is harmless.
 */
export type Outcome =
  | { readonly type: 'TimeCame' }
  | { readonly type: 'Continue' }
  | {
      readonly type: 'ChildStarted'
      readonly nodeId: string
      readonly since: number
      readonly childRunId: string
      readonly childWorkflowId: string
    }
  | { readonly type: 'ChildRefused'; readonly nodeId: string; readonly since: number; readonly error: Failure }
  | {
      readonly type: 'ChildEnded'
      readonly nodeId: string
      readonly childRunId: string
      readonly status: 'completed' | 'failed' | 'cancelled'
      readonly variables: JsonObject
      readonly hidden: readonly string[]
      readonly error?: Failure
    }
  | {
      readonly type: 'EffectAnswered'
      readonly nodeId: string
      readonly since: number
      readonly answer: { ok: true; output: Json } | { ok: false; error: Failure }
    }
  | { readonly type: 'Quarantine'; readonly attempts: number }
