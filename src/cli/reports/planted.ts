import pc from 'picocolors'
import type { Estimate } from '../../calibration/estimate.js'
import type { PlantedReport } from '../../calibration/planted.js'
import { printable } from '../terminal/terminal.js'
import { ESTIMATE_HEADER, percent, shareCells } from './estimate.js'

/** How a gate told known-good outputs from those with one thing wrong each. */

export const DEFECTS_HEADER = ['CAUGHT', ...ESTIMATE_HEADER]

export const defectRows = ({ defects, caught }: PlantedReport): string[][] => [
  ...defects.map(one => [one.kind, ...shareCells(one.caught)]),
  ['all defects', ...shareCells(caught)],
]

export const JUDGES_HEADER = ['JUDGE', 'CAUGHT', '95 %', 'N', 'FALSE ALARMS', '95 %', 'N']

export const judgeRows = (report: PlantedReport): string[][] => [
  ['the gate', ...shareCells(report.caught), ...shareCells(report.falseAlarms)],
  ...report.verifiers.map(one => [one.agentId, ...shareCells(one.caught), ...shareCells(one.falseAlarms)]),
]

/** What a person should look into. */
export const plantedLines = ({ missed, stopped }: PlantedReport): string[] => [
  ...missed.map(
    ({ kind, description, runId }) => `${pc.red('missed')}       ${printable(`${kind}: ${description}`)}, run ${runId}`,
  ),
  ...stopped.map(({ runId, failed }) => `${pc.yellow('false alarm')}  ${printable(failed.join(', '))}, run ${runId}`),
]

/** Shares from 0 to 1: of the defects that are to be caught at least, of the good outputs that may be stopped at most. */
export type PlantedDemands = { readonly minCaught?: number; readonly maxFalseAlarms?: number }

/** What was demanded and is not there. What nobody could judge has shown nothing. */
export function plantedShortfalls(
  { caught, falseAlarms }: Pick<PlantedReport, 'caught' | 'falseAlarms'>,
  { minCaught, maxFalseAlarms }: PlantedDemands,
): string[] {
  const seen = (estimate: Estimate | undefined) =>
    estimate === undefined ? 'none was judged' : `it is ${percent(estimate.value)} of ${estimate.n}`
  return [
    ...(minCaught === undefined || (caught !== undefined && caught.value >= minCaught)
      ? []
      : [`caught: at least ${percent(minCaught)} is demanded (--min-caught); ${seen(caught)}`]),
    ...(maxFalseAlarms === undefined || (falseAlarms !== undefined && falseAlarms.value <= maxFalseAlarms)
      ? []
      : [`false alarms: at most ${percent(maxFalseAlarms)} is allowed (--max-false-alarms); ${seen(falseAlarms)}`]),
  ]
}
