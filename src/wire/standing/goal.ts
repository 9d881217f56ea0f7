import { type Static, type TSchema, Type } from 'typebox'
import { CONTINUATION_MODES } from '../../core/goal/goal.js'
import type { GoalSchema } from '../../core/goal/goal-schema.js'
import { type Goal, goalStateOf, type Verdict } from '../../core/goal/state.js'
import { OneOf } from '../../core/schema/kinds.js'
import { EventsAnswer, EventsQuery } from '../event.js'
import { Timestamp } from '../ids.js'

export const GOAL_STATES = ['active', 'satisfied', 'escalated', 'abandoned', 'bound-exceeded'] as const

const closed = { additionalProperties: false }
const OrNull = <Schema extends TSchema>(schema: Schema) => Type.Union([schema, Type.Null()])

/** The latest so many contributing runs are told; all of them are in `GET /v1/runs?goalId=`. */
export const CONTRIBUTING_TOLD = 100

/** The Goal of the protocol (contract agents §21), and nothing besides. */
export const GoalAnswer = Type.Object(
  {
    id: Type.String(),
    objective: Type.String(),
    state: OneOf(GOAL_STATES),
    completion: Type.Object(
      {
        check: OneOf(['verifier', 'host']),
        verifierRef: OrNull(Type.String()),
        lastVerdict: OrNull(
          Type.Object(
            {
              satisfied: Type.Boolean(),
              confidence: Type.Optional(Type.Number({ minimum: 0, maximum: 1 })),
              runId: Type.String({ description: 'The run that was judged' }),
            },
            closed,
          ),
        ),
      },
      closed,
    ),
    continuation: Type.Object({ mode: OneOf(CONTINUATION_MODES), armRef: OrNull(Type.String()) }, closed),
    bounds: Type.Object(
      {
        maxLoopIterations: Type.Optional(Type.Integer()),
        runTimeoutMs: Type.Optional(Type.Integer()),
        maxCostUsd: Type.Optional(Type.Number()),
      },
      closed,
    ),
    progress: Type.Object(
      {
        iterations: Type.Integer({ minimum: 0, description: 'Contributing runs that have ended' }),
        contributingRunIds: Type.Array(Type.String(), {
          description: `The latest ${CONTRIBUTING_TOLD}, oldest first; GET /v1/runs?goalId= has all`,
        }),
      },
      closed,
    ),
    owner: Type.Object({ tenant: Type.String(), principal: Type.String() }, closed),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  },
  closed,
)
export type GoalAnswer = Static<typeof GoalAnswer>

export type CreateGoalBody = Static<typeof GoalSchema>

export const ListGoalsQuery = Type.Object({
  state: Type.Optional(OneOf(GOAL_STATES)),
  cursor: Type.Optional(Type.String({ minLength: 1, maxLength: 512 })),
  limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 200, default: 50 })),
})

export const ListGoalsAnswer = Type.Object({ goals: Type.Array(GoalAnswer), nextCursor: OrNull(Type.String()) })

export const GoalEventsQuery = Type.Object({ bufferMs: EventsQuery.properties.bufferMs })

export const GoalPollAnswer = Type.Object({
  goalId: Type.String(),
  events: EventsAnswer.properties.events,
  isComplete: Type.Boolean({ description: 'Nothing more will come' }),
  lastEventSeq: Type.Integer(),
})

/** Member by member: what a goal is made of here has more. */
export function renderGoal(goal: Goal): GoalAnswer {
  const { completion, continuation, bounds, owner, verdict } = goal
  return {
    id: goal.goalId,
    objective: goal.objective,
    state: goalStateOf(goal),
    completion: {
      check: completion.check,
      verifierRef: completion.verifierRef,
      lastVerdict: verdict && renderVerdict(verdict),
    },
    continuation: { mode: continuation.mode, armRef: continuation.armRef },
    bounds: {
      ...(bounds.maxLoopIterations === undefined ? undefined : { maxLoopIterations: bounds.maxLoopIterations }),
      ...(bounds.runTimeoutMs === undefined ? undefined : { runTimeoutMs: bounds.runTimeoutMs }),
      ...(bounds.maxCostUsd === undefined ? undefined : { maxCostUsd: bounds.maxCostUsd }),
    },
    progress: { iterations: goal.finished, contributingRunIds: goal.contributing.slice(-CONTRIBUTING_TOLD) },
    owner: { tenant: owner.tenant, principal: owner.principal },
    createdAt: new Date(goal.createdAt).toISOString(),
    updatedAt: new Date(goal.lastAt).toISOString(),
  }
}

const renderVerdict = ({ satisfied, confidence, runId }: Verdict) => ({
  satisfied,
  ...(confidence === undefined ? undefined : { confidence }),
  runId,
})
