import type { GoalDetails, GoalInfo } from '../../client/wire-shapes.js'
import { EXIT, type ExitCode } from '../terminal/exit-code.js'
import { printable } from '../terminal/terminal.js'

const usd = (amount: number): string => `$${amount.toFixed(amount > 0 && amount < 0.01 ? 4 : 2)}`

/** What there is nothing more to wait for ends with; undefined while it goes on. */
export function exitCodeOfGoal({ state }: GoalInfo, { paused }: GoalDetails): ExitCode | undefined {
  if (state === 'satisfied') return EXIT.ok
  if (state === 'escalated') return EXIT.waiting
  if (state === 'active') return paused ? EXIT.waiting : undefined
  return EXIT.failed
}

/** Counter, criteria met, spend, and the next tick; or how it has ended. */
export function iterationLine(goal: GoalInfo, details: GoalDetails): string {
  return [counterOf(goal), verdictOf(details), spendOf(goal, details), whatNext(goal, details)].join('  ')
}

const counterOf = ({ progress, bounds }: GoalInfo): string =>
  `iteration ${progress.iterations}${bounds.maxLoopIterations === undefined ? '' : ` of ${bounds.maxLoopIterations}`}`

function verdictOf({ verdict }: GoalDetails): string {
  if (verdict === null) return 'not judged yet'
  const met = verdict.score === undefined ? '' : `, ${Math.round(verdict.score * 100)}% of criteria met`
  return `${verdict.satisfied ? 'satisfied' : 'not satisfied'}${met}`
}

const spendOf = ({ bounds }: GoalInfo, { spend }: GoalDetails): string =>
  `spent ${usd(spend.spentUsd + spend.heldUsd)}${bounds.maxCostUsd === undefined ? '' : ` of ${usd(bounds.maxCostUsd)}`}`

function whatNext({ state }: GoalInfo, { paused, escalation, openRuns, heldUntil, next }: GoalDetails): string {
  if (escalation !== null)
    return `escalated: ${escalation.reason}${escalation.runId ? ` (run ${escalation.runId})` : ''}`
  if (state !== 'active') return state
  if (paused) return 'paused'
  if (heldUntil !== null) return `held until ${heldUntil}`
  const [open] = openRuns
  if (open) return `${open.role === 'judge' ? 'judged by' : 'at work:'} run ${open.runId}`
  return next.dueAt === null ? 'waits to be run' : `next ${next.dueAt}`
}

/** All there is to know of one. */
export function goalLines(goal: GoalInfo, details: GoalDetails): string[] {
  const { completion, continuation, bounds } = goal
  const { iterations, deadline, best, openRuns } = details
  const limits = Object.entries(bounds).map(([name, value]) => `${name} ${value}`)
  const row = (name: string, value: string) => `${name.padEnd(10)} ${printable(value)}`
  return [
    row('goal', goal.id),
    row('objective', goal.objective),
    row('state', details.paused ? 'active, paused' : goal.state),
    row('judge', completion.check === 'host' ? 'the host' : `gate ${completion.verifierRef}`),
    row('by', continuation.armRef === null ? continuation.mode : `${continuation.mode} (${continuation.armRef})`),
    row('bounds', limits.join(', ')),
    row('runs', `${iterations.reserved} reserved, ${iterations.finished} finished${leftOf(iterations.left)}`),
    ...(deadline === null ? [] : [row('deadline', deadline)]),
    row('now', iterationLine(goal, details)),
    ...openRuns.map(({ runId, role, grantUsd }) =>
      row('open', `${role} ${runId}${grantUsd === null ? '' : `, granted ${usd(grantUsd)}`}`),
    ),
    ...(best === null ? [] : [row('best', `run ${best.runId}${best.verified ? '' : ', unverified'}${scoreOf(best)}`)]),
  ]
}

const leftOf = (left: number | null): string => (left === null ? '' : `, ${left} left`)
const scoreOf = ({ score }: { readonly score?: number }): string =>
  score === undefined ? '' : `, ${Math.round(score * 100)}% of criteria met`
