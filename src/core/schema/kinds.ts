import { type Static, type TProperties, type TSchema, type TUnsafe, Type } from 'typebox'
import type { JsonObject } from '../json.js'

/**
 * What documents that people write are made of: TypeBox schemas that also say in words what they take. The words are
 * the rest of a sentence that begins "must be".
 */
export type Annotations = {
  /** What the field is for; it stands in the reference and in editors. */
  readonly description?: string
  readonly default?: unknown
  /** Says it better than the schema's own limits do. */
  readonly 'x-must-be'?: string
  /** The value may be, or hold, a secret: no message repeats it. */
  readonly 'x-unquoted'?: true
  /** What the number counts. A length of time in other words is told in this unit. */
  readonly 'x-unit'?: 'ms' | 'days'
}

/** Text with something in it. */
export const Text = (most: number, more: Annotations = {}) =>
  NoLonger(
    most,
    Type.String({
      pattern: '\\S',
      maxLength: most,
      'x-must-be': `text that is not blank, of at most ${most} characters`,
      ...more,
    }),
  )

/** Text of a length, blank or not. */
export const Characters = (least: number, most: number, more: Annotations = {}) =>
  NoLonger(
    most,
    Type.String({
      minLength: least,
      maxLength: most,
      'x-must-be': `text of ${least} to ${most} characters`,
      ...more,
    }),
  )

/** `maxLength` counts code points. Limits are meant as text has its length here, where many a code point is two. */
const NoLonger = <Schema extends TSchema>(most: number, schema: Schema): Schema =>
  Type.Refine(
    schema,
    text => (text as string).length <= most,
    () => '',
  ) as Schema

/** Text that only a function can tell; `what` names it. */
export const TextWhere = (
  what: string,
  isIt: (text: string) => boolean,
  more: Annotations & { readonly pattern?: string } = {},
) => Type.Refine(Type.String({ 'x-must-be': what, ...more }), isIt, () => '')

/** Text of one form; `what` names it. */
export const Matching = (pattern: RegExp, what: string, more: Annotations = {}) =>
  Type.String({ pattern: pattern.source, 'x-must-be': `${what} (${pattern.source})`, ...more })

export const Flag = (more: Annotations = {}) => Type.Boolean({ 'x-must-be': 'true or false', ...more })

/** A whole number; a safe one wherever nothing is said. */
export const Whole = (min: number, max: number = Number.MAX_SAFE_INTEGER, more: Annotations = {}) =>
  Type.Integer({
    minimum: min,
    maximum: max,
    'x-must-be':
      max === Number.MAX_SAFE_INTEGER ? `a whole number, ${min} or more` : `a whole number from ${min} to ${max}`,
    ...more,
  })

export const Milliseconds = (min: number, max: number, more: Annotations = {}) =>
  Whole(min, max, { 'x-must-be': `a whole number of milliseconds from ${min} to ${max}`, 'x-unit': 'ms', ...more })

export const AnyNumber = (more: Annotations = {}) => Type.Number({ 'x-must-be': 'a number', ...more })

export const NumberFrom = (min: number, max: number, more: Annotations = {}) =>
  Type.Number({ minimum: min, maximum: max, 'x-must-be': `a number from ${min} to ${max}`, ...more })

export const Above = (min: number, max: number, more: Annotations = {}) =>
  Type.Number({
    exclusiveMinimum: min,
    maximum: max,
    'x-must-be': `a number above ${min}, of at most ${max}`,
    ...more,
  })

/** One of a few words: `enum` in the schema, a union of literals in the type. */
export const OneOf = <const Words extends readonly string[]>(words: Words, more: object = {}): TUnsafe<Words[number]> =>
  Type.Unsafe<Words[number]>({ type: 'string', enum: [...words], ...more })

export const ListOf = <Item extends TSchema>(item: Item, least: number, most: number, more: Annotations = {}) =>
  Type.Array(item, {
    minItems: least,
    maxItems: most,
    'x-must-be': least === 0 ? `a list of at most ${most} items` : `a list of ${least} to ${most} items`,
    ...more,
  })

/** A list in which nothing stands twice. `of` says what tells two items apart. */
export const DistinctBy = <List extends TSchema>(list: List, of: (item: unknown) => unknown): List =>
  Type.Refine(
    list,
    value => Array.isArray(value) && twice(value, of) === undefined,
    value => {
      const found = twice(value as readonly unknown[], of)
      return found === undefined ? 'must not repeat an item' : `has ${JSON.stringify(found)} twice; give each once`
    },
  ) as List

function twice(items: readonly unknown[], of: (item: unknown) => unknown): unknown {
  const seen = new Set<unknown>()
  return items.map(of).find(key => seen.size === seen.add(key).size)
}

/** An object with these fields and no others. */
export const Closed = <Fields extends TProperties>(fields: Fields, more: Annotations = {}) =>
  Type.Object(fields, { additionalProperties: false, 'x-must-be': 'an object', ...more })

/** An object of which nothing is known here. */
export const AnyObject = (more: Annotations = {}) =>
  Type.Unsafe<JsonObject>({ type: 'object', 'x-must-be': 'an object', ...more })

/** An object whose names the author chose; `what` says which names there can be. */
export const MapOf = <Item extends TSchema>(
  names: RegExp,
  what: string,
  item: Item,
  more: Annotations = {},
): TUnsafe<{ readonly [name: string]: Static<Item> }> =>
  Type.Unsafe<{ readonly [name: string]: Static<Item> }>({
    type: 'object',
    patternProperties: { [names.source]: item },
    additionalProperties: false,
    'x-must-be': 'an object',
    'x-names': what,
    ...more,
  })

/** May be left out. */
export const May = Type.Optional

/** Credentials in an address would be a secret written down, so such a one is not repeated either. */
export const WebAddress = (more: Annotations = {}) =>
  Type.Refine(
    Type.String({
      maxLength: 2048,
      'x-must-be': 'an http:// or https:// address of at most 2048 characters, without user name and password',
      'x-unquoted': true,
      ...more,
    }),
    isPlainAddress,
    () => '',
  )

/** As URLs are written; the core knows no URL of the platform. */
const ADDRESS = /^https?:\/\/(?![^/?#]*@)[^\s/?#]+[^\s]*$/i
const isPlainAddress = (text: string): boolean => ADDRESS.test(text)
