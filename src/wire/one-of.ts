import { type TUnsafe, Type } from 'typebox'

/** One of a few words: `enum` in the schema, a union of literals in the type. */
export const OneOf = <const Words extends readonly string[]>(words: Words, more: object = {}): TUnsafe<Words[number]> =>
  Type.Unsafe<Words[number]>({ type: 'string', enum: [...words], ...more })
