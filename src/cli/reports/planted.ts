import pc from 'picocolors'
import type { PlantedReport } from '../../calibration/planted.js'
import { printable } from '../terminal/terminal.js'
import { ESTIMATE_HEADER, shareCells } from './estimate.js'

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
