import type { Json } from '../json.js'

/** What a schema is made of, as the walk below reads it. */
export type Shape = {
  readonly type?: string
  readonly enum?: readonly Json[]
  readonly const?: Json
  readonly anyOf?: readonly Shape[]
  readonly properties?: { readonly [name: string]: Shape }
  readonly required?: readonly string[]
  readonly patternProperties?: { readonly [pattern: string]: Shape }
  readonly additionalProperties?: boolean | Shape
  readonly items?: Shape
  readonly minItems?: number
  readonly maxItems?: number
  readonly description?: string
  readonly default?: unknown
  readonly 'x-must-be'?: string
  readonly 'x-names'?: string
  readonly 'x-unquoted'?: true
  readonly 'x-unit'?: 'ms' | 'days'
}
