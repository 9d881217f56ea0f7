import { Type } from 'typebox'
import { OneOf } from '../../core/schema/kinds.js'
import { Timestamp } from '../ids.js'

const closed = { additionalProperties: false }
const Text = Type.Optional(Type.String())
const Count = Type.Optional(Type.Integer({ minimum: 0 }))
const Nullable = (description: string) => Type.Optional(Type.Union([Type.Number(), Type.Null()], { description }))

export const TranscriptQuery = Type.Object({
  nodeId: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'Only what belongs to this node' })),
  from: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: Number.MAX_SAFE_INTEGER - 1,
      default: 0,
      description: 'Sequence of the first event',
    }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 50 })),
})

const Violation = Type.Object(
  {
    field: Type.String({ description: 'Where in the reply' }),
    rule: Type.String({ description: 'What its schema demands there' }),
    value: Type.String({ description: 'What stands there, as JSON, cut' }),
  },
  closed,
)

const Wanted = Type.Object(
  {
    name: Type.String(),
    toolId: Text,
    args: Type.Unknown(),
    problem: Text,
    violation: Type.Optional(Violation),
  },
  closed,
)

/** Where what was said is not there, and why. */
const Missing = Type.Optional(
  OneOf(['gated', 'sensitive', 'purged', 'erased', 'unreadable'], {
    description:
      'Why words are not shown: a gate stands before them (artifacts:read opens them); they carry what is declared sensitive; their time is over; the tenant was erased; this host lacks the key they were sealed with',
  }),
)

const TranscriptEntry = Type.Object(
  {
    sequence: Type.Integer({ minimum: 0 }),
    timestamp: Timestamp,
    nodeId: Type.String(),
    is: OneOf([
      'prompt',
      'request',
      'reply',
      'reasoning',
      'tool-call',
      'tool-result',
      'asked-again',
      'given-up',
      'refused',
      'cut-off',
      'lost',
      'end',
    ]),
    missing: Missing,
    agentId: Text,
    provider: Text,
    model: Text,
    system: Text,
    user: Text,
    tools: Type.Optional(Type.Array(Type.Object({ toolId: Type.String(), description: Type.String() }, closed))),
    returnSchema: Type.Optional(Type.Unknown()),
    temperature: Type.Optional(Type.Number()),
    call: Count,
    attempt: Count,
    maxOutputTokens: Count,
    text: Text,
    calls: Type.Optional(Type.Array(Wanted)),
    problem: Text,
    violation: Type.Optional(Violation),
    inputTokens: Count,
    outputTokens: Count,
    cacheReadTokens: Count,
    cacheWriteTokens: Count,
    costUsd: Nullable('Null where the price of the model is unknown'),
    cached: Type.Optional(Type.Boolean({ description: 'An answer from before, which was not asked for again' })),
    retries: Count,
    toolId: Text,
    callId: Text,
    args: Type.Optional(Type.Unknown()),
    status: Text,
    isError: Type.Optional(Type.Boolean()),
    durationMs: Type.Optional(Type.Number()),
    error: Type.Optional(Type.Unknown()),
    reason: Text,
    outcome: Text,
  },
  closed,
)

export const TranscriptAnswer = Type.Object({
  runId: Type.String(),
  entries: Type.Array(TranscriptEntry),
  next: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description: 'The next `from`; null at the end' }),
})
