import type { Verification } from '../../client/wire-shapes.js'
import type { Trial } from '../trials.js'

type Sketch<Case> = Partial<Omit<Trial<Case>, 'judged'>> & {
  /** What the gate said; nothing where nobody could judge. */
  readonly verdict?: Verification['verdict']
  readonly votes?: readonly (readonly [agentId: string, verdict: Verification['verdict']])[]
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
    criteria: [
      { dimension: 'grounded', pass_threshold: 4, passed: verdict !== 'fail', settledBy: 'verifiers' as const },
    ],
    votes: votes.map(([agentId, said]) => ({ agentId, verdict: said })),
  }
  return {
    case: one,
    runId: 'trial',
    ...(judged && { judged: judged as unknown as Verification }),
    faults: [],
    spent: { tokens: 10, costUsd: 0.5 },
    ...more,
  }
}
