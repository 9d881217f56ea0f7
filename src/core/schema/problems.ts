import type { TSchema } from 'typebox'
import { Check, Errors } from 'typebox/value'
import { isObject, type Json, own, utf8Length } from '../json.js'
import { filledBy } from './filled.js'
import { firstFew, MOST_TOLD } from './first-few.js'
import type { Shape } from './shape.js'
import { closestName } from './suggest.js'
import { fixOf, mustBe, pathTo, shownValue } from './words.js'

/** A value that was read, with the schema's defaults where nothing was said, or what is wrong with it. */
export type Document<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly problems: readonly string[] }

/** Rules that no schema can say: about several fields together, or about what a text means. */
export type FurtherRules<T> = (value: T) => readonly string[]

const LIMITS = { bytes: 64 * 1024, depth: 64 }

/** Reads a whole document. `T` is what the schema and its defaults make of it. */
export function readAs<T>(schema: TSchema, raw: Json, rules: FurtherRules<T> = () => []): Document<T> {
  if (isDeeper(raw, LIMITS.depth))
    return { ok: false, problems: [`the document nests deeper than ${LIMITS.depth} levels`] }
  const bytes = utf8Length(JSON.stringify(raw))
  if (bytes > LIMITS.bytes)
    return {
      ok: false,
      problems: [`the document takes ${bytes} bytes; at most ${LIMITS.bytes} are allowed, so shorten it`],
    }
  const misshapen = schemaProblems(schema, raw)
  if (misshapen.length > 0) return { ok: false, problems: misshapen.slice(0, MOST_TOLD) }
  const value = filledBy(schema as Shape, raw) as T
  const problems = rules(value)
  return problems.length === 0 ? { ok: true, value } : { ok: false, problems: problems.slice(0, MOST_TOLD) }
}

const isDeeper = (value: Json, levels: number): boolean =>
  typeof value === 'object' &&
  value !== null &&
  (levels === 0 || Object.values(value).some(inner => isDeeper(inner, levels - 1)))

/**
 * Everything that keeps the value from what the schema asks for, each in one sentence: where, what it must be, what it
 * is, and the way out. Empty when it fits.
 */
export function schemaProblems(schema: TSchema, value: Json, at = ''): string[] {
  return Check(schema, value) ? [] : explain(schema as Shape, value, at, { top: schema as Shape, at })
}

/** The whole that is explained, to find where a misplaced name belongs. */
type Whole = { readonly top: Shape; readonly at: string }

function explain(shape: Shape, value: Json, at: string, whole: Whole): string[] {
  if (Check(shape as TSchema, value)) return []
  if (shape.anyOf) return explainUnion(shape, shape.anyOf, value, at, whole)
  if ((shape.properties || shape.patternProperties) && isObject(value)) {
    const problems = explainObject(shape, value, at, whole)
    if (problems.length > 0) return problems
  }
  if (shape.items && Array.isArray(value) && hasLengthOf(shape, value)) {
    const items = shape.items
    const given: readonly Json[] = value
    const problems = firstFew(given, (item, i) => explain(items, item, `${at}[${i}]`, whole))
    if (problems.length > 0) return problems
  }
  return [`${at || 'the document'} ${refinement(shape, value) ?? demand(shape, value)}`]
}

const hasLengthOf = ({ minItems = 0, maxItems = Number.POSITIVE_INFINITY }: Shape, { length }: readonly Json[]) =>
  length >= minItems && length <= maxItems

const demand = (shape: Shape, value: Json): string => {
  const secret = shape['x-unquoted'] || shape.items?.['x-unquoted']
  return `must be ${mustBe(shape)}${secret ? '' : `; got ${shownValue(value)}${fixOf(shape, value)}`}`
}

/** What a rule written beside the schema says, once its structure is right; nothing where the schema's words do. */
function refinement(shape: Shape, value: Json): string | undefined {
  const refined = Errors(shape as TSchema, value).find(({ keyword }) => keyword === '~refine')
  return refined?.message || undefined
}

