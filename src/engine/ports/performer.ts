import type { SystemCall } from '../../core/invocation/system-call.js'
import type { EntriesRead, EntryMade } from '../../core/journal/entry.js'
import type { Json } from '../../core/json.js'
import type { ActingFrom } from '../../core/run/effects.js'
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

/**
 * Does what a node without an agent is there for. `id` is the effect's identity (contract core §4.2): the same on every try.
 * Never throws; what went wrong is part of the answer. What it tells has been redacted.
 */
export interface StepActor {
  act(call: ActingCall): Promise<Acted>
}

export type ActingCall = {
  readonly id: string
  /** W3C trace context of the run and this effect, for whatever is sent. */
  readonly traceparent: string
  readonly input: Json
  readonly signal: AbortSignal
  /** The same effect was begun before, and nobody knows what came of it. */
  readonly again: boolean
  /** Whether it may be done again when nobody knows what came of it. */
  readonly repeat: RepeatPolicy
  readonly seat: ActingSeat
}

export type ActingSeat = ActingFrom & { readonly tenant: string; readonly runId: string; readonly nodeId: string }

/**
 * What came of it: what the run is to write down, what it has read, the tool that was called; what was said of it meanwhile, and the
 * code that did it.
 */
export type Acted =
  | {
      readonly ok: true
      readonly output: Json
      readonly entries?: readonly EntryMade[]
      readonly read?: readonly EntriesRead[]
      readonly call?: SystemCall
      readonly said?: readonly string[]
      readonly codeDigest?: string
    }
  | {
      readonly ok: false
      readonly code: string
      readonly message: string
      readonly retryable: boolean
      readonly call?: SystemCall
      readonly said?: readonly string[]
      readonly codeDigest?: string
    }
