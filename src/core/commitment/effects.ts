import { type ArmEffect, armOwes, armPending } from '../arm/effects.js'
import type { RunStatus } from '../run/events.js'
import { WAKE_NOW } from '../run/wake-time.js'
import type { Commitment, CommitmentState } from './state.js'

/** What the world owes a commitment; not before `notBefore`. */
export type CommitmentEffect = { readonly key: string; readonly notBefore: number } & (
  | Extract<ArmEffect, { kind: 'ask-predicate' }>
  | { readonly kind: 'fire' }
)

export function commitmentPending(state: CommitmentState): CommitmentEffect[] {
  if (state.phase !== 'open') return []
  const { arm, held, commitmentId } = state
  if (armOwes(arm, false) !== undefined)
    return [{ kind: 'fire', key: `fire ${held?.failures ?? 0}`, notBefore: held?.until ?? 0 }]
  return armPending(commitmentId, arm, false).flatMap(effect =>
    effect.kind === 'ask-predicate' ? [{ ...effect, key: `ask ${effect.round}` }] : [],
  )
}

/** The next moment at which time alone changes something; Infinity when there is none. */
export function commitmentTimer(state: CommitmentState): number {
  if (state.phase !== 'open') return Number.POSITIVE_INFINITY
  return state.held?.until ?? dueAt(state) ?? Number.POSITIVE_INFINITY
}

/** When it must be looked at even if nobody says so; null when only an input can move it. */
export function commitmentWakeAt(state: CommitmentState): number | null {
  if (state.phase !== 'open') return null
  if (armOwes(state.arm, false) !== undefined) return state.held?.until ?? WAKE_NOW
  return dueAt(state) ?? null
}

const dueAt = ({ arm }: Commitment): number | undefined => (arm.at.phase === 'set' ? arm.at.dueAt : undefined)

/** What its row says: the words of runs, for the columns of lists. */
export function commitmentStatus(state: CommitmentState): RunStatus {
  if (state.phase !== 'ended') return 'pending'
  return state.runId === null ? 'cancelled' : 'completed'
}
