/** ISO 8601 text of an instant, by arithmetic alone: the core reads no clock and knows no time zone. */
export function isoTime(at: number): string {
  const day = Math.floor(at / 86_400_000)
  const ms = at - day * 86_400_000
  const { year, month, date } = civil(day)
  const clock = [Math.floor(ms / 3_600_000), Math.floor(ms / 60_000) % 60, Math.floor(ms / 1_000) % 60].map(part =>
    pad(part, 2),
  )
  return `${pad(year, 4)}-${pad(month, 2)}-${pad(date, 2)}T${clock.join(':')}.${pad(Math.floor(ms % 1_000), 3)}Z`
}

const pad = (value: number, width: number): string => String(value).padStart(width, '0')

/** Proleptic Gregorian date of a day count since 1970-01-01, counting years from March so that leap days come last. */
function civil(day: number): { year: number; month: number; date: number } {
  const shifted = day + 719_468
  const era = Math.floor(shifted / 146_097)
  const ofEra = shifted - era * 146_097
  const yearOfEra = Math.floor(
    (ofEra - Math.floor(ofEra / 1_460) + Math.floor(ofEra / 36_524) - Math.floor(ofEra / 146_096)) / 365,
  )
  const ofYear = ofEra - (365 * yearOfEra + Math.floor(yearOfEra / 4) - Math.floor(yearOfEra / 100))
  const fromMarch = Math.floor((5 * ofYear + 2) / 153)
  const month = fromMarch < 10 ? fromMarch + 3 : fromMarch - 9
  const date = ofYear - Math.floor((153 * fromMarch + 2) / 5) + 1
  return { year: yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, date }
}
