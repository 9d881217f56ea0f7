import { eachRun, type Rule } from '../checked.js'
import { isFields } from '../json.js'

/** Events that must not carry content: they say that something happened, not what was said. */
export const contentFreeRules: readonly Rule[] = [
  {
    id: 'L31d',
    title: 'The bracket of an invocation has no field, however deep, in which content or a credential could be told',
    source: 'agents R-LIVE-17, R-LIVE-33',
    checks: eachRun((run, say) => {
      for (const event of run.events) {
        if (!BRACKET.includes(event.type)) continue
        for (const key of keysIn(event.payload)) if (FORBIDDEN.includes(key)) say(`it tells ${key}`, event)
      }
    }),
  },
  {
    id: 'L31f',
    title: 'Events without content have no room for any: no text in them is longer than a name',
    source: 'agents R-LIVE-17, R-BUDGET-3, R-VERIFY-5',
    assayOnly: true,
    checks: eachRun((run, say) => {
      for (const event of run.events) {
        if (!isContentFree(event.type)) continue
        const long = textsIn(event.payload).find(text => text.length > LONGEST)
        if (long !== undefined) say(`a text of ${long.length} characters`, event)
      }
    }),
  },
]

const BRACKET: readonly string[] = ['agent.invocation.started', 'agent.invocation.completed']

const FORBIDDEN: readonly string[] = [
  'prompt',
  'result',
  'body',
  'input',
  'output',
  'apiKey',
  'secret',
  'credentials',
  'token',
]

const LONGEST = 512

const isContentFree = (type: string): boolean =>
  BRACKET.includes(type) ||
  ['agent.promptResolved', 'prompt.composed', 'provider.usage', 'agent.verified'].includes(type) ||
  [
    'budget.',
    'envelope.',
    'model.capability.',
    'assay.model.',
    'dws.verification.',
    'assay.verification.',
    'assay.verifier.',
    'assay.result.',
    'assay.tool.',
    'assay.rework.',
    'assay.journal.',
    'assay.file.',
    'assay.peer.',
  ].some(prefix => type.startsWith(prefix))

function partsOf(value: unknown): unknown[] {
  const parts = [value]
  for (const part of parts) {
    if (Array.isArray(part)) parts.push(...part)
    else if (isFields(part)) parts.push(...Object.values(part))
  }
  return parts
}

const keysIn = (payload: unknown): string[] =>
  partsOf(payload).flatMap(part => (isFields(part) ? Object.keys(part) : []))

const textsIn = (payload: unknown): string[] => [
  ...partsOf(payload).filter(part => typeof part === 'string'),
  ...keysIn(payload),
]
