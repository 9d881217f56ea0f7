import type { Static } from 'typebox'
import { type Spend, usdOf } from '../core/budget/budget.js'
import { compareSteps, labelsOf, type StepPair, sharedLength } from '../core/replay/comparison.js'
import type { Step, SteppedRun } from '../core/replay/steps.js'
import type { InspectedRun } from '../engine/api.js'
import { ancestryOf, stepsIn } from '../engine/queries/steps.js'
import { type CompareAnswer, MAX_OUTPUTS_SHOWN, MAX_STEPS } from '../wire/diff.js'
import type { Edge } from './deps.js'
import { pagedLog } from './streaming/paged-log.js'

type Comparison = Static<typeof CompareAnswer>

/** Two runs from the end of their common past on. */
export async function comparisonOf(edge: Edge, a: InspectedRun, b: InspectedRun): Promise<Comparison> {
  const [ours, theirs] = await Promise.all([a, b].map(run => ancestryOf(edge.engine, run)))
  const shared = sharedLength(ours ?? [], theirs ?? [])
  const read = (run: InspectedRun) => stepsIn(run.runId, pagedLog(edge, run, 0), shared, MAX_STEPS)
  // One after the other, so that no more than one page of each is held at a time.
  const [before, after] = [await read(a), await read(b)]
  const { steps, more, truncated } = compareSteps(before, after)
  const [left, right] = [sideOf(a, before), sideOf(b, after)]
  const isEqual = steps.every(({ differs }) => differs.length === 0) && outcomeOf(left) === outcomeOf(right)
  return {
    a: left,
    b: right,
    sharedEvents: shared,
    equal: isEqual,
    more: spentOf(more),
    steps: steps.map(pairDoc),
    ...(truncated && { truncated }),
  }
}

const outcomeOf = ({ status, goalSatisfied, error }: Comparison['a']): string =>
  JSON.stringify([status, goalSatisfied, error])

function sideOf({ runId, status, state }: InspectedRun, told: SteppedRun): Comparison['a'] {
  const outcome = state.phase === 'ended' ? state.outcome : undefined
  const goal = outcome?.status === 'completed' ? outcome.goalSatisfied : undefined
  return {
    runId,
    status,
    ...(goal !== undefined && { goalSatisfied: goal }),
    ...(outcome?.status === 'failed' && { error: outcome.error.code }),
    labels: labelsOf(told),
    changed: [...told.changed],
    spent: spentOf(told.spent),
  }
}

const spentOf = ({ tokens, costNano, toolCalls, retries }: Spend) => ({
  tokens,
  costUsd: usdOf(costNano),
  toolCalls,
  retries,
})

function pairDoc({ nodeId, time, differs, a, b }: StepPair): Comparison['steps'][number] {
  return {
    nodeId,
    time,
    differs: [...differs],
    ...(a && { a: stepDoc(a, differs) }),
    ...(b && { b: stepDoc(b, differs) }),
  }
}

function stepDoc(step: Step, differs: StepPair['differs']) {
  const { began, status, attempts, error, models, verdicts, spent } = step
  const isAlone = differs.some(what => what.startsWith('only'))
  const shown = (['outputs', 'variables'] as const).flatMap(part => {
    const value = step[part]
    const isWanted = value !== undefined && (isAlone || differs.includes(part))
    return isWanted && JSON.stringify(value).length <= MAX_OUTPUTS_SHOWN ? [[part, value] as const] : []
  })
  return {
    sequence: began,
    status,
    attempts,
    ...(error !== undefined && { error }),
    models: [...models],
    verdicts: verdicts.map(verdict => ({ ...verdict })),
    ...Object.fromEntries(shown),
    spent: spentOf(spent),
  }
}
