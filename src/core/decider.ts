import type { Refusal } from './problem.js'

/**
 * A stream's rules, and nothing else.
 *
 * `decide` holds every rule and writes nothing; `evolve` holds no rule and refuses nothing; `pending` derives what the
 * world still owes the stream. A crash therefore loses nothing but work: fold the log, ask `pending`, go on.
 */
export type Decider<State, Input, Recorded, Effect> = {
  readonly initial: State
  evolve(state: State, event: Recorded): State
  decide(state: State, input: Input): Decision<State, Recorded>
  pending(state: State): readonly Effect[]
}

/** A refusal is a value; it never throws and never writes. `state` is what the events fold to. */
export type Decision<State, Recorded> =
  | {
      readonly ok: true
      readonly events: readonly Recorded[]
      readonly state: State
      /** What it took to decide, in steps (`core/meter.ts`); where that was not counted, absent. */
      readonly steps?: number
    }
  | { readonly ok: false; readonly refusal: Refusal }

export const fold = <State, Recorded>(
  evolve: (state: State, event: Recorded) => State,
  state: State,
  events: Iterable<Recorded>,
): State => {
  let next = state
  for (const event of events) next = evolve(next, event)
  return next
}
