import { Type } from 'typebox'
import { OneOf } from '../core/schema/kinds.js'
import { RunEventDoc } from './event.js'
import { RunId } from './ids.js'

/** Differences between two logs that one answer lists. */
export const MAX_EVENT_DIFFS = 1000
/** Of payloads, in what it lists; one difference is listed however large it is. */
export const MAX_DIFF_CHARACTERS = 8 * 1024 * 1024

export const DiffQuery = Type.Object({
  against: Type.String({ minLength: 1, maxLength: 256, description: 'The run to compare with' }),
})

export const DiffAnswer = Type.Object(
  {
    a: RunId,
    b: RunId,
    divergedAtSeq: Type.Union([Type.Integer({ minimum: 0 }), Type.Null()]),
    eventDiffs: Type.Array(
      Type.Object({
        seq: Type.Integer({ minimum: 0 }),
        op: OneOf(['added', 'removed', 'changed'], { description: 'added: only `against` has it' }),
        aEvent: Type.Optional(RunEventDoc),
        bEvent: Type.Optional(RunEventDoc),
      }),
    ),
    stateDiff: Type.Record(Type.String(), Type.Unknown()),
    truncated: Type.Optional(
      Type.Literal(true, {
        description: `A run is still in flight and only a prefix was compared, or there are more than ${MAX_EVENT_DIFFS} differences, or more than fit into 8 MiB`,
      }),
    ),
  },
  { additionalProperties: false },
)
