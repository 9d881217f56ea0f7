import type { ArmTold } from '../arm/decide.js'
import type { ArmFact } from '../arm/events.js'
import { absent } from '../present.js'
import type { GoalEvent, RecordedGoalEvent } from './events.js'
import { evolveGoal } from './evolve.js'
import { type Goal, type GoalState, isBusy } from './state.js'

/** What the rules of one decision share: the goal as it is after the events decided so far. */
export class GoalContext {
  readonly events: RecordedGoalEvent[] = []
  /** The time of what is decided now. */
  readonly at: number

  constructor(
    public state: GoalState,
    now: number,
  ) {
    this.at = state.phase === 'absent' ? now : Math.max(now, state.lastAt)
  }

  get goal(): Goal {
    return this.state.phase === 'absent' ? absent('goal') : this.state
  }

  /** What its arm is told of the goal. */
  get told(): ArmTold {
    const { goalId, freeSince } = this.goal
    return { stream: goalId, now: this.at, busy: isBusy(this.goal), freeSince }
  }

  emit(event: GoalEvent): void {
    const sequence = this.state.phase === 'absent' ? 0 : this.state.next
    const recorded = { ...event, sequence, at: this.at } as RecordedGoalEvent
    this.events.push(recorded)
    this.state = evolveGoal(this.state, recorded)
  }

  tell(facts: readonly ArmFact[]): void {
    for (const fact of facts) this.emit(fact)
  }
}
