import type { Goal } from './state.js'

/** Money of a goal, in whole billionths of a dollar (docs/design/goal.md, "Money and time"). */

const NANO = 1_000_000_000

type Purse = Pick<Goal, 'bounds' | 'spentNano' | 'heldNano' | 'open' | 'completion' | 'dearestJudgeNano'>

export const nanoOf = (usd: number): number => Math.round(usd * NANO)
export const usdOfNano = (nano: number): number => nano / NANO

/** Beneath `maxCostUsd`, less what ended runs took and open ones were granted; Infinity where money is not bounded. */
export function leftNano({ bounds, spentNano, heldNano, open }: Purse): number {
  if (bounds.maxCostUsd === undefined) return Number.POSITIVE_INFINITY
  const granted = open.reduce((sum, { grantNano = 0 }) => sum + grantNano, 0)
  return Math.max(0, nanoOf(bounds.maxCostUsd) - spentNano - heldNano - granted)
}

/** What the judge of the next contributing run may need. The host's own evaluators cost nothing. */
export const judgeShareNano = ({ bounds, completion, dearestJudgeNano }: Purse): number =>
  bounds.maxCostUsd === undefined || completion.check === 'host'
    ? 0
    : Math.max(Math.ceil(nanoOf(bounds.maxCostUsd) / 10), dearestJudgeNano)

/** What the next contributing run is granted: undefined where money is not bounded, 0 where there is nothing for one. */
export function workGrantNano(goal: Purse): number | undefined {
  const left = leftNano(goal)
  return Number.isFinite(left) ? Math.max(0, left - judgeShareNano(goal)) : undefined
}

/** The same for a judge: all that is left. */
export function judgeGrantNano(goal: Purse): number | undefined {
  const left = leftNano(goal)
  return Number.isFinite(left) ? left : undefined
}
