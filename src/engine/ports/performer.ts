import type { Json } from '../../core/json.js'

/**
 * Performs one kind of outside effect. `id` is the effect's identity (contract core §4.2): the same on every try, so
 * the provider can drop a repetition. Never throws; what went wrong is part of the answer.
 */
export interface Performer {
  perform(call: {
    id: string
    /** W3C trace context of the run and this effect, for whatever is sent. */
    traceparent: string
    input: Json
    signal: AbortSignal
    /** Events of the run that the effect may look back on, where it asked for them. */
    transcript?: readonly TranscriptEvent[]
  }): Promise<EffectAnswer>
}

/** An event as readers of the log see it. */
export type TranscriptEvent = {
  readonly sequence: number
  readonly type: string
  readonly nodeId?: string
  readonly payload: Json
}

/** What came of an effect. What is `retryable` is tried again as the node's retry policy has it. */
export type EffectAnswer =
  | { readonly ok: true; readonly output: Json }
  | { readonly ok: false; readonly code: string; readonly message: string; readonly retryable: boolean }
