import type { Decider } from '../decider.js'
import { decide, type Rules } from './decide.js'
import { type Effect, pending } from './effects.js'
import type { Recorded } from './events.js'
import { evolve } from './evolve.js'
import type { RunInput } from './input.js'
import type { RunState } from './state.js'

export const runDecider = (rules: Rules): Decider<RunState, RunInput, Recorded, Effect> => ({
  initial: { phase: 'absent' },
  evolve: (state, event) => evolve(rules.plan, state, event),
  decide: (state, input) => decide(rules, state, input),
  pending: state => pending(rules, state),
})
