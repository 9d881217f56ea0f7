import type { ScheduleArm } from '../../core/arm/arm.js'
import { type ProblemCode, type Refusal, refuse } from '../../core/problem.js'
import { closestName } from '../../core/schema/suggest.js'
import type { Calendar } from '../ports/calendar.js'
import type { Clock } from '../ports/clock.js'

/** Why a schedule cannot be kept here: its time zone is unknown, or its first time is further away than this host plans. */
export function untimely(
  { calendar, clock }: { readonly calendar: Calendar; readonly clock: Pick<Clock, 'now'> },
  horizonMs: number,
  { cron, timezone, jitterMs }: ScheduleArm,
  { field, otherwise }: { readonly field: string; readonly otherwise: ProblemCode },
): Refusal | undefined {
  if (!calendar.hasZone(timezone)) {
    const area = timezone.slice(0, 3).toLowerCase()
    const near = calendar.zones().filter(name => name.slice(0, 3).toLowerCase() === area)
    const close = closestName(timezone, near)
    const hint = close === undefined ? 'give one such as Europe/Berlin or UTC' : `did you mean ${close}?`
    const message = `${field}.timezone is "${timezone}", and that is no time zone that this host knows; ${hint}`
    return refuse(otherwise, message, { field: `${field}.timezone` })
  }
  const now = clock.now()
  const { next } = calendar.ticks({ cron, timezone }, { after: now, until: now, latest: 1 })
  if (next !== null && next + jitterMs <= now + horizonMs) return undefined
  const days = horizonMs / 86_400_000
  const first = next === null ? 'matches no time within ten years' : `first matches at ${new Date(next).toISOString()}`
  const message = `${field}.cron is "${cron}", which ${first}; this host plans ${days} days ahead (scheduling.horizonDays), so give it a time that comes sooner`
  return refuse('schedule_horizon_exceeded', message, { field: `${field}.cron`, horizonDays: days })
}
