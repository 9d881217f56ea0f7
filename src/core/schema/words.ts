import { isObject, type Json } from '../json.js'
import type { Shape } from './shape.js'
import { closestName } from './suggest.js'

const QUOTED = 64

/** The value as a message quotes it: short, and never a whole text that somebody wrote. */
export function shownValue(raw: Json): string {
  if (Array.isArray(raw)) return `a list of ${raw.length}`
  if (isObject(raw)) return 'an object'
  if (typeof raw === 'string' && raw.length > QUOTED) return `text of ${raw.length} characters`
  return JSON.stringify(raw)
}

/** `quorum.threshold`, `nodes["a b"]`. */
export function pathTo(at: string, name: string): string {
  const short = name.length > QUOTED ? `${name.slice(0, QUOTED)}…` : name
  if (!/^[A-Za-z_$][\w$-]*$/.test(name)) return `${at}[${JSON.stringify(short)}]`
  return at === '' ? short : `${at}.${short}`
}

/** What the schema takes, as the rest of a sentence that begins "must be". */
export function mustBe(shape: Shape): string {
  if (shape['x-must-be'] !== undefined) return shape['x-must-be']
  if (shape.const !== undefined) return JSON.stringify(shape.const)
  if (shape.enum) return oneOfWords(shape.enum.map(String))
  if (shape.anyOf) {
    const words = shape.anyOf.flatMap(({ const: word }) => (typeof word === 'string' ? [word] : []))
    return words.length === shape.anyOf.length ? oneOfWords(words) : [...new Set(shape.anyOf.map(mustBe))].join(', or ')
  }
  return (
    {
      string: 'text',
      integer: 'a whole number',
      number: 'a number',
      boolean: 'true or false',
      array: 'a list',
      object: 'an object',
      null: 'null',
    }[shape.type ?? ''] ?? 'a value'
  )
}

const oneOfWords = (words: readonly string[]): string =>
  words.length === 1 ? `${words[0]}` : `one of ${words.join(', ')}`

const UNITS: { readonly [unit: string]: number } = {
  ms: 1,
  s: 1_000,
  sec: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
  days: 86_400_000,
}
const DURATION = /^(\d+(?:\.\d+)?)\s*(ms|sec|s|min|m|h|days|d)$/

/** The way out of the commonest slips, as the end of the sentence: quotes, words for flags, lengths of time. */
export function fixOf(shape: Shape, value: Json): string {
  const { type } = shape
  const words = shape.enum ?? shape.anyOf?.map(branch => branch.const ?? null)
  if (typeof value === 'string' && words?.every(word => typeof word === 'string')) {
    const close = closestName(value, words)
    return close === undefined ? '' : `; did you mean ${close}?`
  }
  if (typeof value === 'string' && (type === 'integer' || type === 'number')) {
    const [, amount, unit = ''] = DURATION.exec(value.trim()) ?? []
    const target = shape['x-unit'] === undefined ? undefined : UNITS[shape['x-unit']]
    if (amount !== undefined && target !== undefined) return `; write ${(Number(amount) * (UNITS[unit] ?? 1)) / target}`
    return value.trim() !== '' && Number.isFinite(Number(value)) ? `; write ${Number(value)} without quotes` : ''
  }
  if (type === 'boolean' && typeof value === 'string') {
    const meant = /^(true|yes|on)$/i.test(value) ? 'true' : /^(false|no|off)$/i.test(value) ? 'false' : undefined
    return meant === undefined ? '' : `; write ${meant} without quotes`
  }
  if (type === 'string' && (typeof value === 'number' || typeof value === 'boolean'))
    return `; write ${JSON.stringify(String(value))} in quotes`
  if (type === 'array' && !Array.isArray(value) && !isObject(value) && value !== null)
    return `; write [${shownValue(value)}]`
  return ''
}
