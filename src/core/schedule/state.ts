import type { ArmTick } from '../arm/arm.js'
import type { ArmState } from '../arm/state.js'
import { isoTime } from '../time.js'
import type { ScheduledOutcome, ScheduledWork } from './events.js'

export type ScheduleState = { readonly phase: 'absent' } | OpenSchedule

export type OpenSchedule = {
  readonly phase: 'open' | 'ended'
  readonly scheduleId: string
  readonly tenant: string
  readonly next: number
  readonly lastAt: number
  readonly work: ScheduledWork
  readonly arm: ArmState
  /** The run that it has under way. */
  readonly run: { readonly runId: string; readonly tick: string } | null
  /** Runs begun so far. */
  readonly begun: number
  /** The run that ended last. */
  readonly latest: {
    readonly runId: string
    readonly tick: string
    readonly outcome: ScheduledOutcome
    readonly at: number
  } | null
  /** Why the run that is owed is not there yet. */
  readonly held: { readonly code: string; readonly failures: number; readonly until: number } | null
}

/** What a run is there for, as its stream and its metadata name it. */
export const tickLabel = (one: ArmTick): string => ('tick' in one ? isoTime(one.tick) : `hand:${one.hand}`)
