import type { TSchema } from 'typebox'
import { isObject, type Json, type JsonObject } from '../json.js'

/** The schema as editors take it: what only our own messages need becomes part of the description, or goes. */
export function jsonSchemaOf(schema: TSchema, title: string): JsonObject {
  const plain = JSON.parse(JSON.stringify(schema)) as JsonObject
  return { $schema: 'http://json-schema.org/draft-07/schema#', title, ...(described(plain) as JsonObject) }
}

function described(value: Json): Json {
  if (Array.isArray(value)) return value.map(described)
  if (!isObject(value)) return value
  const { 'x-must-be': mustBe, 'x-names': names, 'x-unquoted': _secret, 'x-unit': _unit, ...rest } = value
  const parts = [rest.description, mustBe, names].filter(part => typeof part === 'string')
  const inner = Object.fromEntries(
    Object.entries(rest).map(([key, item]) => [
      key,
      isData(key) ? item : NAMED.includes(key) ? each(item) : described(item),
    ]),
  )
  return parts.length === 0 ? inner : { ...inner, description: parts.join(': ') }
}

/** Keywords whose names are the author's: a field may be called `required`. */
const NAMED = ['properties', 'patternProperties']
const each = (fields: Json): Json =>
  Object.fromEntries(Object.entries(fields as JsonObject).map(([name, field]) => [name, described(field)]))

/** Keywords whose value is data, not schema. */
const isData = (key: string): boolean => ['enum', 'const', 'default', 'required', 'examples'].includes(key)
