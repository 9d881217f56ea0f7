import { evolve } from './evolve.js'
import type { Recorded, RunEvent } from './event.js'
import type { Plan } from './plan.js'
import type { Active, RunState } from './state.js'

/** Ceilings of the host; a run's own configuration can only lower them. */
export type Limits = {
  readonly maxNodeExecutions: number
  readonly maxRunDurationMs: number
  readonly maxDepth: number
}

/** What the rules of one decision share: the plan, and the state as it is after the events decided so far. */
export class Turn {
  readonly events: Recorded[] = []
  readonly at: number

  constructor(
    readonly plan: Plan,
    readonly limits: Limits,
    public state: RunState,
    readonly runId: string,
    now: number,
  ) {
    this.at = state.phase === 'absent' ? now : Math.max(now, state.lastAt)
  }

  /** Decides one event and returns its sequence. */
  emit(event: RunEvent): number {
    const sequence = this.state.phase === 'absent' ? 0 : this.state.next
    const { type, nodeId, payload, secret, cause } = event
    // Every event has the same shape, present or not: this is the hottest line of the host.
    const recorded = { runId: this.runId, sequence, at: this.at, type, nodeId, payload, secret, cause } as Recorded
    this.events.push(recorded)
    this.state = evolve(this.plan, this.state, recorded)
    return sequence
  }

  /** The state of a run that is known to be under way. */
  get active(): Active {
    if (this.state.phase !== 'active') throw new Error(`run ${this.runId} is ${this.state.phase}, not active`)
    return this.state
  }

  get isRunning(): boolean {
    return this.state.phase === 'active' && this.state.mode.kind === 'running'
  }
}
