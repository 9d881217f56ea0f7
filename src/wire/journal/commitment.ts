import { type Static, Type } from 'typebox'
import { HeartbeatFields } from '../../core/arm/heartbeat-document.js'
import { GoalWorkSchema } from '../../core/goal/goal-schema.js'
import { OneOf } from '../../core/schema/kinds.js'
import { Tag, Timestamp } from '../ids.js'

const CommitmentTerms = Type.Object(
  {
    at: Type.Optional(
      Type.String({ format: 'date-time', maxLength: 64, description: 'When; a time that has passed is at once' }),
    ),
    when: Type.Optional(
      Type.Object(HeartbeatFields, {
        additionalProperties: false,
        description: 'Or what must hold: it fires when it does for the first time',
      }),
    ),
    run: GoalWorkSchema,
  },
  { additionalProperties: false, description: 'Either `at` or `when`, and what is run then' },
)

/** An entry of memory, and what it asks for. */
export const MakeCommitmentBody = Type.Object(
  {
    scope: Type.String({
      minLength: 1,
      maxLength: 300,
      description: 'The scope of memory that the entry is written into',
    }),
    memoryRef: Type.String({ minLength: 1, maxLength: 256 }),
    memoryId: Type.Optional(Type.String({ minLength: 1, maxLength: 1_500, description: 'Made up where left out' })),
    content: Type.String({ description: 'What the entry says. It is in no event' }),
    tags: Type.Optional(Type.Array(Tag, { maxItems: 32 })),
    ttlSeconds: Type.Optional(
      Type.Integer({ minimum: 1, description: 'It is forgotten then, and does not fire any more' }),
    ),
    commitment: CommitmentTerms,
  },
  { additionalProperties: false },
)
export type MakeCommitmentBody = Static<typeof MakeCommitmentBody>

export const CommitmentAnswer = Type.Object({
  commitmentId: Type.String(),
  scope: Type.String(),
  memoryRef: Type.String(),
  memoryId: Type.String(),
  condition: OneOf(['time', 'predicate']),
  at: Type.Optional(Timestamp),
  intervalSeconds: Type.Optional(Type.Integer()),
  state: OneOf(['waiting', 'fired', 'dropped'], {
    description: 'It fires once at most, and then nothing more comes of it',
  }),
  enqueuedRunId: Type.Optional(Type.String()),
  dropped: Type.Optional(
    OneOf(['forgotten', 'superseded', 'cancelled', 'refused', 'poisoned'], {
      description:
        'Why it never fires: its entry is gone, or says something else; somebody called it off; its run is refused for good; hosts died of it',
    }),
  ),
  held: Type.Union([Type.Object({ code: Type.String(), tries: Type.Integer(), until: Timestamp }), Type.Null()], {
    description: 'Why the run that is due is not there yet, and when it is tried again',
  }),
  createdAt: Timestamp,
})
export type CommitmentAnswer = Static<typeof CommitmentAnswer>

export const ListCommitmentsQuery = Type.Object({
  open: Type.Optional(OneOf(['true', 'false'], { description: '`true`: only those that may still fire' })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200 })),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 256 })),
})

export const ListCommitmentsAnswer = Type.Object({
  commitments: Type.Array(CommitmentAnswer),
  nextCursor: Type.Union([Type.String(), Type.Null()]),
})
