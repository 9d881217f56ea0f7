import type { TObject } from 'typebox'
import type { JsonObject } from '../json.js'
import { MOST_TOLD } from '../schema/first-few.js'
import { May, Milliseconds, NumberFrom, OneOf, Whole } from '../schema/kinds.js'
import { schemaProblems } from '../schema/problems.js'
import { closestName } from '../schema/suggest.js'
import { Open } from './fields.js'

/** The protocol leaves settings free; those that are read must be what they are read as. */

const LONGEST_MS = 366 * 86_400_000

export const NodeSettingsSchema = Open({
  timeoutMs: May(Milliseconds(0, LONGEST_MS, { description: 'How long the node may take; 0: as long as it takes' })),
  maxRetries: May(
    Whole(0, 1_000, {
      description: 'How often a failure is tried again; settings.maxRetries of the workflow where absent',
    }),
  ),
  retryDelayMs: May(Milliseconds(0, LONGEST_MS, { description: 'Before the first of them', default: 1_000 })),
  retryBackoffFactor: May(
    NumberFrom(1, 100, { description: 'By which each wait is longer than the one before', default: 2 }),
  ),
  retryMaxDelayMs: May(Milliseconds(0, LONGEST_MS, { description: 'No wait is longer', default: 60_000 })),
})

export const WorkflowSettingsSchema = Open({
  timeout: May(
    Whole(0, Number.MAX_SAFE_INTEGER, {
      description: 'Milliseconds that a run may take, not counting those it waits for people; 0: no limit',
      'x-unit': 'ms',
    }),
  ),
  maxRetries: May(
    Whole(0, Number.MAX_SAFE_INTEGER, { description: 'How often a failed node is tried again', default: 0 }),
  ),
  logLevel: May(OneOf(['debug', 'info', 'warn', 'error'], { description: 'Kept, and not read here' })),
  maxLoopbackIterations: May(
    Whole(1, Number.MAX_SAFE_INTEGER, { description: 'Passes of a core.loop that says none itself', default: 5 }),
  ),
})

/** What is wrong with settings: a value that is not what it is read as, a name that is nearly one that is read. */
export function settingProblems(schema: TObject, settings: JsonObject, at: string): string[] {
  const misspelt = unread(schema, settings).flatMap(name => {
    const close = closestName(name, Object.keys(schema.properties))
    return close === undefined ? [] : [`${at}.${name} is not a known field; did you mean ${at}.${close}?`]
  })
  return [...schemaProblems(schema, settings, at), ...misspelt]
}

/** Settings of which nothing will come; others may read them. */
export const settingWarnings = (schema: TObject, settings: JsonObject, at: string): string[] =>
  unread(schema, settings).map(
    name => `${at}.${name} is read by nothing here; this host reads ${Object.keys(schema.properties).join(', ')}`,
  )

const unread = (schema: TObject, settings: JsonObject): string[] =>
  Object.keys(settings)
    .filter(name => !Object.hasOwn(schema.properties, name))
    .slice(0, MOST_TOLD)
