import type { JudgedOutput, Trial } from '../trials.js'

type Sketch<Case> = Partial<Omit<Trial<Case>, 'judged'>> & {
  /** What the gate said; nothing where nobody could judge. */
  readonly verdict?: JudgedOutput['verdict']
  readonly votes?: readonly (readonly [agentId: string, verdict: JudgedOutput['verdict']])[]
  readonly resultHash?: string
}

/** A trial of the few facts a test is about, at a gate with the dimension `grounded`. */
export function trialOf<Case>(
  one: Case,
  { verdict, votes = [], resultHash = 'r', ...more }: Sketch<Case>,
): Trial<Case> {
  const judged = verdict && {
    verdict,
    resultHash,
    criteria: [{ dimension: 'grounded', passed: verdict !== 'fail' }],
    votes: votes.map(([agentId, said]) => ({ agentId, verdict: said })),
  }
  return {
    case: one,
    runId: 'trial',
    ...(judged && { judged }),
    faults: [],
    spent: { tokens: 10, costUsd: 0.5 },
    ...more,
  }
}
