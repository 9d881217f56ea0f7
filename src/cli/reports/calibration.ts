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
  ['blocking findings incorrect', judge => judge.false_positive_rate, shareCells],
  ['agrees with the truth (kappa)', judge => judge.kappa, numberCells],
  ['confidence is off by', judge => judge.expected_calibration_error, shareCells],
  ['scores the same again', judge => judge.consistency_score, shareCells],
  ['objections overturned', judge => judge.blocking_findings_overturned.share, shareCells],
  ['findings per result', judge => judge.findings_per_run, numberCells],
]

/** The gate first; of each judge first all together. What nothing is known of is left out. */
export const calibrationRows = ({ gate, verifiers, passed, failed }: Calibration): string[][] => [
  ...lookedRow(gate.judge, 'good, of those that passed', passed),
  ...lookedRow(gate.judge, 'bad, of those that failed', failed),
  ...[gate, ...verifiers].flatMap(judge =>
    [{ ...judge, dimension: 'all' }, ...judge.dimensions].flatMap(measured => rowsOf(judge.judge, measured)),
  ),
]

const lookedRow = (judge: string, name: string, looked: Calibration['passed']): string[][] =>
  looked === undefined
    ? []
    : [[judge, 'all', looked.of === 'all' ? name : `${name} and were asked about`, ...shareCells(looked.right)]]

const rowsOf = (judge: string, measured: Measured & { readonly dimension: string }): string[][] =>
  MEASURES.flatMap(([name, estimateOf, cells]) => {
    const estimate = estimateOf(measured)
    return estimate === undefined ? [] : [[judge, measured.dimension, name, ...cells(estimate)]]
  })

export function calibrationLines(found: Calibration): string[] {
  const { attempts, labels, effectiveVotes, sharedModel } = found
  const lines = [
    `judged   ${count(attempts, 'result')}; ${truthText(labels)}`,
    ...unseenLines(found),
    ...(effectiveVotes === undefined ? [] : [`votes    ${votesText(effectiveVotes)}`]),
    ...licenceLines(found),
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

/** Rates over all results need labels of every kind of result; why they are not there is said in their place. */
function unseenLines({ unseen }: Calibration): string[] {
  if (unseen.length === 0) return []
  const kinds = unseen.map(kind => UNSEEN[kind] ?? kind).join(' and ')
  return [
    `unknown  nobody has looked at ${kinds}: how many bad results are stopped, and good ones let through, cannot be told of all`,
  ]
}

const UNSEEN: { readonly [stratum: string]: string } = {
  pass: 'a result that passed without doubt',
  'pass, doubted': 'a pass that was in doubt',
  fail: 'a result that failed and was sent back or given up',
  'fail, asked': 'a failed result that a person was asked about',
}

function votesText({ value, from }: NonNullable<Calibration['effectiveVotes']>): string {
  const worth = `together the verifiers are worth ${value.toFixed(1)} independent votes`
  return from === 'errors'
    ? `${worth}, by how they err together`
    : `${worth}, by how they vote together; good judges agree as well, so it may be more`
}

function licenceLines({ standing, licence }: Calibration): string[] {
  const { required, held, bad_stopped, good_passed } = licence
  const state = held ? 'held' : 'not held'
  const rest = held ? '' : ', and a person is asked until then'
  return [
    `licence  ${required ? `${state}${rest}` : `not needed (auto_commit: always); it would be ${state}`}; as the gate and its verifiers are now:`,
    `         ${sideText('bad', 'stopped', standing.badStopped, bad_stopped)}`,
    `         ${sideText('good', 'let through', standing.goodPassed, good_passed)}`,
  ]
}

type Demand = Calibration['licence']['bad_stopped']

function sideText(kind: string, done: string, { n, lower }: { n: number; lower: number }, wanted: Demand): string {
  const shown =
    n === 0 ? `no ${kind} result is known` : `of ${count(n, `${kind} result`)} at least ${percent(lower)} are ${done}`
  return `${shown}; wanted are ${percent(wanted.lower_bound)} of ${wanted.min_n}`
}
