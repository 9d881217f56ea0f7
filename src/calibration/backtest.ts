import type { DwsVerdict } from '../core/verification/voting/judgement.js'
import { failedIn, type JudgedOutput, passes, type Trial, type Unjudged, unjudgedIn } from './trials.js'

/** What a gate would say today of what it has judged, before anybody relies on the gate as it is now. */

/** A verdict that a run went by. */
export type PastVerdict = {
  readonly runId: string
  readonly attempt: number
  readonly dwsVerdict: DwsVerdict
  readonly failed: readonly string[]
  readonly label: string
  readonly resultHash: string
}

export type BacktestReport = {
  /** Results that were judged again as they were. */
  readonly rejudged: number
  readonly flips: readonly Flip[]
  /** Results that hold secrets are not kept whole, so what was judged now is not what was judged then. */
  readonly masked: number
  readonly unjudged: Unjudged
}

export type Flip = {
  readonly runId: string
  readonly attempt: number
  readonly was: DwsVerdict
  readonly now: DwsVerdict
  /** Dimensions that are not met: today's, or those of then where it would pass today. */
  readonly failed: readonly string[]
  /** What the run made of it then. */
  readonly label: string
  readonly trialRunId: string
}

export function backtestReport(trials: readonly Trial<PastVerdict>[]): BacktestReport {
  const heard = trials.flatMap(({ case: past, runId, judged }) =>
    judged && runId !== undefined ? [{ past, runId, judged }] : [],
  )
  const same = heard.filter(({ past, judged }) => judged.resultHash === past.resultHash)
  return {
    rejudged: same.length,
    flips: same.flatMap(({ past, runId, judged }) =>
      passes(judged) === passes({ verdict: past.dwsVerdict }) ? [] : [flipOf(past, runId, judged)],
    ),
    masked: heard.length - same.length,
    unjudged: unjudgedIn(trials),
  }
}

const flipOf = (past: PastVerdict, trialRunId: string, judged: JudgedOutput): Flip => ({
  runId: past.runId,
  attempt: past.attempt,
  was: past.dwsVerdict,
  now: judged.verdict,
  failed: passes(judged) ? past.failed : failedIn(judged),
  label: past.label,
  trialRunId,
})
