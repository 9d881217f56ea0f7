import { isObject, type Json, own } from '../../core/json.js'

/**
 * Checks of what people write into files. A check returns what is wrong, each the rest of a sentence that begins with
 * the file's name: which field, what it must be, what it is.
 */
export type Check = (value: Json, field: string) => readonly string[]

export const text =
  (must: string, accepts: (text: string) => boolean): Check =>
  (value, field) =>
    typeof value === 'string' && accepts(value) ? [] : [wrong(field, must, value)]

export const textOf = (min: number, max: number): Check =>
  text(`text of ${min} to ${max} characters`, ({ length }) => length >= min && length <= max)

export const oneOf = (words: readonly string[]): Check =>
  text(`one of ${words.join(', ')}`, word => words.includes(word))

export const numberFrom =
  (min: number, max: number): Check =>
  (value, field) =>
    typeof value === 'number' && value >= min && value <= max
      ? []
      : [wrong(field, `a number from ${min} to ${max}`, value)]

export const flag: Check = (value, field) => (typeof value === 'boolean' ? [] : [wrong(field, 'true or false', value)])

export const anything: Check = () => []

export const anyObject: Check = (value, field) => (isObject(value) ? [] : [wrong(field, 'an object', value)])

export const listOf =
  (item: Check, max: number): Check =>
  (value, field) => {
    if (!Array.isArray(value) || value.length > max) return [wrong(field, `a list of at most ${max}`, value)]
    return (value as readonly Json[]).flatMap((entry, index) => item(entry, `${field}[${index}]`))
  }

/** No two entries alike. */
export const distinct =
  (list: Check): Check =>
  (value, field) => {
    const problems = list(value, field)
    if (problems.length > 0 || !Array.isArray(value)) return problems
    const twice = (value as readonly Json[]).find((entry, index) => value.indexOf(entry) !== index)
    return twice === undefined ? [] : [`${field} has ${shown(twice)} twice; keep one of them`]
  }

/** An object whose names are the author's own. */
export const mapOf =
  (item: Check): Check =>
  (value, field) => {
    if (!isObject(value)) return [wrong(field, 'an object', value)]
    return Object.entries(value).flatMap(([name, entry]) => item(entry, `${field}.${name}`))
  }

/** An object with these fields and no others. */
export const closed =
  (fields: { readonly [name: string]: Check }, required: readonly string[] = []): Check =>
  (value, field) => {
    const at = (name: string): string => (field === '' ? name : `${field}.${name}`)
    if (!isObject(value)) return [wrong(field === '' ? 'the document' : field, 'an object', value)]
    const missing = required
      .filter(name => own(value, name) === undefined)
      .map(name => `${at(name)} is missing; add it`)
    const present = Object.entries(value).flatMap(([name, entry]) => {
      const check = own(fields, name)
      if (check !== undefined) return check(entry, at(name))
      return [`${at(name)} is not a field here; remove it, or use one of ${Object.keys(fields).join(', ')}`]
    })
    return [...missing, ...present]
  }

const wrong = (field: string, must: string, value: Json): string => `${field} must be ${must}; it is ${shown(value)}`

const SHORT = 60

/** The value, where it is short enough to be no text that somebody wrote for an agent. */
export function shown(value: Json): string {
  if (Array.isArray(value)) return `a list of ${value.length}`
  if (isObject(value)) return 'an object'
  if (typeof value === 'string' && value.length > SHORT) return `text of ${value.length} characters`
  return JSON.stringify(value)
}