function explainObject(shape: Shape, value: { readonly [name: string]: Json }, at: string, whole: Whole): string[] {
  const { properties = {}, required = [], patternProperties = {} } = shape
  const inside = (name: string) => pathTo(at, name)
  const missing = required
    .filter(name => own(value, name) === undefined)
    .map(name => `${inside(name)} is required: ${mustBe(own(properties, name) ?? {})}; add it`)
  const given = firstFew(Object.entries(value), ([name, item]) => {
    const known = own(properties, name) ?? patternShape(patternProperties, name)
    if (known) return explain(known, item, inside(name), whole)
    if (shape.additionalProperties !== false) return []
    return [unknownName(shape, name, at, whole)]
  })
  return [...missing, ...given]
}

const patternShape = (patterns: { readonly [pattern: string]: Shape }, name: string): Shape | undefined =>
  Object.entries(patterns).find(([pattern]) => new RegExp(pattern, 'u').test(name))?.[1]

function unknownName(shape: Shape, name: string, at: string, whole: Whole): string {
  const full = pathTo(at, name)
  if (shape['x-names'] !== undefined)
    return `${at || 'the document'} has the name ${shownValue(name)}; use ${shape['x-names']}`
  const known = Object.keys(shape.properties ?? {})
  const close = closestName(name, known)
  if (close !== undefined) return `${full} is not a known field; did you mean ${pathTo(at, close)}?`
  // Another kind of the same item has it: that is no other place.
  const here = full.replace(/\[\d+\]/g, '[]')
  const [elsewhere] = placesOf(whole.top, name, whole.at).filter(place => place !== here)
  if (elsewhere !== undefined) return `${full} is not a known field here; it belongs at ${elsewhere}`
  const list = known.length === 0 ? 'it takes none' : `the known fields are ${known.join(', ')}`
  return `${full} is not a known field; remove it: ${list}`
}

/** Where the schema has a field of this name. */
function placesOf(shape: Shape, name: string, at: string, levels = 6): string[] {
  if (levels === 0) return []
  const inner = Object.entries(shape.properties ?? {}).flatMap(([field, part]) => [
    ...(field === name ? [pathTo(at, field)] : []),
    ...placesOf(part, name, pathTo(at, field), levels - 1),
  ])
  const items = shape.items ? placesOf(shape.items, name, `${at}[]`, levels - 1) : []
  const branches = (shape.anyOf ?? []).flatMap(branch => placesOf(branch, name, at, levels - 1))
  return [...inner, ...items, ...branches]
}

/** A union is explained by the branch that was meant: the one its kind names, else the only one of the value's type. */
function explainUnion(shape: Shape, branches: readonly Shape[], value: Json, at: string, whole: Whole): string[] {
  if (isObject(value)) {
    const kind = discriminatorOf(branches)
    if (kind !== undefined) {
      const meant = branches.find(({ properties }) => own(properties ?? {}, kind)?.const === own(value, kind))
      if (meant) return explain(meant, value, at, whole)
      const words = branches.map(({ properties }) => own(properties ?? {}, kind)?.const as string)
      return explain(
        { type: 'object', required: [kind], properties: { [kind]: { type: 'string', enum: words } } },
        value,
        at,
        whole,
      )
    }
  }
  const sameType = branches.filter(branch => branch.type === typeOf(value))
  const [only] = sameType
  if (
    only !== undefined &&
    sameType.length === 1 &&
    branches.length > 1 &&
    (only.properties || only.patternProperties || only.items)
  )
    return explain(only, value, at, whole)
  return [`${at || 'the document'} ${refinement(shape, value) ?? demand(shape, value)}`]
}

const typeOf = (value: Json): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value === 'object' ? 'object' : typeof value

/** A field that every object of the union has with a word of its own. */
function discriminatorOf(branches: readonly Shape[]): string | undefined {
  const objects = branches.filter(({ properties }) => properties !== undefined)
  const [first] = objects
  if (first === undefined || objects.length < branches.length) return undefined
  return Object.keys(first.properties ?? {}).find(name =>
    objects.every(({ properties }) => typeof own(properties ?? {}, name)?.const === 'string'),
  )
}
