import type { DwsVerdict } from '../core/verification/voting/judgement.js'

/** What a gate said of an output, as far as it is counted. */
export type JudgedOutput = {
  readonly verdict: DwsVerdict
  readonly resultHash: string
  readonly criteria: readonly { readonly dimension: string; readonly passed: boolean }[]
  readonly votes: readonly { readonly agentId: string; readonly verdict: DwsVerdict }[]
}

/** What a gate said of an output that it was shown to learn just that. */
export type Trial<Case> = {
  readonly case: Case
  /** Absent where the server would not even take the output. */
  readonly runId?: string
  /** Absent where nobody could judge. */
  readonly judged?: JudgedOutput
  /** Why nobody could, as codes. */
  readonly faults: readonly string[]
  readonly spent: { readonly tokens: number; readonly costUsd: number }
}

export const NO_TRIAL_COST: Trial<unknown>['spent'] = { tokens: 0, costUsd: 0 }

export const passes = ({ verdict }: Pick<JudgedOutput, 'verdict'>): boolean => verdict !== 'fail'

export const failedIn = ({ criteria }: Pick<JudgedOutput, 'criteria'>): string[] =>
  criteria.flatMap(({ dimension, passed }) => (passed ? [] : [dimension]))

export const spentOn = (trials: readonly Pick<Trial<unknown>, 'spent'>[]): Trial<unknown>['spent'] =>
  trials.reduce(
    (sum, { spent }) => ({ tokens: sum.tokens + spent.tokens, costUsd: sum.costUsd + spent.costUsd }),
    NO_TRIAL_COST,
  )

/** Outputs that nobody could judge are neither good nor bad. */
export type Unjudged = { readonly count: number; readonly faults: { readonly [code: string]: number } }

export function unjudgedIn(trials: readonly Trial<unknown>[]): Unjudged {
  const missing = trials.filter(({ judged }) => judged === undefined)
  const faults: { [code: string]: number } = {}
  for (const code of missing.flatMap(trial => (trial.faults.length > 0 ? [...new Set(trial.faults)] : ['no_quorum'])))
    faults[code] = (faults[code] ?? 0) + 1
  return { count: missing.length, faults }
}
