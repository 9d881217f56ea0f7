import { GATE_QUESTION } from '../verification/record.js'
import { standingAgainst } from '../run/complete.js'
import { type Active, type Ended, isWaiting, nodeAt } from '../run/state.js'
import { questionOf, workersOf } from '../run/waiting.js'
import { planNodeAt, type Plan } from '../workflow/plan.js'
import type { GoalEscalation } from './events.js'

/**
 * R-GOAL-17: whether what a contributing run has left may be put to the judge. Not where it gave up, failed, was let through
 * by force, or has a verdict that stands against it.
 */
export const isJudgeable = ({ outcome, gated }: Ended): boolean =>
  outcome.status === 'completed' &&
  outcome.goalSatisfied !== false &&
  standingAgainst({ ...(gated ? { gated } : {}), gaveUp: [] }).length === 0

/**
 * Why somebody is asked here, where that is a reason for a goal to stop: nobody was sure enough, a gate could not be decided
 * or said no for good, or a supervisor says that it is stuck. Any other question is asked and answered as ever.
 */
export function escalationIn(
  plan: Plan,
  state: Active,
): Extract<GoalEscalation, 'confidence' | 'gate' | 'stuck'> | undefined {
  for (const index of state.open) {
    const asked = questionOf(nodeAt(state, index))
    if (asked === undefined || asked.isBudget) continue
    if (asked.kind === 'low-confidence') return 'confidence'
    if (asked.data.artifactType === GATE_QUESTION) return 'gate'
    if (planNodeAt(plan, index).type.role !== 'supervisor' || state.orchestrator === undefined) continue
    const { kind } = state.orchestrator.decision
    if (kind === 'escalate') return 'stuck'
    // A decision that is carried out asks nobody, unless it is in doubt.
    if (kind === 'next-worker' || kind === 'terminate') return 'confidence'
  }
  return undefined
}

/** The runs below it that wait for somebody. */
export const waitingBelow = (state: Active): readonly string[] =>
  state.open.flatMap(index =>
    workersOf(nodeAt(state, index)).flatMap(worker =>
      worker.is === 'running' && worker.childStatus !== undefined && isWaiting(worker.childStatus)
        ? [worker.childRunId]
        : [],
    ),
  )
