import { type Static, Type } from 'typebox'
import { patternOf } from '../../core/names.js'
import { Timestamp } from '../ids.js'
import { At } from './memory.js'

const ContentType = Type.String({ pattern: patternOf('contentType'), maxLength: 256 })

export const ListFilesQuery = Type.Object({
  prefix: Type.Optional(Type.String({ maxLength: 256, description: 'That paths begin with' })),
  at: Type.Optional(At),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
})

const about = {
  path: Type.String(),
  version: Type.Integer({ minimum: 1 }),
  updatedAt: Timestamp,
  contentType: Type.Optional(Type.String()),
  etag: Type.Optional(Type.String()),
}

export const FileInfo = Type.Object({
  ...about,
  size: Type.Integer(),
  runId: Type.Optional(Type.String({ description: 'The run that wrote it' })),
})
export type FileInfo = Static<typeof FileInfo>

export const ListFilesAnswer = Type.Object({
  files: Type.Array(FileInfo),
  truncated: Type.Optional(Type.Literal(true)),
})

export const GetFileQuery = Type.Object({
  version: Type.Optional(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
  at: Type.Optional(At),
  raw: Type.Optional(Type.String({ maxLength: 8, description: 'The bytes themselves, whatever Accept says' })),
})

export const WorkspaceFile = Type.Object({ ...about, content: Type.String() }, { additionalProperties: false })
export type WorkspaceFile = Static<typeof WorkspaceFile>

export const PutFileBody = Type.Object(
  { content: Type.String(), contentType: Type.Optional(ContentType) },
  { additionalProperties: false },
)
export type PutFileBody = Static<typeof PutFileBody>
