import type { PromptKind } from '../../core/invocation/brief.js'
import type { Json, JsonObject } from '../../core/json.js'
import type { PromptRef } from './ref.js'

/** A named, versioned prompt (contract agents §16), as it is once its file has been checked. */
export type PromptTemplate = {
  readonly templateId: string
  readonly version: string
  readonly kind: PromptKind
  readonly text: string
  readonly variables?: readonly PromptVariable[]
  readonly name?: string
  readonly description?: string
  readonly modelHints?: JsonObject
  readonly tags?: readonly string[]
  readonly meta?: JsonObject
}

/** A template with a secret in it is refused when it is loaded, so there is no such source here. */
export const VARIABLE_SOURCES = ['input', 'variable', 'context'] as const
export type VariableSource = (typeof VARIABLE_SOURCES)[number]

export const VARIABLE_TYPES = ['string', 'number', 'boolean', 'array', 'object'] as const

export type PromptVariable = {
  readonly name: string
  readonly type: (typeof VARIABLE_TYPES)[number]
  readonly required: boolean
  readonly source?: VariableSource
  /** Dotted, from the source's root; `$` is the root itself. */
  readonly extractPath?: string
  readonly defaultValue?: Json
  readonly description?: string
}

export type PromptProblem = {
  readonly ok: false
  readonly code: 'prompt_ref_unresolved' | 'prompt_ref_ambiguous' | 'prompt_variable_unresolved'
  readonly message: string
}

export type FoundPrompt =
  | { readonly ok: true; readonly libraryId: string; readonly template: PromptTemplate }
  | PromptProblem

/** `home` is the library in which a name is looked for first: a pack's own, for what its agents refer to. */
export type FindPrompt = (ref: PromptRef, home?: string) => FoundPrompt

/** The placeholders of a text, `{{name}}`. Nothing else between braces has a meaning. */
export const PLACEHOLDER = /\{\{\s*([a-zA-Z_][a-zA-Z0-9_]{0,63})\s*\}\}/g
