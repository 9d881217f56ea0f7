import { armBegan, evolveArm } from '../arm/evolve.js'
import { UNARMED } from '../arm/state.js'
import type { ScheduleRecorded } from './events.js'
import { type OpenSchedule, type ScheduleState, tickLabel } from './state.js'

export function evolveSchedule(state: ScheduleState, event: ScheduleRecorded): ScheduleState {
  const { sequence, at } = event
  if (event.type === 'assay.schedule.registered') {
    const { scheduleId, tenant, work } = event.secret
    const before = state.phase === 'absent' ? UNTOLD : state
    return { ...before, scheduleId, tenant, work, next: sequence + 1, lastAt: at }
  }
  if (state.phase === 'absent') throw new Error(`event ${sequence} (${event.type}) is before the schedule's first`)
  return { ...evolveOpen(state, event), next: sequence + 1, lastAt: at }
}

function evolveOpen(state: OpenSchedule, event: ScheduleRecorded): OpenSchedule {
  switch (event.type) {
    case 'assay.stream.run.began': {
      const { runId, tick = '' } = event.payload
      const begun = state.arm.owed.find(one => tickLabel(one) === tick)
      const arm = begun === undefined ? state.arm : armBegan(state.arm, begun)
      return { ...state, arm, run: { runId, tick }, begun: state.begun + 1, held: null }
    }
    case 'assay.schedule.run.ended': {
      const { runId, outcome } = event.payload
      return { ...state, run: null, latest: { runId, tick: state.run?.tick ?? '', outcome, at: event.at } }
    }
    case 'assay.schedule.held':
      return { ...state, held: event.payload }
    case 'assay.schedule.refused':
      return { ...state, held: null, arm: { ...state.arm, owed: state.arm.owed.slice(1) } }
    case 'assay.stream.ended':
      return { ...state, phase: 'ended' }
    case 'assay.schedule.registered':
    case 'assay.schedule.removed':
    case 'assay.schedule.quarantined':
      return state
    default:
      return { ...state, arm: evolveArm(state.arm, event), ...(DROPS.has(event.type) ? { held: null } : {}) }
  }
}

/** With the tick goes what kept it waiting. */
const DROPS: ReadonlySet<string> = new Set(['assay.arm.skipped', 'assay.arm.disarmed', 'assay.arm.paused'])

const UNTOLD: Omit<OpenSchedule, 'scheduleId' | 'tenant' | 'work'> = {
  phase: 'open',
  next: 0,
  lastAt: 0,
  arm: UNARMED,
  run: null,
  begun: 0,
  latest: null,
  held: null,
}
