import { type TProperties, Type } from 'typebox'
import type { Json } from '../json.js'
import { LONGEST_AGENT_ID, patternOf, WORKER_ID, WORKER_ID_RULE } from '../names.js'
import { type Annotations, AnyObject, MapOf, Matching, Milliseconds, Text } from '../schema/kinds.js'

/** What configurations of nodes are made of, besides what every document is made of. */

export const YEAR_MS = 365 * 24 * 3_600_000

/** Any value of JSON. */
export const Anything = (more: Annotations = {}) => Type.Unsafe<Json>({ 'x-must-be': 'a value', ...more })

/** An object of which only some members are ours to say. */
export const Open = <Fields extends TProperties>(fields: Fields, more: Annotations = {}) =>
  Type.Object(fields, { 'x-must-be': 'an object', ...more })

export const SchemaField = (more: Annotations = {}) => AnyObject({ 'x-must-be': 'a JSON Schema object', ...more })

/** Text of any length that is not empty. */
export const SomeText = (more: Annotations = {}) =>
  Type.String({ minLength: 1, 'x-must-be': 'text that is not empty', ...more })

/** Parsed when the workflow is registered; what it may read is in `references.ts`. */
export const Cel = (description: string) => Text(4_096, { description, 'x-must-be': 'a CEL expression' })

/** Of a variable, channel or port. */
export const PartField = (what: string, more: Annotations = {}) =>
  Type.String({
    pattern: patternOf('part'),
    'x-must-be': `${what}, of at most 256 characters`,
    ...more,
  })

/** Whom work is handed to. */
export const WorkerIdField = (more: Annotations = {}) =>
  Type.String({ pattern: WORKER_ID, maxLength: LONGEST_AGENT_ID, 'x-must-be': WORKER_ID_RULE, ...more })

/** Names of variables by names of variables. */
export const VariableMap = (what: string, more: Annotations = {}) =>
  MapOf(new RegExp(patternOf('part')), 'the name of a variable', PartField('the name of a variable'), {
    'x-must-be': `an object that maps ${what}`,
    ...more,
  })

/** How long an answer may take. */
export const Timeout = (description: string) => Milliseconds(0, YEAR_MS, { description })

/** Which reducers there are (contract core §9.4). */
export const REDUCER =
  /^(replace|append|merge|counter|votes|feedback|message|vendor\.[a-z][a-z0-9_-]*\.[a-z][a-z0-9_-]*)$/

/** Of a prompt, as one text or as an object (contract agents §16). */
export const PromptRefField = (description: string) =>
  Type.Union([Matching(/^prompt:\S+$/, 'prompt:ID or prompt:ID@VERSION'), AnyObject()], {
    description,
    'x-must-be':
      'prompt:ID or prompt:ID@VERSION, or an object with templateId and perhaps libraryId, version, variableOverrides',
  })
