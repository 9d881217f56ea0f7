import type { JudgedResult, Verification } from '../client/wire-shapes.js'
import { count } from './agent-progress.js'
import { failedIn, passes, type Trial, type Unjudged, unjudgedIn } from './trials.js'

/** What a gate would say today of what it has judged, before anybody relies on the gate as it is now. */

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
  readonly was: Verification['verdict']
  readonly now: Verification['verdict']
  /** Dimensions that are not met: today's, or those of then where it would pass today. */
  readonly failed: readonly string[]
  /** What the run made of it then. */
  readonly label: JudgedResult['label']
  readonly trialRunId: string
}

export function backtestReport(trials: readonly Trial<JudgedResult>[]): BacktestReport {
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

const flipOf = (past: JudgedResult, trialRunId: string, judged: Verification): Flip => ({
  runId: past.runId,
  attempt: past.attempt,
  was: past.dwsVerdict,
  now: judged.verdict,
  failed: passes(judged) ? past.failed : failedIn(judged),
  label: past.label,
  trialRunId,
})

export const FLIPS_HEADER = ['RUN', 'ATTEMPT', 'THEN → NOW', 'FAILED', 'RESULT', 'TRIAL']

export const flipRow = ({ runId, attempt, was, now, failed, label, trialRunId }: Flip): string[] => [
  runId,
  String(attempt),
  `${was} → ${now}`,
  failed.join(', '),
  label,
  trialRunId,
]

export function backtestLines({ rejudged, flips, masked }: BacktestReport): string[] {
  const stricter = flips.filter(({ now }) => now === 'fail').length
  const milder = flips.length - stricter
  return [
    `${count(rejudged, 'result')} judged again: ${stricter} that passed would fail, ${milder} that failed would pass`,
    ...(masked === 0
      ? []
      : [
          `left out: ${count(masked, 'result')} with secrets; those are not kept, so what was judged is not there any more`,
        ]),
  ]
}
