import type { ArmTick } from '../arm/arm.js'
import { type ArmEffect, armOwes, armPending, armWakeAt } from '../arm/effects.js'
import { CHILD_RECHECK_MS, WAKE_NOW } from '../run/wake-time.js'
import { nameOfTick } from './evolve.js'
import type { GoalWork } from './goal.js'
import { judgeGrantNano, workGrantNano } from './money.js'
import { deadlineOf, type Goal, type GoalState, isBusy, isFinal, type OpenRun } from './state.js'

/** What the world owes a goal: derived from its state alone, so nothing but the log has to survive a crash. */
export type GoalEffect = { readonly key: string; readonly watches?: true } & (
  | {
      readonly kind: 'start-work'
      readonly tick: ArmTick
      readonly runs: GoalWork | undefined
      readonly grantNano: number | undefined
      readonly notBefore: number
    }
  | { readonly kind: 'watch-run'; readonly run: OpenRun }
  | { readonly kind: 'stop-run'; readonly run: OpenRun }
  | {
      readonly kind: 'judge'
      readonly of: string
      readonly version: number
      readonly grantNano: number | undefined
      readonly notBefore: number
    }
  | { readonly kind: 'arm'; readonly arm: ArmEffect; readonly notBefore: number }
)

export function goalPending(state: GoalState): readonly GoalEffect[] {
  if (state.phase !== 'open') return []
  return [...ownedRuns(state), ...(isFinal(state) || state.mode.is === 'escalated' ? [] : continuing(state))]
}

const ownedRuns = ({ open }: Goal): GoalEffect[] =>
  open.flatMap((run): GoalEffect[] => [
    { kind: 'watch-run', key: `watch:${run.runId}`, watches: true, run },
    ...(run.isStopping ? [{ kind: 'stop-run' as const, key: `stop:${run.runId}`, run }] : []),
  ])

function continuing(goal: Goal): GoalEffect[] {
  const { work, version, arm, mode, goalId } = goal
  if (work.is === 'judging' && work.judgeable && work.judge.is !== 'running') {
    const notBefore = work.judge.is === 'held' ? work.judge.until : 0
    const key = `judge:${work.runId}:${version}:${work.judge.tries}`
    return [{ kind: 'judge', key, of: work.runId, version, grantNano: judgeGrantNano(goal), notBefore }]
  }
  if (isBusy(goal) || mode.is !== 'active') return []
  const tick = armOwes(arm, false)
  if (tick !== undefined) {
    const [tries, notBefore] = work.is === 'held' ? [work.tries, work.until] : [0, 0]
    const key = `start:${nameOfTick(tick)}:${goal.version}:${tries}`
    return [{ kind: 'start-work', key, tick, runs: goal.runs, grantNano: workGrantNano(goal), notBefore }]
  }
  return armPending(goalId, arm, false).map(owed => ({
    kind: 'arm',
    key: `${owed.kind}:${owed.round}`,
    arm: owed,
    notBefore: owed.notBefore,
  }))
}

/** The next moment at which time alone changes something; Infinity when there is none. */
export function goalTimer(state: GoalState): number {
  if (state.phase !== 'open' || isFinal(state)) return Number.POSITIVE_INFINITY
  const { work, arm, mode } = state
  const deadline = deadlineOf(state)
  if (mode.is === 'escalated') return deadline
  const held =
    work.is === 'held' ? work.until : work.is === 'judging' && work.judge.is === 'held' ? work.judge.until : undefined
  const set = mode.is === 'active' && arm.at.phase === 'set' && !isBusy(state) ? arm.at.dueAt : undefined
  return Math.min(deadline, held ?? Number.POSITIVE_INFINITY, set ?? Number.POSITIVE_INFINITY)
}

/** When it must be looked at even if nobody says so; null when only an input can move it. */
export function goalWakeAt(state: GoalState): number | null {
  if (state.phase !== 'open') return null
  const { lastAt } = state
  const owed = goalPending(state).map(effect => {
    if (effect.watches) return lastAt + CHILD_RECHECK_MS
    return 'notBefore' in effect && effect.notBefore > lastAt ? effect.notBefore : WAKE_NOW
  })
  const set = isFinal(state) || state.mode.is !== 'active' ? null : armWakeAt(state.arm, isBusy(state))
  const at = Math.min(goalTimer(state), set ?? Number.POSITIVE_INFINITY, ...owed)
  return Number.isFinite(at) ? at : null
}
