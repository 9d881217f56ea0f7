import pc from 'picocolors'
import type { Calibration, Estimate } from '../../client/wire-shapes.js'
import { count } from '../progress/agent-text.js'
import { printable } from '../terminal/terminal.js'
import { ESTIMATE_HEADER, numberCells, percent, shareCells } from './estimate.js'

/** How good the judges of a gate have been, as someone reads it who has to decide whether to rely on them. */

export const CALIBRATION_HEADER = ['JUDGE', 'DIMENSION', 'MEASURE', ...ESTIMATE_HEADER]

type Judge = Calibration['gate']
type Measured = Partial<Judge> & Pick<Judge, 'blocking_findings_overturned'>

const MEASURES: readonly [string, (judge: Measured) => Estimate | undefined, (estimate: Estimate) => string[]][] = [
  ['bad results stopped', judge => judge.true_positive_rate, shareCells],
  ['good results let through', judge => judge.true_negative_rate, shareCells],
  ['stopped though good', judge => judge.false_positive_rate, shareCells],
  ['agrees with the truth (kappa)', judge => judge.kappa, numberCells],
  ['confidence is off by', judge => judge.expected_calibration_error, shareCells],
  ['scores the same again', judge => judge.consistency_score, shareCells],
  ['objections overturned', judge => judge.blocking_findings_overturned.share, shareCells],
  ['findings per result', judge => judge.findings_per_run, numberCells],
]

/** The gate first; of each judge first all together. What nothing is known of is left out. */
export const calibrationRows = ({ gate, verifiers }: Calibration): string[][] =>
  [gate, ...verifiers].flatMap(judge =>
    [{ ...judge, dimension: 'all' }, ...judge.dimensions].flatMap(measured => rowsOf(judge.judge, measured)),
  )

const rowsOf = (judge: string, measured: Measured & { readonly dimension: string }): string[][] =>
  MEASURES.flatMap(([name, estimateOf, cells]) => {
    const estimate = estimateOf(measured)
    return estimate === undefined ? [] : [[judge, measured.dimension, name, ...cells(estimate)]]
  })

export function calibrationLines(found: Calibration): string[] {
  const { attempts, labels, effectiveVotes, sharedModel } = found
  const lines = [
    `judged   ${count(attempts, 'result')}; ${truthText(labels)}`,
    ...(effectiveVotes === undefined
      ? []
      : [`votes    together the verifiers are worth ${effectiveVotes.toFixed(1)} independent votes`]),
    `licence  ${licenceText(found)}`,
  ].map(printable)
  if (sharedModel === 0) return lines
  const warned = `${sharedModel} of ${count(attempts, 'result')}: verifiers ran on one model, so they err together; give them different models`
  return [...lines, `${pc.yellow('warning')}  ${warned}`]
}

function truthText({ good, bad, by }: Calibration['labels']): string {
  if (good + bad === 0) return 'of none is the truth known, as it is once a person accepts or refuses one'
  const whose = Object.entries(by).flatMap(([who, n]) => (n > 0 ? [`${n} by ${who}`] : []))
  return `the truth is known of ${good + bad}: ${good} good, ${bad} bad (${whose.join(', ')})`
}

function licenceText({ standing, licence }: Calibration): string {
  const { required, held, min_n, lower_bound } = licence
  const { n, lower } = standing
  const right = n === 0 ? 'no verdict' : `right in at least ${percent(lower)} of ${count(n, 'verdict')}`
  const shown = `as the gate is now, ${right} of known truth`
  const wanted = `${percent(lower_bound)} of ${min_n}`
  const state = held ? 'held' : 'not held'
  return required
    ? `${state}: ${shown}; it demands ${wanted}${held ? '' : ', and a person is asked until then'}`
    : `not needed (auto_commit: always): ${shown}; it would be ${state}, for ${wanted}`
}
