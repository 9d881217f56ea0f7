import { isObject, type Json, type JsonObject, own } from '../../../core/json.js'

/** Deeper than this a schema is taken to refer to itself. */
const MAX_DEPTH = 16

/**
 * A small value that conforms to a simple schema. Where a decision of an orchestrator is asked for it is the one that
 * ends the loop: an offline model has nobody to hand work to.
 */
export const minimalValue = (schema: JsonObject): Json => fitting(schema, schema, 0)

function fitting(given: Json | undefined, root: JsonObject, depth: number): Json {
  if (!isObject(given) || depth > MAX_DEPTH) return null
  const schema = resolved(given, root)
  if (schema.const !== undefined) return schema.const
  if (Array.isArray(schema.enum)) return schema.enum.includes(END) ? END : ((schema.enum[0] ?? null) as Json)
  if (schema.default !== undefined) return schema.default
  const variants = [schema.oneOf, schema.anyOf].find(Array.isArray) as readonly Json[] | undefined
  if (variants !== undefined) {
    const rest = without(schema, ['oneOf', 'anyOf'])
    const variant = variants.find(one => ends(one, root)) ?? variants[0]
    return fitting(merged([rest, isObject(variant) ? resolved(variant, root) : {}]), root, depth + 1)
  }
  if (Array.isArray(schema.allOf)) {
    const parts = schema.allOf.filter(isObject).map(part => resolved(part, root))
    return fitting(merged([without(schema, ['allOf']), ...parts]), root, depth + 1)
  }
  return typed(schema, root, depth)
}

const END = 'terminate'

function ends(variant: Json, root: JsonObject): boolean {
  if (!isObject(variant)) return false
  const { properties } = resolved(variant, root)
  const kind = isObject(properties) ? properties.kind : undefined
  return isObject(kind) && (kind.const === END || (Array.isArray(kind.enum) && kind.enum.includes(END)))
}

function typed(schema: JsonObject, root: JsonObject, depth: number): Json {
  const type = Array.isArray(schema.type) ? schema.type.find(one => one !== 'null') : schema.type
  switch (type ?? (isObject(schema.properties) ? 'object' : 'string')) {
    case 'object':
      return objectOf(schema, root, depth)
    case 'array':
      return Array.from({ length: count(schema.minItems) }, () => fitting(schema.items ?? {}, root, depth + 1))
    case 'number':
    case 'integer':
      return numberOf(schema)
    case 'boolean':
      return false
    case 'null':
      return null
    default:
      return textOf(schema)
  }
}

function objectOf(schema: JsonObject, root: JsonObject, depth: number): Json {
  const properties = isObject(schema.properties) ? schema.properties : {}
  const required = Array.isArray(schema.required) ? schema.required.filter(name => typeof name === 'string') : []
  return Object.fromEntries(required.map(name => [name, fitting(own(properties, name) ?? {}, root, depth + 1)]))
}

function numberOf({ minimum, exclusiveMinimum, maximum, multipleOf }: JsonObject): number {
  const step = typeof multipleOf === 'number' && multipleOf > 0 ? multipleOf : 1
  if (typeof minimum === 'number') return Math.ceil(minimum / step) * step
  if (typeof exclusiveMinimum === 'number') return (Math.floor(exclusiveMinimum / step) + 1) * step
  return typeof maximum === 'number' && maximum < 0 ? Math.floor(maximum / step) * step : 0
}

const FORMATS: { readonly [format: string]: string } = {
  'date-time': '2026-01-01T00:00:00Z',
  date: '2026-01-01',
  time: '00:00:00Z',
  email: 'nobody@example.com',
  uri: 'https://example.com/',
  uuid: '00000000-0000-4000-8000-000000000000',
}

function textOf({ format, minLength, maxLength }: JsonObject): string {
  const text = (typeof format === 'string' ? own(FORMATS, format) : undefined) ?? 'offline'
  const padded = text.padEnd(Math.min(count(minLength), 10_000), '.')
  return typeof maxLength === 'number' ? padded.slice(0, maxLength) : padded
}

const count = (value: Json | undefined): number => (typeof value === 'number' && value > 0 ? Math.min(value, 1000) : 0)

/** Only references within the schema; others are not followed. */
function resolved(schema: JsonObject, root: JsonObject): JsonObject {
  let current = schema
  for (let hops = 0; typeof current.$ref === 'string' && hops < MAX_DEPTH; hops += 1) {
    const steps = current.$ref.split('/').slice(1)
    const target = current.$ref.startsWith('#')
      ? steps.reduce<Json | undefined>((value, step) => (isObject(value) ? own(value, step) : undefined), root)
      : undefined
    if (!isObject(target)) return {}
    current = target
  }
  return current
}

const without = (schema: JsonObject, names: readonly string[]): JsonObject =>
  Object.fromEntries(Object.entries(schema).filter(([name]) => !names.includes(name)))

const merged = (schemas: readonly JsonObject[]): JsonObject => {
  const properties = Object.assign({}, ...schemas.map(one => (isObject(one.properties) ? one.properties : {})))
  const required = schemas.flatMap(one => (Array.isArray(one.required) ? one.required : []))
  return { ...Object.assign({}, ...schemas), properties, required }
}
