import { type Static, type TProperties, type TSchema, Type } from 'typebox'
import { ScheduleArmFields } from '../arm/schedule-document.js'
import { patternOf } from '../names.js'
import {
  type Annotations,
  AnyObject,
  Closed,
  ListOf,
  May,
  Milliseconds,
  NumberFrom,
  OneOf,
  Text,
  Whole,
} from '../schema/kinds.js'
import { BREAKER, CONTINUATION_MODES, MOST_ITERATIONS } from './goal.js'

/** What people write of a goal: over HTTP, and in `goals/*.yaml` of a project. */

const LONGEST_OBJECTIVE = 10_000
/** A hundred years: a moment that every calendar can still say. */
const MOST_TIMEOUT_MS = 100 * 366 * 86_400_000
const MOST_COST_USD = 1_000_000
const MOST_SAME = 1_000

const orNull = (schema: TSchema, more: Annotations) => Type.Union([schema, Type.Null()], { default: null, ...more })

const objective = Text(LONGEST_OBJECTIVE, { description: 'What is to be reached, for those who work and who judge' })

const completion = Closed(
  {
    check: OneOf(['verifier', 'host'], {
      description: 'Who judges: the verifiers of a gate, or the host by itself',
      'x-must-be': '"verifier" or "host"',
    }),
    verifierRef: May(
      orNull(Text(128), {
        description: 'With `verifier`: the gate that judges, whose `position.placement` is `goal`',
        'x-must-be': 'the id of a gate, or null',
      }),
    ),
  },
  { description: 'Who says whether it is reached' },
)

const continuation = Closed(
  {
    mode: OneOf(CONTINUATION_MODES, {
      description: 'What starts the next run: a schedule, or whoever asks for it',
      'x-must-be': `one of ${CONTINUATION_MODES.join(', ')}`,
    }),
    armRef: May(
      orNull(Text(256), {
        description: 'A name of your own for what starts it; runs carry it in `metadata.armRef`',
        'x-must-be': 'text of at most 256 characters, or null',
      }),
    ),
  },
  { description: 'How it goes on between one judgement and the next', default: { mode: 'manual', armRef: null } },
)

const bounds = Closed(
  {
    maxLoopIterations: May(Whole(1, MOST_ITERATIONS, { description: 'So many contributing runs at most' })),
    runTimeoutMs: May(
      Milliseconds(0, MOST_TIMEOUT_MS, { description: 'From its creation on: nothing is started after it' }),
    ),
    maxCostUsd: May(
      NumberFrom(0, MOST_COST_USD, {
        description: 'For all its runs together, those of judges and children included',
      }),
    ),
  },
  { description: 'At least one of them. They are fixed when the goal is made' },
)

const work = Closed(
  {
    workflowId: May(
      Type.String({ pattern: patternOf('workflowId'), 'x-must-be': 'the id of a workflow', description: 'A workflow' }),
    ),
    agentId: May(
      Type.String({ pattern: patternOf('agentId'), 'x-must-be': 'the id of an agent', description: 'Or an agent' }),
    ),
    inputs: May(AnyObject({ description: 'What each run is given', default: {} })),
  },
  {
    description: 'what is run for a goal: `{workflowId, inputs}` or `{agentId, inputs}`',
    'x-must-be': 'an object with a workflowId or an agentId, and inputs',
  },
)

/** What each contributing run is a run of. */
export const GoalWorkSchema = Type.Refine(
  work,
  value => ((value as GoalWorkWritten).workflowId === undefined) !== ((value as GoalWorkWritten).agentId === undefined),
  () => 'must name a workflowId or an agentId, and not both: a run is of a workflow or of an agent',
) as typeof work
export type GoalWorkWritten = Static<typeof work>

const arm = Closed(ScheduleArmFields, { description: 'With mode `schedule`: when' })

const judge = Closed(
  {
    escalateAfterSame: May(
      Whole(0, MOST_SAME, {
        description: 'Ask a person when so many runs in a row came to the same; 0 never does',
        default: BREAKER,
      }),
    ),
    probes: May(
      ListOf(AnyObject(), 1, 20, {
        description: 'With check `host`: probes as gates have them, all of which must hold of what a run has left',
      }),
    ),
  },
  { description: 'Fixed when the goal is made' },
)

const beyond = <Fields extends TProperties>(fields: Fields) =>
  May(Closed(fields, { description: 'What this host does beyond the protocol' }))

export const GoalSchema = Closed({
  objective,
  completion,
  continuation: May(continuation),
  bounds,
  assay: beyond({ run: May(GoalWorkSchema), arm: May(arm), judge: May(judge) }),
})

export const GoalEditSchema = Closed({
  objective: May(objective),
  completion: May(completion),
  continuation: May(Type.Object(continuation.properties, { additionalProperties: false, 'x-must-be': 'an object' })),
  assay: beyond({ run: May(GoalWorkSchema), arm: May(arm) }),
})
