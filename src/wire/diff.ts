import { Type } from 'typebox'
import { OneOf } from '../core/schema/kinds.js'
import { RunEventDoc } from './event.js'
import { RunId } from './ids.js'
import { RUN_STATUSES } from './run.js'
import { Spent } from './verification.js'

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

/** Steps of each run that one comparison lists. */
export const MAX_STEPS = 1000
/** Characters of the outputs of one step, as JSON, that it shows. */
export const MAX_OUTPUTS_SHOWN = 4096

const Texts = Type.Array(Type.String())

const More = Type.Object(
  { tokens: Type.Integer(), costUsd: Type.Number(), toolCalls: Type.Integer(), retries: Type.Integer() },
  { description: 'What b has spent after the shared part beyond what a has; below 0 where it has spent less' },
)

const Side = Type.Object({
  runId: RunId,
  status: OneOf(RUN_STATUSES),
  goalSatisfied: Type.Optional(Type.Boolean()),
  error: Type.Optional(Type.String({ description: 'Code of the failure that ended it' })),
  labels: Type.Array(Type.String(), { description: 'What may be said of its results after the shared part' }),
  changed: Type.Array(Type.String(), { description: 'Names of what it changes of its source' }),
  spent: Type.Object(Spent.properties, { description: 'After the shared part, with workers and verifiers' }),
})

const Shown = Type.Record(Type.String(), Type.Unknown(), {
  description: `As the log shows them; only where they differ, and up to ${MAX_OUTPUTS_SHOWN} characters`,
})

const StepSide = Type.Object({
  sequence: Type.Integer({ minimum: 0, description: 'Of the event that began it' }),
  status: OneOf(['open', 'completed', 'failed', 'skipped', 'cancelled']),
  attempts: Type.Integer({ minimum: 0 }),
  error: Type.Optional(Type.String()),
  models: Texts,
  verdicts: Type.Array(
    Type.Object({ gateId: Type.String(), verdict: Type.String(), label: Type.Optional(Type.String()) }),
  ),
  outputs: Type.Optional(Shown),
  variables: Type.Optional(Shown),
  spent: Spent,
})

export const CompareAnswer = Type.Object(
  {
    a: Side,
    b: Side,
    sharedEvents: Type.Integer({ minimum: 0, description: 'Events that both have as the same past' }),
    equal: Type.Boolean({ description: 'Every step came out alike, and so did the runs' }),
    more: More,
    steps: Type.Array(
      Type.Object({
        nodeId: Type.String(),
        time: Type.Integer({ minimum: 1, description: 'Which time the node works after the shared part' }),
        differs: Type.Array(
          OneOf(['only a', 'only b', 'status', 'outputs', 'variables', 'error', 'verdict', 'attempts', 'model']),
        ),
        a: Type.Optional(StepSide),
        b: Type.Optional(StepSide),
      }),
    ),
    truncated: Type.Optional(
      Type.Literal(true, { description: `A run has more than ${MAX_STEPS} steps after the shared part` }),
    ),
  },
  { additionalProperties: false },
)
