import type { Arm, ArmTick } from '../arm/arm.js'
import { type ArmEffect, armOwes, armPending, armWakeAt } from '../arm/effects.js'
import type { RunStatus } from '../run/events.js'
import { CHILD_RECHECK_MS, WAKE_NOW } from '../run/wake-time.js'
import type { ScheduledWork } from './events.js'
import { type OpenSchedule, type ScheduleState, tickLabel } from './state.js'

/** What the world owes a schedule; not before `notBefore`. */
export type ScheduleEffect = { readonly key: string; readonly notBefore: number } & (
  | (Extract<ArmEffect, { kind: 'find-ticks' }> & { readonly work: ScheduledWork; readonly arm: Arm })
  | Extract<ArmEffect, { kind: 'ask-predicate' }>
  | { readonly kind: 'start-run'; readonly work: ScheduledWork; readonly tick: ArmTick }
  | { readonly kind: 'watch-run'; readonly runId: string; readonly watches: true }
)

export function scheduleEffects(state: ScheduleState): ScheduleEffect[] {
  if (state.phase !== 'open') return []
  const { arm, run, work, held } = state
  if (run !== null)
    return [{ kind: 'watch-run', key: `watch ${run.runId}`, runId: run.runId, watches: true, notBefore: 0 }]
  const tick = armOwes(arm, false)
  if (tick !== undefined)
    return [
      {
        kind: 'start-run',
        key: `start ${tickLabel(tick)} ${held?.failures ?? 0}`,
        work,
        tick,
        notBefore: held?.until ?? 0,
      },
    ]
  return armPending(state.scheduleId, arm, false).map(effect =>
    effect.kind === 'find-ticks'
      ? { ...effect, key: `ticks ${effect.round}`, work, arm: arm.arm }
      : { ...effect, key: `ask ${effect.round}` },
  )
}

/** When it must be looked at even if nobody says so; null when only an input can move it. */
export function scheduleWakeAt(state: ScheduleState): number | null {
  if (state.phase !== 'open') return null
  if (state.run !== null) return state.lastAt + CHILD_RECHECK_MS
  const wakeAt = armWakeAt(state.arm, false)
  return state.held !== null && wakeAt === WAKE_NOW ? state.held.until : wakeAt
}

/** As lists of runs say it: what its row has. */
export function scheduleStatus(state: ScheduleState): RunStatus {
  if (state.phase === 'absent') return 'pending'
  if (state.run !== null) return 'running'
  return PHASES[state.arm.at.phase]
}

const PHASES: { readonly [phase in OpenSchedule['arm']['at']['phase']]: RunStatus } = {
  seeking: 'pending',
  set: 'pending',
  paused: 'paused',
  spent: 'completed',
  disarmed: 'cancelled',
}

/** The next moment at which something is owed; Infinity when there is none. */
export const scheduleTimer = (state: ScheduleState): number =>
  Math.min(
    Number.POSITIVE_INFINITY,
    ...scheduleEffects(state).flatMap(({ notBefore }) => (notBefore > 0 ? [notBefore] : [])),
  )
