/**
 * A year in a time zone, minute by minute, as a wall clock there shows it. Written from docs/design/arm.md and with nothing
 * of the calendar: every minute is looked at, and none is computed.
 */

export type Minute = {
  readonly at: number
  /** Year, month and day as one number. */
  readonly date: number
  readonly month: number
  readonly day: number
  readonly weekday: number
  /** Of the day. */
  readonly minute: number
}

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat']

/** From a day before the year (in UTC) until a day after it. */
export function minutesOf(timezone: string, year: number): Minute[] {
  const clock = new Intl.DateTimeFormat('en-US', {
    timeZone: timezone,
    hourCycle: 'h23',
    weekday: 'short',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
  })
  const minutes: Minute[] = []
  const end = Date.UTC(year + 1, 0, 2)
  for (let at = Date.UTC(year - 1, 11, 31); at < end; at += 60_000) {
    // "Thu, 01/29/2026, 14:05"
    const shown = clock.format(at)
    const [month, day] = [Number(shown.slice(5, 7)), Number(shown.slice(8, 10))]
    const date = Number(shown.slice(11, 15)) * 10_000 + month * 100 + day
    const minute = Number(shown.slice(17, 19)) * 60 + Number(shown.slice(20, 22))
    minutes.push({ at, date, month, day, weekday: WEEKDAYS.indexOf(shown.slice(0, 3)), minute })
  }
  return minutes
}

/** Where the wall clock does not go on by one minute: before which of the minutes. */
export const changesOf = (minutes: readonly Minute[]): number[] =>
  minutes.flatMap((now, i) => {
    const before = minutes[i - 1]
    return before === undefined || (before.minute + 1) % 1_440 === now.minute ? [] : [now.at]
  })

type Field = { readonly values: ReadonlySet<number>; readonly isSingle: boolean; readonly isOpen: boolean }

const NAMES: { readonly [name: string]: number } = Object.fromEntries([
  ...['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC'].map((name, i) => [
    name,
    i + 1,
  ]),
  ...WEEKDAYS.map((name, i) => [name.toUpperCase(), i]),
])

function fieldOf(text: string, from: number, to: number): Field {
  const values = new Set<number>()
  const number = (word: string) => NAMES[word.toUpperCase()] ?? Number(word)
  for (const item of text.split(',')) {
    const [range = '', step = '1'] = item.split('/')
    const [low, high] = range === '*' ? [from, to] : range.split('-').map(number)
    for (let value = low!; value <= (high ?? low!); value += Number(step)) values.add(value)
  }
  return { values, isSingle: /^\d+$/.test(text), isOpen: text === '*' }
}

/** Every tick of the expression in these minutes. */
export function ticksOf(expression: string, minutes: readonly Minute[]): number[] {
  const parts = expression.split(' ')
  const [second, minute, hour, day, month, weekday] = (parts.length === 6 ? parts : ['0', ...parts]).map((part, i) =>
    fieldOf(part, [0, 0, 0, 1, 1, 0][i]!, [59, 59, 23, 31, 12, 7][i]!),
  ) as [Field, Field, Field, Field, Field, Field]
  const isDay = (now: Minute): boolean => {
    if (!month.values.has(now.month)) return false
    const ofMonth = day.values.has(now.day)
    const ofWeek = weekday.values.has(now.weekday) || (now.weekday === 0 && weekday.values.has(7))
    if (day.isOpen) return ofWeek
    return weekday.isOpen ? ofMonth : ofMonth || ofWeek
  }
  const isFixed = second.isSingle && minute.isSingle && hour.isSingle
  if (isFixed) {
    const [wanted] = [...hour.values].flatMap(h => [...minute.values].map(m => h * 60 + m))
    const [s] = [...second.values]
    const ticks: number[] = []
    let done = 0
    for (const now of minutes) {
      // The first minute of the day that shows the wanted time; or, where none does, the first that shows a later one.
      if (now.date === done || !isDay(now) || now.minute < wanted!) continue
      done = now.date
      ticks.push(now.minute === wanted ? now.at + s! * 1_000 : now.at)
    }
    return ticks
  }
  const seconds = [...second.values].sort((a, b) => a - b)
  return minutes
    .filter(now => isDay(now) && minute.values.has(now.minute % 60) && hour.values.has(Math.floor(now.minute / 60)))
    .flatMap(({ at }) => seconds.map(s => at + s * 1_000))
}
