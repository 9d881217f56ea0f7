import { Type } from 'typebox'
import { PROBLEMS } from '../core/problem.js'
import { OneOf } from '../core/schema/kinds.js'

/** Closed: nothing but these three at the top level (contract core §3.2). */
export const ErrorEnvelope = Type.Object(
  {
    error: OneOf(Object.keys(PROBLEMS) as (keyof typeof PROBLEMS)[]),
    message: Type.String({ minLength: 1 }),
    details: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
  },
  { additionalProperties: false },
)
