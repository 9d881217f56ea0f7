import { isObject, type Json, own } from '../core/json.js'

/** The value that a JSON pointer (RFC 6901) leads to: all of it where there is none, undefined where it leads nowhere. */
export function valueAt(value: Json, pointer = ''): Json | undefined {
  const [before, ...steps] = pointer.split('/')
  if (before !== '') return undefined
  let current: Json | undefined = value
  for (const step of steps.map(unescaped)) {
    if (Array.isArray(current)) current = INDEX.test(step) ? current[Number(step)] : undefined
    else current = isObject(current) ? own(current, step) : undefined
  }
  return current
}

const INDEX = /^(?:0|[1-9]\d*)$/

const unescaped = (step: string): string => step.replaceAll('~1', '/').replaceAll('~0', '~')

/** Every text in a value, in the order in which it is written. */
export function stringsIn(value: Json): readonly string[] {
  if (typeof value === 'string') return [value]
  if (Array.isArray(value)) return value.flatMap(stringsIn)
  return isObject(value) ? Object.values(value).flatMap(stringsIn) : []
}
