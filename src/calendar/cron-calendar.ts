import { Cron } from 'croner'
import type { Calendar, CronTimes } from '../engine/ports/calendar.js'
import { Lru } from '../lru.js'

const KEPT = 1_000
const REACH_YEARS = 10

/**
 * The calendar over `croner`, of which only the computation of occurrences is used: no job, no timer. Its rules where clocks
 * change are those of Vixie cron, which are ours (docs/design/arm.md); `test/model/calendar` holds them against a model.
 */
export function cronCalendar(): Calendar {
  const parsed = new Lru<Cron>(KEPT)

  /** How far it looks is part of the key: an expression that never matches must not be looked for in all of time. */
  const jobOf = ({ cron, timezone }: CronTimes, until: number): Cron => {
    const end = new Date(until).getUTCFullYear() + REACH_YEARS + 1
    const key = `${end} ${timezone} ${cron}`
    const known = parsed.get(key)
    if (known !== undefined) return known
    const stopAt = new Date(Date.UTC(end, 0, 1))
    const job = new Cron(cron, { timezone, stopAt, mode: '5-or-6-parts', paused: true })
    parsed.set(key, job)
    return job
  }

  return {
    hasZone(timezone) {
      try {
        return new Intl.DateTimeFormat('en', { timeZone: timezone }).resolvedOptions().timeZone !== ''
      } catch (error) {
        if (error instanceof RangeError) return false
        throw error
      }
    },

    zones: () => Intl.supportedValuesOf('timeZone'),

    ticks(times, { after, until, latest }) {
      const job = jobOf(times, until)
      const ticks: number[] = []
      for (let at = after; ; ) {
        const next = job.nextRun(new Date(at))?.getTime() ?? null
        if (next === null || next > until) return { ticks, more: false, next }
        ticks.push(next)
        at = next
        if (ticks.length > latest) break
      }
      // Too many to go through one by one: the latest are found from the other end.
      const before = new Date(Math.floor(until / 1_000) * 1_000 + 1_000)
      const found = job.previousRuns(latest, before).map(date => date.getTime())
      const next = job.nextRun(new Date(until))?.getTime() ?? null
      return { ticks: found.sort((a, b) => a - b), more: true, next }
    },
  }
}
