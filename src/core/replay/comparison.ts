import { minus, type Spend } from '../budget/budget.js'
import { sameJson } from '../json.js'
import type { Step, SteppedRun } from './steps.js'

/** Where a run comes from: itself, its source, the source of that; `upTo` events of each are also its own. */
export type Ancestry = readonly { readonly runId: string; readonly upTo: number }[]

/** How many events two runs share, as the same rows. */
export const sharedLength = (a: Ancestry, b: Ancestry): number =>
  Math.max(
    0,
    ...a.flatMap(ours => b.filter(({ runId }) => runId === ours.runId).map(theirs => Math.min(ours.upTo, theirs.upTo))),
  )

/** In what the same step of two runs differs. */
export type StepDifference = 'status' | 'outputs' | 'variables' | 'error' | 'verdict' | 'attempts' | 'model'

export type StepPair = {
  readonly nodeId: string
  /** Which time that the node works after the shared part, from 1. */
  readonly time: number
  readonly a?: Step
  readonly b?: Step
  /** Empty where both have it and it came out alike. */
  readonly differs: readonly (StepDifference | 'only a' | 'only b')[]
}

export type RunComparison = {
  readonly steps: readonly StepPair[]
  /** What b has spent after the shared part beyond what a has. */
  readonly more: Spend
  readonly truncated: boolean
}

/**
 * Two runs from the end of their common past on. The k-th time that a node works in one is held against the k-th time that
 * it works in the other; what only one has stands where it happened.
 */
export function compareSteps(a: SteppedRun, b: SteppedRun): RunComparison {
  const [ours, theirs] = [numbered(a.steps), numbered(b.steps)]
  const partner = new Map(theirs.map((step, at) => [step.key, at]))
  const known = new Set(ours.map(({ key }) => key))
  const steps: StepPair[] = []
  let next = 0
  const onlyTheirs = (until: number) => {
    for (; next < until; next += 1) {
      const { key, nodeId, time, step } = theirs[next] as Numbered
      if (!known.has(key)) steps.push({ nodeId, time, b: step, differs: ['only b'] })
    }
  }
  for (const { key, nodeId, time, step } of ours) {
    const at = partner.get(key)
    if (at === undefined) {
      steps.push({ nodeId, time, a: step, differs: ['only a'] })
      continue
    }
    onlyTheirs(at)
    const other = (theirs[at] as Numbered).step
    steps.push({ nodeId, time, a: step, b: other, differs: differencesOf(step, other) })
  }
  onlyTheirs(theirs.length)
  return { steps, more: minus(b.spent, a.spent), truncated: a.truncated || b.truncated }
}

type Numbered = { readonly key: string; readonly nodeId: string; readonly time: number; readonly step: Step }

function numbered(steps: readonly Step[]): readonly Numbered[] {
  const times = new Map<string, number>()
  return steps.map(step => {
    const { nodeId } = step
    const time = (times.get(nodeId) ?? 0) + 1
    times.set(nodeId, time)
    return { key: JSON.stringify([nodeId, time]), nodeId, time, step }
  })
}

function differencesOf(a: Step, b: Step): StepDifference[] {
  const isSame: readonly [StepDifference, boolean][] = [
    ['status', a.status === b.status],
    // What only one has come to says the status.
    ['outputs', !(a.outputs && b.outputs) || sameJson(a.outputs, b.outputs)],
    ['variables', sameJson(a.variables, b.variables)],
    ['error', a.error === b.error],
    ['verdict', sameJson(a.verdicts, b.verdicts)],
    ['attempts', a.attempts === b.attempts || a.attempts * b.attempts === 0],
    ['model', sameJson(a.models, b.models)],
  ]
  return isSame.flatMap(([name, same]) => (same ? [] : [name]))
}

/** What may be said of the results of a run, by the latest word of each gate about each place. */
export const labelsOf = ({ steps }: Pick<SteppedRun, 'steps'>): string[] => {
  const latest = new Map(
    steps.flatMap(({ nodeId, verdicts }) =>
      verdicts.map(({ gateId, label = 'unverified' }) => [JSON.stringify([gateId, nodeId]), label] as const),
    ),
  )
  return [...new Set(latest.values())]
}
