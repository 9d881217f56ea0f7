import type { Json } from '../json.js'
import { WAKE_NOW } from '../run/wake-time.js'
import { type ArmTick, mostOwed, offsetOf } from './arm.js'
import type { ArmState } from './state.js'

/** What the world owes an arm; not before `notBefore`. */
export type ArmEffect =
  | {
      readonly kind: 'find-ticks'
      readonly round: number
      readonly notBefore: number
      readonly cron: string
      readonly timezone: string
      /** Ticks after this instant. What is recorded is not asked for again. */
      readonly after: number
      /** A tick acts so much later than it is. */
      readonly offset: number
      readonly latest: number
    }
  | {
      readonly kind: 'ask-predicate'
      readonly round: number
      readonly notBefore: number
      readonly tick: number
      readonly maxRuntimeMs: number
      readonly predicate: Json
    }

/** The tick that is to have a run now. Whoever starts it names it there, in the same commit. */
export function armOwes({ at, owed }: ArmState, busy: boolean): ArmTick | undefined {
  if (busy) return undefined
  return at.phase === 'paused' ? owed.find(one => 'hand' in one) : owed[0]
}

/** I4: while the stream is busy, or is about to be, nobody looks at its arm. */
export function armPending(stream: string, state: ArmState, busy: boolean): ArmEffect[] {
  const { arm, at, round } = state
  if (busy || state.owed.length > 0) return []
  if (arm.kind === 'schedule' && (at.phase === 'seeking' || at.phase === 'set')) {
    const { cron, timezone } = arm
    const [after, notBefore] = at.phase === 'set' ? [at.tick, at.dueAt] : [at.after, 0]
    const offset = offsetOf(stream, arm)
    return [{ kind: 'find-ticks', round, notBefore, cron, timezone, after, offset, latest: Math.max(1, mostOwed(arm)) }]
  }
  if ((arm.kind === 'heartbeat' || arm.kind === 'predicate') && at.phase === 'set') {
    const { predicate, maxRuntimeMs } = arm
    return [{ kind: 'ask-predicate', round, notBefore: at.dueAt, tick: at.tick, maxRuntimeMs, predicate }]
  }
  return []
}

/** When the stream must be looked at for the sake of its arm; the end of the run that keeps it busy wakes it anyway. */
export function armWakeAt(state: ArmState, busy: boolean): number | null {
  if (busy) return null
  if (armOwes(state, busy) !== undefined || state.at.phase === 'seeking') return WAKE_NOW
  return state.at.phase === 'set' ? state.at.dueAt : null
}
