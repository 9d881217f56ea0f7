import type { Arm } from './arm.js'

/**
 * What becomes of an arm, as its stream tells it. Payloads are ids, times, numbers and words of closed lists (I8); what the
 * arm is, is in the secret. The run of a tick is told by the stream: `assay.stream.run.began`.
 */
export type ArmFact =
  | ArmFactOf<'assay.arm.armed', { kind: Arm['kind']; after: number }, { arm: Arm }>
  | ArmFactOf<'assay.arm.set', { tick: number; dueAt: number }>
  | ArmFactOf<'assay.arm.ticked', { ticks: readonly number[] } | { hand: number }>
  /** Every tick from `from` on that is before `before`. */
  | ArmFactOf<'assay.arm.skipped', { from: number; before: number; reason: SkipReason }>
  | ArmFactOf<'assay.arm.paused', Record<string, never>>
  | ArmFactOf<'assay.arm.resumed', { after: number }>
  | ArmFactOf<'assay.arm.spent', Record<string, never>>
  | ArmFactOf<'assay.arm.disarmed', Record<string, never>>
  | ArmFactOf<'heartbeat.evaluated', { heartbeatId: string; status: PredicateStatus; changed: boolean }, PredicateHeard>
  | ArmFactOf<'heartbeat.stateChanged', { heartbeatId: string; from: PredicateState; to: PredicateState }>

type ArmFactOf<Type extends string, Payload, Secret = undefined> = Secret extends undefined
  ? { readonly type: Type; readonly payload: Payload }
  : { readonly type: Type; readonly payload: Payload; readonly secret: Secret }

export type SkipReason = 'missed' | 'busy' | 'paused' | 'rearmed' | 'closed'
export type PredicateStatus = 'ok' | 'timeout' | 'error'
/** Nothing of what was looked at. */
export type PredicateState = { readonly holds: boolean }
export type PredicateHeard = { readonly tick: number; readonly holds: boolean | null }
