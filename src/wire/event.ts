import { type Static, Type } from 'typebox'
import { OneOf } from '../core/schema/kinds.js'
import { RunId, Timestamp } from './ids.js'
import { RUN_STATUSES } from './run.js'

export const RunEventDoc = Type.Object({
  eventId: Type.String({ minLength: 1 }),
  runId: RunId,
  type: Type.String(),
  payload: Type.Unknown(),
  timestamp: Timestamp,
  sequence: Type.Integer({ minimum: 0 }),
  schemaVersion: Type.Integer(),
  engineVersion: Type.String(),
  nodeId: Type.Optional(Type.String()),
  causationId: Type.Optional(Type.String()),
})

export const EventsAnswer = Type.Object({ events: Type.Array(RunEventDoc) })

export const MAX_BUFFER_MS = 5000

export const EventsQuery = Type.Object({
  streamMode: Type.Optional(
    Type.String({
      maxLength: 128,
      description: 'updates (default), values, messages, debug, or a comma-separated union of all but values',
    }),
  ),
  bufferMs: Type.Optional(
    Type.Integer({ minimum: 0, maximum: MAX_BUFFER_MS, description: 'Batch events for this long; 0 sends each' }),
  ),
})

const Sequence = { minimum: 0, maximum: Number.MAX_SAFE_INTEGER - 1 }

export const PollQuery = Type.Object({
  lastSequence: Type.Optional(
    Type.Integer({ ...Sequence, description: 'Highest sequence already seen; omitted = from the start' }),
  ),
  since: Type.Optional(Type.Integer({ ...Sequence, description: 'Alias of lastSequence' })),
  timeout: Type.Optional(Type.Integer({ minimum: 1, maximum: 60, default: 30, description: 'Seconds to hold' })),
})
export type PollQuery = Static<typeof PollQuery>

export const PollAnswer = Type.Object({
  runId: RunId,
  events: Type.Array(RunEventDoc),
  isComplete: Type.Boolean(),
  lastEventSeq: Type.Integer(),
  runStatus: OneOf(RUN_STATUSES),
  isTerminal: Type.Boolean(),
})

export const ArtifactAnswer = Type.Object({
  artifactId: Type.String(),
  artifactType: Type.String(),
  nodeId: Type.Union([Type.String(), Type.Null()]),
  createdAt: Timestamp,
  content: Type.Unknown(),
})

export const WithheldQuery = Type.Object({
  from: Type.Optional(Type.Integer({ ...Sequence, default: 0, description: 'Sequence of the first event to look at' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, default: 100 })),
})

export const WithheldAnswer = Type.Object({
  withheld: Type.Array(
    Type.Object({
      sequence: Type.Integer({ minimum: 0 }),
      type: Type.String(),
      nodeId: Type.Optional(Type.String()),
      timestamp: Timestamp,
      content: Type.Unsafe<object>({
        type: 'object',
        description: 'Fields of the event’s payload as they are, in place of what its readers see',
      }),
    }),
  ),
  next: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()], { description: 'The next `from`; null at the end' }),
})
