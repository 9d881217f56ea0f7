import { isObject, type Json, type JsonObject } from '../../core/json.js'
import { NAMES, patternOf } from '../../core/names.js'

/** Which template is meant (contract agents §16), whichever of the two spellings was used. */
export type PromptRef = {
  readonly templateId: string
  readonly libraryId?: string
  /** The latest, where absent. */
  readonly version?: string
  readonly variableOverrides?: JsonObject
}

export const TEMPLATE_ID = new RegExp(patternOf('promptId'))
export const VERSION = /^\d+\.\d+\.\d+(?:-[0-9A-Za-z.-]+)?(?:\+[0-9A-Za-z.-]+)?$/

/** The stringy form. */
export const REF_PATTERN = new RegExp(`^prompt:${NAMES.promptId}(?:@${VERSION.source.slice(1, -1)})?$`)

export const REF_RULE =
  'prompt:ID or prompt:ID@VERSION, or an object with templateId and perhaps libraryId, version, variableOverrides'

const FIELDS = new Set(['templateId', 'libraryId', 'version', 'variableOverrides'])

/** Undefined when it is neither of the two forms. */
export function parseRef(value: Json): PromptRef | undefined {
  if (typeof value === 'string') return parseText(value)
  if (!isObject(value) || Object.keys(value).some(key => !FIELDS.has(key))) return undefined
  const { templateId, libraryId, version, variableOverrides } = value
  if (!matches(templateId, TEMPLATE_ID)) return undefined
  if (libraryId !== undefined && !matches(libraryId, TEMPLATE_ID)) return undefined
  if (version !== undefined && !matches(version, VERSION)) return undefined
  if (variableOverrides !== undefined && !isObject(variableOverrides)) return undefined
  return {
    templateId,
    ...(libraryId !== undefined && { libraryId }),
    ...(version !== undefined && { version }),
    ...(variableOverrides !== undefined && { variableOverrides }),
  }
}

/** The stringy form, by which events name a prompt. */
export const refText = ({ templateId, version }: Pick<PromptRef, 'templateId' | 'version'>): string =>
  version === undefined ? `prompt:${templateId}` : `prompt:${templateId}@${version}`

function parseText(text: string): PromptRef | undefined {
  if (!REF_PATTERN.test(text)) return undefined
  const [templateId = '', version] = text.slice('prompt:'.length).split('@')
  return version === undefined ? { templateId } : { templateId, version }
}

const matches = (value: Json | undefined, pattern: RegExp): value is string =>
  typeof value === 'string' && pattern.test(value)
