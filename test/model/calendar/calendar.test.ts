import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cronCalendar } from '../../../src/calendar/cron-calendar.js'
import { cronProblem } from '../../../src/core/arm/cron.js'
import { isThorough } from '../../support/thorough.js'
import { changesOf, type Minute, minutesOf, ticksOf } from './year.js'
import '../../support/seed.js'

/**
 * Cron in time zones against a wall clock that is read every minute of a year (`year.ts`).
 */

const YEAR = 2027
/** Changes of an hour in both hemispheres, one of half an hour, one at midnight, odd offsets, and none at all. */
const ZONES = [
  'Europe/Berlin',
  'America/New_York',
  'Australia/Lord_Howe',
  'America/Santiago',
  'Asia/Kathmandu',
  'UTC',
] as const

const clocks = new Map<string, { minutes: Minute[]; changes: number[] }>()
const clockIn = (zone: string) => {
  const minutes = clocks.get(zone)?.minutes ?? minutesOf(zone, YEAR)
  const known = clocks.get(zone) ?? { minutes, changes: changesOf(minutes) }
  clocks.set(zone, known)
  return known
}
const minutesIn = (zone: string): Minute[] => clockIn(zone).minutes

const DAY = 86_400_000
const START = Date.UTC(YEAR, 0, 1)
const END = Date.UTC(YEAR + 1, 0, 1)
const calendar = cronCalendar()

/** As a host goes through them: one after the other. */
function walked(cron: string, timezone: string, from: number, to: number): number[] {
  const ticks: number[] = []
  for (let at: number | null = from - 1; ; ) {
    at = calendar.ticks({ cron, timezone }, { after: at, until: at, latest: 1 }).next
    if (at === null || at >= to) return ticks
    ticks.push(at)
  }
}

const expected = (cron: string, zone: string, from: number, to: number): number[] =>
  ticksOf(cron, minutesIn(zone).slice(indexOf(from - DAY), indexOf(to + DAY))).filter(at => at >= from && at < to)

const indexOf = (at: number): number => Math.max(0, Math.floor((at - (START - DAY)) / 60_000))

const shown = (ticks: readonly number[]): string[] => ticks.map(at => new Date(at).toISOString())

const BY_HAND = [
  '30 2 * * *',
  '0 2 * * *',
  '15 2 * * *',
  '45 1 * * *',
  '30 1 * * *',
  '0 0 * * *',
  '30 0 * * *',
  '*/30 * * * *',
  '0 * * * *',
  '0 2-3 * * *',
  '30 1,2 * * *',
  '*/15 1-2 * * SUN',
  '15 30 2 * * *',
  '59 59 23 * * *',
  '0 12 28 2 *',
  '0 12 31 * *',
  '0 9 1 * MON',
  '0 9 13 * 5',
  '0 9 * * MON-FRI',
  '0 9 * JAN,JUL 7',
  '0 0 1 */3 *',
]

/** The whole year, or where there are too many ticks for that, the days around each change of clocks. */
function stretchesOf(cron: string, zone: string): [number, number][] {
  const { minutes, changes } = clockIn(zone)
  if (ticksOf(cron, minutes).length < 1_500) return [[START, END]]
  return [START + DAY, ...changes].map(at => [at - DAY, at + DAY])
}

describe('a year of ticks', () => {
  test.each(ZONES.flatMap(zone => BY_HAND.map(cron => [cron, zone] as const)))('of %s in %s', (cron, zone) => {
    for (const [from, to] of stretchesOf(cron, zone)) {
      const ticks = expected(cron, zone, from, to)
      expect(ticks.length).toBeGreaterThan(0)
      expect(shown(walked(cron, zone, from, to))).toEqual(shown(ticks))
    }
  })

  test('and the year has the changes of clocks that it is there for', () => {
    expect(ZONES.map(zone => clockIn(zone).changes.length)).toEqual([2, 2, 2, 2, 0, 0])
    // Of half an hour, and of the hour after midnight.
    const [gap] = clockIn('Australia/Lord_Howe').changes.slice(-1)
    const index = minutesIn('Australia/Lord_Howe').findIndex(({ at }) => at === gap)
    const around = minutesIn('Australia/Lord_Howe').slice(index - 1, index + 1)
    expect(around.map(({ minute }) => minute)).toEqual([119, 150])
  })

  test('a daily job runs once on every day, also on those that lack its time or have it twice', () => {
    for (const zone of ZONES) {
      const ticks = walked('30 2 * * *', zone, START, END)
      const days = minutesIn(zone).filter(({ at }) => at >= START && at < END)
      const dates = new Set(days.map(({ date }) => date))
      expect(Math.abs(ticks.length - dates.size)).toBeLessThanOrEqual(1)
      expect(ticks.length).toBe(365)
    }
  })
})

