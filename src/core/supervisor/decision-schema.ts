import type { JsonObject } from '../json.js'
import { patternOf, WORKER_ID } from '../names.js'

const confidence = { type: 'number', minimum: 0, maximum: 1 }
const text = { type: 'string', minLength: 1 }
/** A model that misspells a worker is asked again; past this schema nobody asks it. */
const worker = (pattern: string) => ({ type: 'string', maxLength: 256, pattern })

const kind = (name: string, properties: JsonObject, required: readonly string[] = []): JsonObject => ({
  type: 'object',
  properties: { kind: { const: name }, ...properties },
  required: ['kind', ...required],
  additionalProperties: false,
})

const schemaOf = (workers: string): JsonObject => ({
  oneOf: [
    kind(
      'next-worker',
      { nextWorkerIds: { type: 'array', items: worker(workers), minItems: 1, maxItems: 100 }, confidence },
      ['nextWorkerIds'],
    ),
    kind('terminate', {
      reason: { type: 'string' },
      confidence,
      successCriteria: {
        type: 'array',
        items: {
          type: 'object',
          properties: { key: text, met: { type: 'boolean' } },
          required: ['key', 'met'],
          additionalProperties: false,
        },
      },
    }),
    kind('clarify', { prompt: text, confidence }, ['prompt']),
    kind('escalate', { reason: { type: 'string' }, title: { type: 'string' }, confidence }),
    kind('ask-user', { prompt: text }, ['prompt']),
  ],
})

/** What a model that orchestrates is asked to answer with; `decisionProblems` has the last word. */
export const DECISION_SCHEMA = schemaOf(WORKER_ID)

/** The same where the workflow names no peer: its model hears of none, and is asked as it always was. */
export const DECISION_SCHEMA_HERE = schemaOf(patternOf('workId'))
