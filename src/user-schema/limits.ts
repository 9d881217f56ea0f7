import { isObject, type Json, type JsonObject } from '../core/json.js'

/**
 * What a schema written by a user may contain, checked on the main thread before anything compiles it. The walk is
 * iterative and stops at the first limit, so it is cheap for schemas built to be expensive. What passes can still be
 * slow (patterns, references that double); the worker's kill timer is for that.
 */
export const LIMITS = { bytes: 64 * 1024, depth: 32, subschemas: 2_000, patternLength: 1_000 } as const

/** The only dialect; `$schema` may say so or be absent. */
const DIALECT = 'https://json-schema.org/draft/2020-12/schema'

/** Keywords that would fetch, bind at run time, or make the validator answer a promise. */
const FORBIDDEN = ['$dynamicRef', '$recursiveRef', '$data', '$async'] as const

/** Keywords whose value is data, not schema. */
const DATA = new Set(['enum', 'const', 'default', 'examples', 'required', 'type', 'dependentRequired'])

/** Keywords whose value maps names, chosen by the user, to schemas. */
const MAPS = new Set(['properties', 'patternProperties', '$defs', 'definitions', 'dependentSchemas'])

type Visit = { readonly value: Json; readonly role: 'schema' | 'map' | 'data'; readonly depth: number }

/** What is wrong with the schema, as the rest of a sentence that begins with its name; undefined when nothing is. */
export function limitProblem(schema: JsonObject): string | undefined {
  const todo: Visit[] = [{ value: schema, role: 'schema', depth: 1 }]
  let subschemas = 0
  let characters = 0
  for (let visit = todo.pop(); visit !== undefined; visit = todo.pop()) {
    const { value, role, depth } = visit
    characters += typeof value === 'string' ? value.length : 1
    if (characters > LIMITS.bytes) return TOO_LARGE
    if (depth > LIMITS.depth) return `is nested deeper than ${LIMITS.depth} levels`
    if (Array.isArray(value)) {
      for (const item of value as readonly Json[])
        todo.push({ value: item, role, depth: role === 'data' ? depth + 1 : depth })
      continue
    }
    if (!isObject(value)) continue
    if (role === 'schema') {
      subschemas += 1
      if (subschemas > LIMITS.subschemas) return `has more than ${LIMITS.subschemas} subschemas`
      const problem = keywordProblem(value)
      if (problem !== undefined) return problem
    }
    for (const [key, child] of Object.entries(value)) {
      characters += key.length
      todo.push({ value: child, ...placeOf(role, key, depth) })
    }
  }
  return undefined
}

const TOO_LARGE = `is larger than ${LIMITS.bytes} bytes`

/** The exact size, once the walk has shown that rendering is cheap. */
export const sizeProblem = (text: string): string | undefined =>
  Buffer.byteLength(text) > LIMITS.bytes ? TOO_LARGE : undefined

function placeOf(role: Visit['role'], key: string, depth: number): Omit<Visit, 'value'> {
  if (role === 'data') return { role, depth: depth + 1 }
  if (role === 'map') return { role: 'schema', depth: depth + 1 }
  if (DATA.has(key)) return { role: 'data', depth: 1 }
  return MAPS.has(key) ? { role: 'map', depth } : { role: 'schema', depth: depth + 1 }
}

function keywordProblem(schema: JsonObject): string | undefined {
  for (const keyword of FORBIDDEN) if (Object.hasOwn(schema, keyword)) return `uses ${keyword}, which is not supported`
  const { $ref, $schema, pattern, patternProperties } = schema
  if (typeof $ref === 'string' && !$ref.startsWith('#')) {
    return `refers to ${JSON.stringify($ref.slice(0, 100))}; only references within the schema (#…) are followed`
  }
  if (typeof $schema === 'string' && $schema.replace(/#$/, '') !== DIALECT) return `is not of the dialect ${DIALECT}`
  const patterns = [pattern, ...(isObject(patternProperties) ? Object.keys(patternProperties) : [])]
  const long = patterns.some(text => typeof text === 'string' && text.length > LIMITS.patternLength)
  return long ? `has a pattern of more than ${LIMITS.patternLength} characters` : undefined
}