/** What people write, and what nobody does: every form that the grammar has. */
const item = (from: number, to: number): fc.Arbitrary<string> => {
  const value = fc.integer({ min: from, max: to })
  const range = fc.tuple(value, value).map(([a, b]) => `${Math.min(a, b)}-${Math.max(a, b)}`)
  const step = fc.integer({ min: 1, max: Math.min(to, to - from + 1) })
  return fc.oneof(
    { weight: 4, arbitrary: value.map(String) },
    { weight: 2, arbitrary: range },
    { weight: 2, arbitrary: step.map(n => `*/${n}`) },
    { weight: 1, arbitrary: fc.tuple(range, step).map(([r, n]) => `${r}/${n}`) },
  )
}
const field = (from: number, to: number, open: number): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: open, arbitrary: fc.constant('*') },
    { weight: 4, arbitrary: item(from, to) },
    { weight: 1, arbitrary: fc.array(item(from, to), { minLength: 2, maxLength: 4 }).map(items => items.join(',')) },
  )

const expression = fc
  .tuple(
    fc.option(item(0, 59), { nil: undefined }),
    field(0, 59, 1),
    // Where clocks change.
    fc.oneof(field(0, 23, 2), fc.constantFrom('0', '1', '2', '3', '1-2', '0,1,2', '2,3')),
    field(1, 31, 6),
    field(1, 12, 8),
    fc.oneof(field(0, 7, 8), fc.constantFrom('SUN', 'MON-FRI', 'sat,SUN', '7', '0', '5-7')),
  )
  .map(parts => parts.filter(part => part !== undefined).join(' '))

const RUNS = isThorough ? 10_000 : 400

describe('expressions by chance', () => {
  test('mean the same ticks to the calendar and to the wall clock', () => {
    const seen = { ticks: 0, changes: 0, whole: 0 }
    const window = fc.record({
      zone: fc.constantFrom(...ZONES),
      atChange: fc.boolean(),
      which: fc.integer({ min: 0, max: 1 }),
      day: fc.integer({ min: 1, max: 360 }),
    })
    fc.assert(
      fc.property(expression, window, (cron, { zone, atChange, which, day }) => {
        expect(cronProblem(cron)).toBeUndefined()
        const change = clockIn(zone).changes[which]
        const isSparse = ticksOf(cron, minutesIn(zone)).length < 500
        const middle = atChange && change !== undefined ? change : START + day * DAY
        const [from, to] = isSparse ? [START, END] : [middle - DAY / 3, middle + DAY / 3]
        const ticks = expected(cron, zone, from, to)
        expect(shown(walked(cron, zone, from, to))).toEqual(shown(ticks))
        seen.ticks += ticks.length
        if (isSparse) seen.whole += 1
        if (atChange && change !== undefined && ticks.some(at => Math.abs(at - change) < 7_200_000)) seen.changes += 1
      }),
      { numRuns: RUNS },
    )
    expect(seen.ticks).toBeGreaterThan(RUNS * 10)
    expect(seen.changes).toBeGreaterThan(RUNS / 20)
    expect(seen.whole).toBeGreaterThan(RUNS / 5)
  })

  test('after a silence, however long, the latest ticks are brought, and whether there were more', () => {
    const seen = { more: 0, none: 0, some: 0 }
    const silence = fc.record({
      zone: fc.constantFrom(...ZONES),
      from: fc.integer({ min: START, max: END - 2 * DAY }),
      forMs: fc.oneof(fc.integer({ min: 0, max: 2 * DAY }), fc.integer({ min: 0, max: 100 * DAY })),
      latest: fc.integer({ min: 1, max: 20 }),
    })
    fc.assert(
      fc.property(expression, silence, (cron, { zone, from, forMs, latest }) => {
        const until = Math.min(from + forMs, END - DAY)
        const all = ticksOf(cron, minutesIn(zone))
        const missed = all.filter(at => at > from && at <= until)
        const next = all.find(at => at > until)
        const found = calendar.ticks({ cron, timezone: zone }, { after: from, until, latest })
        expect(shown(found.ticks)).toEqual(shown(missed.slice(-latest)))
        expect(found.more).toBe(missed.length > latest)
        // What lies after the year is the next year's to say.
        if (next !== undefined) expect(found.next).toBe(next)
        seen[found.more ? 'more' : missed.length === 0 ? 'none' : 'some'] += 1
      }),
      { numRuns: RUNS },
    )
    for (const count of Object.values(seen)) expect(count).toBeGreaterThan(RUNS / 30)
  })
})
