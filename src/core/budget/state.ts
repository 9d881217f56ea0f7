import type { Asked } from '../interrupt/state.js'
import type { ModelReply } from '../invocation/brief.js'
import type { EnvelopeReason } from '../invocation/events.js'
import type { Failure } from '../problem.js'

/** A step that a ceiling has stopped, with what it needs besides the state of the run. */
export type StoppedStep =
  /** These are chosen anew from the state. */
  | { readonly is: 'model-call' | 'tool-call' | 'hand-over' | 'verifiers' }
  /** What a model has said is not made anything of: its provider has billed more than was set aside. */
  | ({ readonly is: 'answer'; readonly requested: number } & Pick<ModelReply, 'said' | 'usage'>)
  /** A model is to be asked again. */
  | {
      readonly is: 'ask-again'
      readonly reason: EnvelopeReason
      readonly error: Failure
      readonly correction?: string
      readonly cause: number
    }
  /** A node is to be tried again. */
  | { readonly is: 'retry'; readonly error: Failure; readonly cause: number }

/** A node whose next step waits for a person to say whether the run may spend more. */
export type Halted = {
  readonly step: StoppedStep
  /** The question that it waits with; several nodes may wait with one. */
  readonly interruptId: string
  readonly at: number
  /** In the node that asks, until it is answered. */
  readonly asked?: Asked
}
