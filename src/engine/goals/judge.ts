import type { GoalEffect } from '../../core/goal/effects.js'
import type { GoalInput } from '../../core/goal/input.js'
import { judgeGrantNano, usdOfNano } from '../../core/goal/money.js'
import { deadlineOf, type Goal } from '../../core/goal/state.js'
import type { JsonObject } from '../../core/json.js'
import { GOAL_JUDGE_WORKFLOW } from '../../core/workflow/nodes/judge.js'
import type { Put } from '../standing/stream-kind.js'
import type { GoalDeps } from './deps.js'
import { configured } from './work.js'

/**
 * R-DWS-37: what a contributing run has left is put to the gate that the goal names, in a run of its own. That run is told to
 * nobody but the goal, and its log holds the verdict.
 */
export async function startJudge(
  deps: GoalDeps,
  goal: Goal,
  { of }: Extract<GoalEffect, { kind: 'judge' }>,
): Promise<Put<GoalInput> | undefined> {
  const refused: Put<GoalInput> = { input: { type: 'JudgeRefused', of } }
  const { verifierRef } = goal.completion
  const output = await leftBy(deps, of)
  if (verifierRef === null || output === undefined) return refused
  const grantNano = judgeGrantNano(goal)
  const left = deadlineOf(goal) - Math.max(deps.clock.now(), goal.lastAt)
  const { tenant, principal } = goal.owner
  const born = await deps.starter.born(
    {
      tenant,
      principal,
      workflowId: GOAL_JUDGE_WORKFLOW,
      inputs: { gateId: verifierRef, judgedRunId: of, output: { objective: goal.objective, outputs: output } },
      ...configured({}, left),
      transport: 'rest',
      metadata: { goalId: goal.goalId, judgedRunId: of },
      stream: {
        stream: goal.goalId,
        ...(grantNano === undefined ? {} : { grant: { maxCostUsd: usdOfNano(grantNano) } }),
      },
    },
    goal.lastAt,
  )
  if (!('code' in born)) return { input: { type: 'BeginJudge', runId: born.append.runId, of, grantNano }, born: [born] }
  deps.log.warn({ goalId: goal.goalId, error: born.message }, 'a judge could not be started')
  return refused
}

/** The outputs of a run as its readers see them. */
export async function leftBy({ runs, cache }: GoalDeps, runId: string): Promise<JsonObject | undefined> {
  const slot = cache.enter(runId)
  const loaded = await slot.runExclusive(() => runs.load(slot))
  const outcome = loaded?.state.phase === 'ended' ? loaded.state.outcome : undefined
  return outcome?.status === 'completed' ? outcome.outputs : undefined
}
