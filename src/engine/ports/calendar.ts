/**
 * Cron expressions and time zones (docs/design/arm.md). Zone data differs between releases of Node.js, and with it what a
 * calendar answers: whoever acts by an answer records it.
 */
export interface Calendar {
  /** Whether zone data is there for the name. */
  hasZone(timezone: string): boolean
  /** Their names; those that are only other names of one are left out. */
  zones(): readonly string[]
  ticks(times: CronTimes, wanted: TicksWanted): TicksFound
}

/** An expression that `cronProblem` lets pass, in a zone that the calendar has. */
export type CronTimes = { readonly cron: string; readonly timezone: string }

export type TicksWanted = {
  /** Only ticks after this instant. */
  readonly after: number
  /** What is up to here has come. */
  readonly until: number
  /** How many of those to bring; at least 1. */
  readonly latest: number
}

export type TicksFound = {
  /** Of the ticks after `after` and not after `until` the latest, in rising order. */
  readonly ticks: readonly number[]
  /** There were others before them. */
  readonly more: boolean
  /** The first after `until`; null where none comes within ten years. */
  readonly next: number | null
}
