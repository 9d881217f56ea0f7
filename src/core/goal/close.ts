import { armDisarms, armPauses } from '../arm/decide.js'
import { backoff } from '../backoff.js'
import { STREAM_ENDED } from '../standing/stream.js'
import type { BoundName, Escalation, StopReason } from './events.js'
import { type FinalState, MOST_ITERATIONS } from './goal.js'
import type { GoalContext } from './goal-context.js'
import type { Said } from './input.js'
import { workGrantNano } from './money.js'
import { deadlineOf, type Goal, isFinal } from './state.js'

/** What follows when a contributing run has ended, and the ways in which a goal stops going on. */

/** Tries of a judge, or of a start, before a person is asked. */
const MOST_TRIES = 5
const RETRY = { firstMs: 5_000, factor: 3, mostMs: 300_000 }

/**
 * R-GOAL-16, after a contributing run: escalation, then the judge, then bounds. Called whenever something of that may have
 * changed; what is not decided yet is owed (effects.ts).
 */
export function proceed(context: GoalContext): void {
  const { goal } = context
  if (isFinal(goal)) return endStream(context)
  if (goal.mode.is === 'escalated') return
  if (goal.work.is === 'judging') {
    const { runId, judgeable, judge } = goal.work
    if (isStuck(goal) && judge.is === 'owed' && judge.tries === 0)
      return escalate(context, { reason: 'no-progress', runId })
    if (judgeable) return
    // R-GOAL-17: it gave up, was let through by force, or failed. No judge is asked.
    return evaluate(context, runId, { verdict: 'fail' })
  }
  if (goal.work.is !== 'working') checkBounds(context)
}

/** The same has come of it so often in a row that another run would bring it again. */
const isStuck = ({ breaker, same }: Goal): boolean => breaker > 0 && same !== null && same.times >= breaker

/** R-GOAL-10: every judgement is told; the one that says so closes the goal, also where a bound is reached with it. */
export function evaluate(context: GoalContext, runId: string, { verdict, confidence, score, record }: Said): void {
  const { goalId, finished: iterations, version } = context.goal
  const satisfied = verdict === 'pass'
  context.emit({
    type: 'goal.evaluated',
    payload: { goalId, satisfied, ...(confidence === undefined ? {} : { confidence }), runId, iterations },
    secret: { version, ...(score === undefined ? {} : { score }), ...(record ? { record } : {}) },
  })
  if (satisfied) return close(context, 'satisfied')
  checkBounds(context)
}

/** R-GOAL-5, R-GOAL-6: nothing more may be started, so the goal closes before it is. */
export function checkBounds(context: GoalContext): void {
  const bound = boundReached(context.goal, context.at)
  if (bound !== undefined) exceed(context, bound)
}

export function boundReached(goal: Goal, at: number): BoundName | undefined {
  if (at >= deadlineOf(goal)) return 'deadline'
  if (goal.reserved >= (goal.bounds.maxLoopIterations ?? MOST_ITERATIONS)) return 'iterations'
  return workGrantNano(goal) === 0 ? 'cost' : undefined
}

export function exceed(context: GoalContext, bound: BoundName): void {
  context.emit({ type: 'assay.goal.bound.reached', payload: { bound } })
  close(context, 'bound-exceeded')
}

/** A final closing: whatever is open is told to stop in this very decision (I6). */
export function close(context: GoalContext, finalState: FinalState): void {
  const { goalId } = context.goal
  context.tell(armDisarms(context.goal.arm))
  context.emit({ type: 'goal.closed', payload: { goalId, finalState } })
  for (const { runId } of context.goal.open) stopRun(context, runId, 'closed')
  endStream(context)
}

export function stopRun(context: GoalContext, runId: string, reason: StopReason): void {
  const open = context.goal.open.find(one => one.runId === runId)
  if (open && !open.isStopping) context.emit({ type: 'assay.goal.run.stopping', payload: { runId, reason } })
}

function endStream(context: GoalContext): void {
  const { phase, open } = context.goal
  if (phase === 'open' && open.length === 0) context.emit({ type: STREAM_ENDED, payload: {} })
}

/** R-GOAL-7: a closing that a person can take back. */
export function escalate(context: GoalContext, why: Escalation): void {
  const { goalId, arm } = context.goal
  context.tell(armPauses(arm))
  context.emit({ type: 'assay.goal.escalated', payload: why })
  context.emit({ type: 'goal.closed', payload: { goalId, finalState: 'escalated' } })
}

/** Not judged, or not started: later once more, and then a person. No iteration is consumed by it. */
export function holdOff(context: GoalContext, what: 'start' | 'judge', tries: number, runId?: string): void {
  const until = context.at + backoff(RETRY, tries)
  context.emit({ type: 'assay.goal.held', payload: { what, tries, until } })
  if (tries < MOST_TRIES) return
  escalate(context, { reason: what === 'judge' ? 'judge-unavailable' : 'cannot-start', ...(runId ? { runId } : {}) })
}
