import type { Arm, ArmTick } from './arm.js'

export type ArmState = {
  readonly arm: Arm
  readonly at: ArmPhase
  /** Ticks that have come and are to have a run, oldest first; at most `mostOwed`, and one by hand. */
  readonly owed: readonly ArmTick[]
  /** Names what is waited for: an answer that was asked for under another number decides to nothing. */
  readonly round: number
  /** Requests by hand so far. */
  readonly hands: number
  /** The times of an interval are counted from here. */
  readonly anchor: number
  /** The last answer of the predicate; null before the first. */
  readonly holds: boolean | null
}

export type ArmPhase =
  | { readonly phase: 'seeking'; readonly after: number }
  | { readonly phase: 'set'; readonly tick: number; readonly dueAt: number }
  /** `tick`: that which was set; null where none was, or none is left. */
  | { readonly phase: 'paused'; readonly tick: number | null }
  | { readonly phase: 'spent' }
  | { readonly phase: 'disarmed' }

export const UNARMED: ArmState = {
  arm: { kind: 'manual' },
  at: { phase: 'disarmed' },
  owed: [],
  round: 0,
  hands: 0,
  anchor: 0,
  holds: null,
}
