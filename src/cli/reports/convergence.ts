import pc from 'picocolors'
import type { Fields, RunSnapshot } from '../../client/wire-shapes.js'
import { printable } from '../terminal/terminal.js'

/** Whether a run reached what it was for, as a person is told (R-VERIFY-19). */

/** The failure of a run or node whose result no gate let through. */
export const UNVERIFIED = 'verification_failed'

export const findingsHint = (runId: string): string => `${pc.dim('next:')}  assay runs findings ${runId}`

/** What is missing, by its own account or else by its gates'; undefined when nothing is. */
export function missingText({ convergence, assay }: RunSnapshot): string | undefined {
  if (convergence === undefined) return undefined
  const { successCriteria = [], verdicts } = convergence
  const unmet = successCriteria.filter(({ met }) => !met).map(({ key }) => key)
  if (unmet.length > 0) return `${unmet.length} of ${successCriteria.length} criteria not met (${unmet.join(', ')})`
  const gateOf = (target: string) => assay?.gates?.find(gate => gate.target === target)?.gateId
  const held = verdicts.filter(({ verdict }) => verdict !== 'pass').map(({ target }) => gateOf(target) ?? target)
  return held.length === 0 ? undefined : `${held.length} of ${verdicts.length} results not passed (${held.join(', ')})`
}

/** The end of a run that gave up: what is missing, what it made all the same, and where to look. */
export function givenUp(run: RunSnapshot, outputs: Fields | undefined): string[] {
  const { runId, convergence } = run
  const made =
    Object.keys(outputs ?? {}).length === 0
      ? []
      : [`${pc.dim('outputs, unverified:')} ${printable(JSON.stringify(outputs))}`]
  const judged = convergence !== undefined && convergence.verdicts.length > 0
  return [
    `${pc.yellow('gave up')}: ${printable(missingText(run) ?? 'the goal is not satisfied')}`,
    ...made,
    judged ? findingsHint(runId) : `${pc.dim('next:')}  assay runs get ${runId}`,
  ]
}
