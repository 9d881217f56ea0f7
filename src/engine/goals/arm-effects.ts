import type { ArmInput } from '../../core/arm/decide.js'
import type { ArmEffect } from '../../core/arm/effects.js'
import type { Goal } from '../../core/goal/state.js'
import type { GoalInput } from '../../core/goal/input.js'
import type { Put } from '../standing/stream-kind.js'
import type { GoalDeps } from './deps.js'

/** What an arm is owed: ticks of the calendar, or the answer of a predicate. Both are recorded as they were heard. */
export async function performArm(deps: GoalDeps, goal: Goal, effect: ArmEffect): Promise<Put<GoalInput> | undefined> {
  const input = effect.kind === 'find-ticks' ? ticksFound(deps, effect) : await answered(deps, goal, effect)
  return input && { input }
}

function ticksFound({ clock, calendar }: GoalDeps, effect: Extract<ArmEffect, { kind: 'find-ticks' }>): ArmInput {
  const { round, cron, timezone, after, offset, latest } = effect
  const until = Math.max(after, clock.now() - offset)
  const found = calendar.ticks({ cron, timezone }, { after, until, latest })
  return { type: 'TicksFound', round, ...found }
}

async function answered(
  { predicates, log }: GoalDeps,
  { tenant, goalId }: Goal,
  { round, predicate, maxRuntimeMs }: Extract<ArmEffect, { kind: 'ask-predicate' }>,
): Promise<ArmInput | undefined> {
  if (predicates === undefined) return undefined
  try {
    const holds = await predicates.holds(tenant, predicate, maxRuntimeMs)
    return { type: 'PredicateAnswered', round, status: 'ok', holds }
  } catch (error) {
    log.warn({ goalId, error: String(error) }, 'a predicate could not be asked')
    const status = error instanceof Error && error.name === 'TimeoutError' ? 'timeout' : 'error'
    return { type: 'PredicateAnswered', round, status, holds: null }
  }
}
