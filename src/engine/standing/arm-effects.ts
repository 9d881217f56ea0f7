import type { ArmInput } from '../../core/arm/decide.js'
import type { ArmEffect } from '../../core/arm/effects.js'
import type { Calendar } from '../ports/calendar.js'
import type { Clock } from '../ports/clock.js'
import type { Predicates } from '../ports/verification.js'

type Time = { readonly clock: Clock; readonly calendar: Calendar }

/** What an arm is owed: ticks of the calendar, or the answer of a predicate. Both are recorded as they were heard. */
export function ticksFound(
  { clock, calendar }: Time,
  effect: Extract<ArmEffect, { kind: 'find-ticks' }>,
): Extract<ArmInput, { type: 'TicksFound' }> {
  const { round, cron, timezone, after, offset, latest } = effect
  const until = Math.max(after, clock.now() - offset)
  const found = calendar.ticks({ cron, timezone }, { after, until, latest })
  return { type: 'TicksFound', round, ...found }
}

/** R-ARM-2: an evaluation has a time limit; one that nobody waits for any more says nothing. */
export async function askPredicate(
  { predicates }: { readonly predicates: Predicates },
  { tenant, stream }: { readonly tenant: string; readonly stream: string },
  { round, predicate, maxRuntimeMs }: Extract<ArmEffect, { kind: 'ask-predicate' }>,
  signal: AbortSignal,
): Promise<Extract<ArmInput, { type: 'PredicateAnswered' }> | undefined> {
  const answer = await predicates.ask({ tenant, stream, predicate, maxRuntimeMs, signal })
  return signal.aborted ? undefined : { type: 'PredicateAnswered', round, ...answer }
}
