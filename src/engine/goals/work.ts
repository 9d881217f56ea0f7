import type { GoalEffect } from '../../core/goal/effects.js'
import type { GoalWork } from '../../core/goal/goal.js'
import type { GoalInput, WorkCause } from '../../core/goal/input.js'
import { usdOfNano, workGrantNano } from '../../core/goal/money.js'
import { deadlineOf, type Goal } from '../../core/goal/state.js'
import type { JsonObject } from '../../core/json.js'
import type { Refusal } from '../../core/problem.js'
import type { CreateRun } from '../api.js'
import type { Put } from '../standing/stream-kind.js'
import type { GoalDeps } from './deps.js'

/** A tick has come: its run is made, and begins in the commit that reserves its iteration, if it still may then. */
export async function startWork(
  deps: GoalDeps,
  goal: Goal,
  { tick, runs }: Extract<GoalEffect, { kind: 'start-work' }>,
): Promise<Put<GoalInput>> {
  const cause = 'tick' in tick ? { by: 'tick' as const, ...tick } : { by: 'asked' as const, ...tick }
  const put = runs ? await contribution(deps, goal, requestFor(goal, runs), cause) : undefined
  if (put && !('code' in put)) return put
  if (put) deps.log.warn({ goalId: goal.goalId, error: put.message }, 'a contributing run could not be started')
  return { input: { type: 'WorkRefused' } }
}

/** A contributing run, held to what is left of money and time. */
export async function contribution(
  { starter, clock }: Pick<GoalDeps, 'starter' | 'clock'>,
  goal: Goal,
  request: CreateRun,
  cause: WorkCause,
): Promise<Put<GoalInput> | Refusal> {
  const grantNano = workGrantNano(goal)
  const left = deadlineOf(goal) - Math.max(clock.now(), goal.lastAt)
  const born = await starter.born(
    {
      ...request,
      ...configured(request, left),
      memoryScope: request.memoryScope ?? goal.goalId,
      metadata: { ...request.metadata, goalId: goal.goalId, iteration: goal.reserved + 1, ...armed(goal, cause) },
      stream: {
        stream: goal.goalId,
        ...(grantNano === undefined ? {} : { grant: { maxCostUsd: usdOfNano(grantNano) } }),
      },
    },
    goal.lastAt,
  )
  if ('code' in born) return born
  return { input: { type: 'BeginWork', runId: born.append.runId, cause, grantNano }, born: [born] }
}

/** It runs no longer than until the deadline, whatever it asked for. */
export function configured(
  { configurable }: Pick<CreateRun, 'configurable'>,
  left: number,
): { configurable?: JsonObject } {
  if (!Number.isFinite(left)) return configurable === undefined ? {} : { configurable }
  const wanted = configurable?.runTimeoutMs
  const runTimeoutMs = Math.max(1, typeof wanted === 'number' ? Math.min(wanted, left) : left)
  return { configurable: { ...configurable, runTimeoutMs } }
}

/** R-ARM-6: what has started it. */
const armed = ({ continuation }: Goal, cause: WorkCause): JsonObject => ({
  startedBy: cause.by === 'asked' ? 'hand' : cause.by,
  ...(continuation.armRef === null ? {} : { armRef: continuation.armRef }),
  ...(cause.by === 'tick' ? { tick: cause.tick } : {}),
})

/** In the name of whoever made the goal, with no more than that credential may do. */
export function requestFor({ owner }: Goal, { inputs, ...runs }: GoalWork): CreateRun {
  const who = { tenant: owner.tenant, principal: owner.principal, ...(owner.scopes ? { scopes: owner.scopes } : {}) }
  const request = { ...who, inputs, transport: 'rest' as const }
  return 'agentId' in runs ? { ...request, agentId: runs.agentId, source: 'run-api' } : { ...request, ...runs }
}
