import type { Brief, PromptsTold } from '../../core/invocation/brief.js'
import type { EnvelopeKind } from '../../core/replay/events.js'
import type { PrepareAgentRequest } from './agents.js'

/**
 * What this host would say today to what a run was told before, for a replay to compare.
 *
 *  D1  To answer is to look at what lies on the host. Nothing is called, sent or written, so that a replay that asks
 *      still cannot reach the world.
 *  D2  Undefined where there is nothing to compare: then the record stands.
 */
export interface Today {
  /** The prompts that an agent would be given; `before` is what it was. Undefined when it, or a prompt, is not there any more. */
  prompts(ask: PrepareAgentRequest, before: Brief): PromptsTold | undefined
  /** What the program of the provider `mock` has for a call; undefined without one. */
  envelope(call: ProgrammedCall): EnvelopeKind | undefined
}

export type ProgrammedCall = { readonly tenant: string; readonly nodeId: string; readonly call: number }

/** What the provider `mock` says to a call, and how its answer ends. */
export type ProgramEntry = {
  readonly content: string
  readonly stopReason: 'end_turn' | 'max_tokens' | 'safety'
}

/** Entries go by the number of the call within its invocation, so that they are the same for whoever asks again. */
export interface Programs {
  /** Undefined when the node has no program; null when its program is shorter. */
  entry(call: ProgrammedCall): ProgramEntry | null | undefined
}

export const NOTHING_TODAY: Today = { prompts: () => undefined, envelope: () => undefined }
