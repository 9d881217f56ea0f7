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
  const { successCriteria = [], verdicts, against = [] } = convergence
  const unmet = successCriteria.filter(({ met }) => !met).map(({ key }) => key)
  if (unmet.length > 0) return `${unmet.length} of ${successCriteria.length} criteria not met (${unmet.join(', ')})`
  if (against.length > 0) return againstText(against)
  const gateOf = (target: string) => assay?.gates?.find(gate => gate.target === target)?.gateId
  const held = verdicts.filter(({ verdict }) => verdict !== 'pass').map(({ target }) => gateOf(target) ?? target)
  return held.length === 0 ? undefined : `${held.length} of ${verdicts.length} results not passed (${held.join(', ')})`
}

type Against = NonNullable<NonNullable<RunSnapshot['convergence']>['against']>[number]

const AGAINST: readonly [whats: readonly Against['what'][], text: string][] = [
  [['fail', 'revise'], 'not passed by its gate'],
  [['forced'], 'let through without a pass'],
  [['part'], 'verified in part'],
  [['gave-up'], 'given up further down'],
]

/** Each place by its name, with what stands against it. */
const againstText = (against: readonly Against[]): string =>
  AGAINST.flatMap(([whats, text]) => {
    const places = against.filter(({ what }) => whats.includes(what)).map(placeText)
    return places.length === 0 ? [] : [`${places.join(', ')} ${text}`]
  }).join('; ')

const placeText = ({ nodeId, workerId, gateId }: Against): string =>
  `${workerId ?? nodeId}${gateId === undefined ? '' : ` (gate ${gateId})`}`

/** What is said of a run all the same that was let through without a pass, where that is allowed. */
export const forcedNote = (run: RunSnapshot): string =>
  `${pc.yellow('forced')}: ${printable(missingText(run) ?? 'let through without a pass')}; not verified`

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
