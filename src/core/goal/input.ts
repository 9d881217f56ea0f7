import type { ArmInput } from '../arm/decide.js'
import type { JudgeRecord } from './state.js'
import type { Escalation, GoalCreated, GoalCreatedSecret, GoalEdits, GoalRunEnded } from './events.js'

/** Everything that can be put to a goal. None says that it is reached (R-GOAL-3). */
export type GoalInput = GoalCommand | GoalOutcome

/** What people ask for. */
export type GoalCommand =
  | (GoalCreated & GoalCreatedSecret & { readonly type: 'CreateGoal' })
  | ({ readonly type: 'EditGoal' } & GoalEdits)
  | { readonly type: 'PauseGoal' }
  | { readonly type: 'ResumeGoal' }
  | { readonly type: 'AbandonGoal' }

/** What the host has to tell. An outcome names what it is the outcome of; one that is old decides to nothing. */
export type GoalOutcome =
  /** A contributing run is there to begin, granted so much. Refused, not ignored, unless a tick asked for it. */
  | {
      readonly type: 'BeginWork'
      readonly runId: string
      readonly cause: WorkCause
      readonly grantNano: number | undefined
    }
  | { readonly type: 'WorkRefused' }
  /** Somebody is asked by a contributing run, or below it, what only a person may answer. */
  | ({ readonly type: 'RunEscalates'; readonly runId: string } & Pick<Escalation, 'reason' | 'depth'>)
  /** Of any run of the goal; a judge's says what it came to. */
  | ({ readonly type: 'RunEnded'; readonly fingerprint?: string; readonly said?: Said } & Omit<GoalRunEnded, 'role'>)
  | { readonly type: 'BeginJudge'; readonly runId: string; readonly of: string; readonly grantNano: number | undefined }
  /** There is no judge to begin, such as a gate that is gone. */
  | { readonly type: 'JudgeRefused'; readonly of: string }
  /** What the host's own evaluator came to. */
  | { readonly type: 'HostJudged'; readonly of: string; readonly version: number; readonly said: Said }
  | { readonly type: 'Poisoned' }
  | ArmInput

/** `none`: it could not be judged. */
export type Said = {
  readonly verdict: 'pass' | 'fail' | 'none'
  readonly confidence?: number
  /** From 0 to 1: how much of what is asked was met. */
  readonly score?: number
  /** Where everything that was found is kept. */
  readonly record?: JudgeRecord
}

export type WorkCause =
  | { readonly by: 'tick'; readonly tick: number }
  | { readonly by: 'asked'; readonly hand: number }
  /** A run that names the goal, or is asked for by name of the goal, now. */
  | { readonly by: 'hand' }
  | { readonly by: 'name' }
