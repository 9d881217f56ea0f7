import type { Json } from '../json.js'

/** What starts work again without anybody asking at that moment (docs/design/arm.md). */
export type Arm = ScheduleArm | HeartbeatArm | TimeArm | PredicateArm | { readonly kind: 'manual' }

export type ScheduleArm = {
  readonly kind: 'schedule'
  readonly cron: string
  readonly timezone: string
  readonly missed: Missed
  /** How far the ticks of a stream may be moved, so that not all streams act at the full hour. */
  readonly jitterMs: number
}

/** A run whenever the predicate has another answer than before. */
export type HeartbeatArm = Interval & { readonly kind: 'heartbeat' }

/** A commitment to a time. */
export type TimeArm = { readonly kind: 'time'; readonly at: number }

/** A commitment to what may come to be: one run, when the predicate holds for the first time. */
export type PredicateArm = Interval & { readonly kind: 'predicate' }

type Interval = {
  readonly everyMs: number
  readonly maxRuntimeMs: number
  /** As the host's predicates read it. */
  readonly predicate: Json
}

export type Missed =
  | { readonly policy: 'skip' }
  | { readonly policy: 'once' }
  | { readonly policy: 'all'; most: number }

export const MOST_MISSED = 100
/** A tick that is heard of so much after it was due is on time. */
export const GRACE_MS = 60_000
export const MOST_JITTER_MS = 3_600_000

/** Of how many ticks that have come a run may still be owed. */
export function mostOwed(arm: Arm): number {
  if (arm.kind !== 'schedule') return 1
  if (arm.missed.policy === 'all') return Math.min(Math.max(arm.missed.most, 1), MOST_MISSED)
  return arm.missed.policy === 'once' ? 1 : 0
}

/** By how much all ticks of a stream are moved: every host comes to the same. FNV-1a of the stream's id. */
export function offsetOf(stream: string, arm: Arm): number {
  if (arm.kind !== 'schedule' || arm.jitterMs === 0) return 0
  let hash = 0x811c9dc5
  for (let i = 0; i < stream.length; i++) hash = Math.imul(hash ^ stream.charCodeAt(i), 0x01000193)
  return (hash >>> 0) % (Math.min(arm.jitterMs, MOST_JITTER_MS) + 1)
}

/** What a run is owed for, and is named by beside the stream: the time of a tick, or which request by hand it was. */
export type ArmTick = { readonly tick: number } | { readonly hand: number }

/** Whether they say the same. Its parts are made in one order, by this host alone. */
export const sameArm = (one: Arm, other: Arm): boolean => JSON.stringify(one) === JSON.stringify(other)
