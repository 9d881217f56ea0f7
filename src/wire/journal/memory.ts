import { type Static, Type } from 'typebox'
import { Tag, Timestamp } from '../ids.js'

const LONGEST_REF = 1500

/** `RUN:SEQ`, or `RUN:end`. */
export const AT_PATTERN = '^([A-Za-z0-9_-]{1,128}):(0|[1-9][0-9]{0,14}|end)$'
export const At = Type.String({
  pattern: AT_PATTERN,
  maxLength: 256,
  description:
    '`RUN:SEQ`: as the run saw it before that event of its log, `RUN:end`: after all there is of it; as it is now, when absent',
})

const Ref = Type.String({ maxLength: LONGEST_REF, description: 'Only entries under this `memoryRef`' })
const Scope = Type.String({
  minLength: 1,
  maxLength: 300,
  description: 'The scope to look into; `GET /v1/host/assay/memory/scopes` lists them. With `at` it is that of the run',
})

export const ListMemoryQuery = Type.Object({
  scope: Type.Optional(Scope),
  ref: Type.Optional(Ref),
  tag: Type.Optional(Tag),
  q: Type.Optional(
    Type.String({ minLength: 1, maxLength: 500, description: 'Words that entries must all have; best first' }),
  ),
  at: Type.Optional(At),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
})

export const MemoryEntryAnswer = Type.Object({
  id: Type.String(),
  memoryRef: Type.String(),
  scope: Type.String(),
  content: Type.Union([Type.String(), Type.Null()], { description: 'Null where it was destroyed' }),
  truncated: Type.Optional(Type.Literal(true)),
  bytes: Type.Integer(),
  tags: Type.Array(Type.String()),
  createdAt: Timestamp,
  expiresAt: Type.Optional(Timestamp),
  runId: Type.Optional(Type.String()),
  sequence: Type.Optional(Type.Integer()),
  nodeId: Type.Optional(Type.String()),
  agentId: Type.Optional(Type.String()),
})
export type MemoryEntryAnswer = Static<typeof MemoryEntryAnswer>

export const ListMemoryAnswer = Type.Object({ entries: Type.Array(MemoryEntryAnswer) })

export const GetMemoryQuery = Type.Object({
  ref: Type.String({ maxLength: LONGEST_REF, description: 'The `memoryRef` it is kept under' }),
  scope: Type.Optional(Scope),
  at: Type.Optional(At),
})

export const ForgetMemoryQuery = Type.Object({
  ref: Type.String({ maxLength: LONGEST_REF, description: 'The `memoryRef` it is kept under' }),
  scope: Scope,
  destroy: Type.Optional(
    Type.Union([Type.Literal('true'), Type.Literal('false')], {
      description: '`true` destroys the content of all its versions; forks that would see them are refused then',
    }),
  ),
})

export const ForgetMemoryAnswer = Type.Object({
  id: Type.String(),
  memoryRef: Type.String(),
  scope: Type.String(),
  copies: Type.Object({
    runs: Type.Integer({ description: 'Runs that wrote or read it' }),
    runIds: Type.Array(Type.String(), { description: 'The first of them' }),
  }),
  destroyedVersions: Type.Integer(),
  note: Type.String(),
})
export type ForgetMemoryAnswer = Static<typeof ForgetMemoryAnswer>

export const ListScopesQuery = Type.Object({
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
  after: Type.Optional(Type.String({ maxLength: 300, description: 'Scopes whose names come after this one' })),
})

export const ListScopesAnswer = Type.Object({
  scopes: Type.Array(
    Type.Object({
      scope: Type.String(),
      entries: Type.Integer(),
      writes: Type.Integer({ description: 'So many were published in it' }),
      oldestReadable: Type.Integer({ description: 'Writes before this one can no longer be read' }),
    }),
  ),
})

export const ConsolidateBody = Type.Object(
  { scope: Scope, memoryRef: Type.String({ maxLength: LONGEST_REF }) },
  { additionalProperties: false },
)

export const ConsolidateAnswer = Type.Object({
  memoryRef: Type.String(),
  scope: Type.String(),
  inputCount: Type.Integer(),
  outputCount: Type.Integer(),
  mergedIds: Type.Array(Type.String()),
  redactedIds: Type.Array(Type.String()),
})

export const StreamQuery = Type.Object({
  after: Type.Optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 1000 })),
})

export const StreamAnswer = Type.Object({
  events: Type.Array(
    Type.Object({
      sequence: Type.Integer(),
      type: Type.String(),
      payload: Type.Unknown(),
      timestamp: Timestamp,
    }),
  ),
  next: Type.Union([Type.Integer(), Type.Null()], {
    description: 'What to give as `after` for those that come later; null while there are none',
  }),
})
