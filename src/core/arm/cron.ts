/**
 * The grammar of cron expressions: what `docs/design/arm.md` says, and no more. Which instants an expression means is the
 * calendar's to say (`engine/ports/calendar.ts`); here is only what can be wrong with the text.
 */

type Field = {
  readonly name: string
  readonly from: number
  readonly to: number
  readonly words?: readonly string[]
}

const MONTHS = ['JAN', 'FEB', 'MAR', 'APR', 'MAY', 'JUN', 'JUL', 'AUG', 'SEP', 'OCT', 'NOV', 'DEC']
const DAYS = ['SUN', 'MON', 'TUE', 'WED', 'THU', 'FRI', 'SAT']

const SECOND: Field = { name: 'second', from: 0, to: 59 }
const FIELDS: readonly Field[] = [
  { name: 'minute', from: 0, to: 59 },
  { name: 'hour', from: 0, to: 23 },
  { name: 'day of the month', from: 1, to: 31 },
  { name: 'month', from: 1, to: 12, words: MONTHS },
  { name: 'day of the week', from: 0, to: 7, words: DAYS },
]

/** Each number of a field named once is as long as anybody needs. */
const LONGEST_EXPRESSION = 400

/** The end of a sentence that begins with the name of the field it stands in; undefined for an expression that is one. */
export function cronProblem(expression: string): string | undefined {
  if (expression.length > LONGEST_EXPRESSION)
    return `must have at most ${LONGEST_EXPRESSION} characters, and has ${expression.length}`
  const parts = expression.split(/\s+/).filter(part => part !== '')
  if (parts.length !== 5 && parts.length !== 6)
    return `must have five fields (minute, hour, day of the month, month, day of the week), or six with seconds before them, and has ${parts.length}; for example "0 9 * * MON-FRI"`
  const fields = parts.length === 6 ? [SECOND, ...FIELDS] : FIELDS
  for (const [i, field] of fields.entries()) {
    const problem = fieldProblem(parts[i]!, field)
    if (problem !== undefined) return `has "${parts[i]}" as its ${field.name}: ${problem}`
  }
  return undefined
}

function fieldProblem(part: string, field: Field): string | undefined {
  for (const item of part.split(',')) {
    const problem = itemProblem(item, field)
    if (problem !== undefined) return problem
  }
  return undefined
}

function itemProblem(item: string, field: Field): string | undefined {
  const [, range = '', step] = /^([^/]*)(?:\/(.*))?$/.exec(item)!
  if (item === '') return 'an item of the list is missing'
  const [low, high] = range.split('-')
  const ends =
    range === '*' ? undefined : [fieldValue(low!, field), high === undefined ? undefined : fieldValue(high, field)]
  if (ends !== undefined) {
    if (range.split('-').length > 2 || ends[0] === null || ends[1] === null) return known(field)
    if (ends[1] !== undefined && ends[0]! > ends[1]!) return 'the range ends before it begins'
  }
  if (step === undefined) return undefined
  if (ends !== undefined && high === undefined) return 'a step is taken of * or of a range, as in */15 or 8-18/2'
  const most = field.words?.length ?? field.to - field.from + 1
  if (!/^\d{1,4}$/.test(step) || Number(step) < 1 || Number(step) > most) return `the step must be from 1 to ${most}`
  return undefined
}

function fieldValue(text: string, { from, to, words = [] }: Field): number | null {
  const named = words.indexOf(text.toUpperCase())
  const value = named >= 0 ? named + from : /^\d{1,2}$/.test(text) ? Number(text) : Number.NaN
  return value >= from && value <= to ? value : null
}

const known = ({ from, to, words }: Field): string =>
  `a value is a number from ${from} to ${to}${words === undefined ? '' : `, or one of ${words.join(', ')}`}`
