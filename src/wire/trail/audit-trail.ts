import { Type } from 'typebox'
import { OneOf } from '../../core/schema/kinds.js'
import { Timestamp } from '../ids.js'

export const TrailQueryDoc = Type.Object({
  before: Type.Optional(
    Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER, description: '`next` of the answer before' }),
  ),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
})

export const TrailAnswer = Type.Object({
  records: Type.Array(
    Type.Object(
      {
        seq: Type.Integer({ minimum: 1, description: 'From 1, without gaps' }),
        timestamp: Timestamp,
        principal: Type.String({ description: 'Who' }),
        credential: Type.String({ description: 'Id of the key; `link` through a link; `host` for the host itself' }),
        action: Type.String({
          description: 'What, such as transcript.read, key.create, verdict.override or run.purge',
        }),
        object: Type.String({ description: 'What it was done to, such as run:ID; `-` where that had no id yet' }),
        outcome: OneOf(['begun', 'allowed', 'refused'], {
          description: 'begun: about to be done; what became of it follows, unless nobody was there to tell',
        }),
        hash: Type.String({ description: 'SHA-256 over the record and the hash of the one before' }),
      },
      { additionalProperties: false },
    ),
    { description: 'Newest first' },
  ),
  chainValid: Type.Boolean({ description: 'Every record shown is as it was written and follows the one before' }),
  next: Type.Union([Type.Integer({ minimum: 1 }), Type.Null()], { description: 'The next `before`; null at the end' }),
})
