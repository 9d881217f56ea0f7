import type { SystemCall } from '../../core/invocation/system-call.js'
import type { Desk, EntriesRead, EntryMade } from '../../core/journal/entry.js'
import type { Json } from '../../core/json.js'
import type { RepeatPolicy } from '../../core/run/events.js'

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
    /** The same effect was begun before, and nobody knows what came of it. */
    again?: boolean
    /** Whether it may be performed again when nobody knows what came of it. */
    repeat?: RepeatPolicy
    /** Of what the host performs itself: where the node acts from. */
    seat?: ActingSeat
  }): Promise<EffectAnswer>
}

/** An event as readers of the log see it. */
export type TranscriptEvent = {
  readonly sequence: number
  readonly type: string
  readonly nodeId?: string
  readonly payload: Json
}

/** Where a node acts from: for whom, within which scopes, and what of memory and workspace it sees. */
export type ActingSeat = {
  readonly tenant: string
  readonly runId: string
  readonly nodeId: string
  readonly principal: string
  readonly scopes: readonly string[]
  readonly desk: Desk
}

/** What came of an effect. What is `retryable` is tried again as the node's retry policy has it. */
export type EffectAnswer =
  | {
      readonly ok: true
      readonly output: Json
      /** Of what the host performs itself: what the run is to write down, what it has read, and the tool that was called. */
      readonly entries?: readonly EntryMade[]
      readonly read?: readonly EntriesRead[]
      readonly call?: SystemCall
    }
  | {
      readonly ok: false
      readonly code: string
      readonly message: string
      readonly retryable: boolean
      readonly call?: SystemCall
    }
