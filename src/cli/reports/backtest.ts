import type { BacktestReport, Flip } from '../../calibration/backtest.js'
import { count } from '../progress/agent-text.js'

/** What a gate would say today of what it has judged, as someone reads it who is about to change the gate. */

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
