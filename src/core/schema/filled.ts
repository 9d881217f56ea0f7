import type { TSchema } from 'typebox'
import { Check } from 'typebox/value'
import { isObject, type Json } from '../json.js'
import type { Shape } from './shape.js'

/**
 * A value that fits, with the schema's defaults where nothing was said and its fields in the schema's order: documents
 * that say the same are the same text. What the schema says nothing about stays as it is, names such as `__proto__`
 * included; the value that was given is not changed.
 */
export function filledBy(shape: Shape, value: Json): Json {
  if (shape.anyOf) {
    const meant = shape.anyOf.find(branch => Check(branch as TSchema, value))
    return meant ? filledBy(meant, value) : value
  }
  const { items, properties } = shape
  if (Array.isArray(value)) return items ? (value as readonly Json[]).map(item => filledBy(items, item)) : value
  if (!isObject(value) || !properties) return value
  const fields = Object.entries(properties).flatMap(([name, part]): [string, Json][] => {
    const given = Object.hasOwn(value, name) ? value[name] : (part.default as Json | undefined)
    return given === undefined ? [] : [[name, filledBy(part, given)]]
  })
  const others = Object.entries(value).filter(([name]) => !Object.hasOwn(properties, name))
  return Object.fromEntries([...fields, ...others])
}
