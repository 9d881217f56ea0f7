import type { GoalEffect } from '../../core/goal/effects.js'
import type { GoalInput, Said } from '../../core/goal/input.js'
import type { Goal } from '../../core/goal/state.js'
import type { ProbeResult } from '../../core/verification/voting/judgement.js'
import type { Put } from '../standing/stream-kind.js'
import type { GoalDeps } from './deps.js'
import { leftBy } from './judge.js'

/**
 * R-GOAL-2: the host's own evaluator puts what a contributing run has left to the probes that the goal names. No run is made
 * for it, nothing is spent, and it is never less than sure of what it says.
 */
export async function judgeByProbes(
  deps: GoalDeps,
  { tenant, goalId, completion }: Goal,
  { of, version }: Extract<GoalEffect, { kind: 'judge' }>,
  signal: AbortSignal,
): Promise<Put<GoalInput> | undefined> {
  const { probes = [] } = completion
  const output = await leftBy(deps, of)
  if (output === undefined || probes.length === 0) return { input: { type: 'JudgeRefused', of } }
  const found = await deps.inspector.inspect({
    tenant,
    runId: of,
    bound: { gate: { evaluation_criteria: [{ dimension: DIMENSION, probes }] }, knowledge: [] },
    dimensions: [DIMENSION],
    output,
    files: deps.filesLeft(tenant, of),
    signal,
  })
  if (signal.aborted) return undefined
  const said = saidBy(found)
  if (said.verdict === 'none') deps.log.warn({ goalId, runId: of }, 'what a goal is judged by could not be found out')
  return { input: { type: 'HostJudged', of, version, said } }
}

const DIMENSION = 'goal'

/** One that does not hold is enough for no; where none fails and one could not be found out, nothing is said. */
export function saidBy(found: readonly ProbeResult[]): Said {
  const score = found.filter(({ outcome }) => outcome === 'held').length / Math.max(1, found.length)
  if (found.some(({ outcome }) => outcome === 'failed')) return { verdict: 'fail', score }
  return found.length > 0 && score === 1 ? { verdict: 'pass', score } : { verdict: 'none' }
}
