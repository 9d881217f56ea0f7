import { type Static, Type } from 'typebox'
import { OneOf } from '../../core/schema/kinds.js'
import { RunId } from '../ids.js'
import { RUN_STATUSES } from '../run.js'

export const RetryBody = Type.Object(
  { nodeId: Type.Optional(Type.String({ minLength: 1, maxLength: 256, description: 'Only this node' })) },
  { additionalProperties: false },
)
export type RetryBody = Static<typeof RetryBody>

export const RetryAnswer = Type.Object({
  runId: RunId,
  status: OneOf(RUN_STATUSES),
  sourceRunId: Type.Optional(
    Type.Unsafe<string>({ ...RunId, description: 'The failed run, where this one goes on from it' }),
  ),
  nodeId: Type.Optional(Type.String({ description: 'What is tried again' })),
  fromSeq: Type.Optional(Type.Integer({ minimum: 0, description: 'First event that the two do not share' })),
})
