import type { ArmState } from '../arm/state.js'
import type { Escalation } from './events.js'
import type { Completion, Continuation, FinalState, GoalBounds, GoalOwner, GoalWork } from './goal.js'

/** A goal as its log tells it (docs/design/goal.md). It is JSON: it is kept now and then. */
export type GoalState = { readonly phase: 'absent' } | Goal

export type Goal = {
  readonly phase: 'open' | 'ended'
  readonly tenant: string
  readonly goalId: string
  readonly next: number
  readonly lastAt: number
  readonly createdAt: number
  readonly owner: GoalOwner
  readonly objective: string
  /** Counts edits of what is judged: a verdict of an older one decides nothing. */
  readonly version: number
  readonly completion: Completion
  readonly continuation: Omit<Continuation, 'arm'>
  readonly bounds: GoalBounds
  readonly breaker: number
  readonly runs?: GoalWork
  readonly mode: Mode
  readonly work: Work
  readonly arm: ArmState
  /** When it last had nothing under way; null before the first run. */
  readonly freeSince: number | null
  /** Runs that have begun and not ended: at most one contributing, and judges that were told to stop. */
  readonly open: readonly OpenRun[]
  /** How many runs of each role were ever started. The bound is held against `reserved`. */
  readonly reserved: number
  readonly judged: number
  readonly finished: number
  readonly contributing: readonly string[]
  /** Of runs that have ended, in billionths of a dollar. */
  readonly spentNano: number
  readonly heldNano: number
  readonly dearestJudgeNano: number
  /** How often in a row the same has come of it. */
  readonly same: { readonly fingerprint: string; readonly times: number } | null
  readonly verdict: Verdict | null
  /** The best that was judged so far. */
  readonly best: Verdict | null
}

export type Mode =
  | { readonly is: 'active' }
  | { readonly is: 'paused' }
  | { readonly is: 'escalated'; readonly why: Escalation }
  | { readonly is: 'closed'; readonly final: FinalState }

export type Work =
  | { readonly is: 'idle' }
  /** A run could not be started; it is tried again then. */
  | { readonly is: 'held'; readonly tries: number; readonly until: number }
  | { readonly is: 'working'; readonly runId: string }
  | { readonly is: 'judging'; readonly runId: string; readonly judgeable: boolean; readonly judge: JudgeState }

export type JudgeState =
  | { readonly is: 'owed'; readonly tries: number }
  | { readonly is: 'running'; readonly tries: number; readonly judgeRunId: string }
  | { readonly is: 'held'; readonly tries: number; readonly until: number }

export type OpenRun = {
  readonly runId: string
  readonly role: 'work' | 'judge'
  readonly grantNano?: number
  readonly isStopping?: true
}

export type Verdict = {
  readonly satisfied: boolean
  readonly confidence?: number
  readonly runId: string
  readonly version: number
  /** From 0 to 1: how much of what is asked was met. */
  readonly score?: number
  readonly record?: JudgeRecord
}

/** The artifact of a judge's run that says what was found. */
export type JudgeRecord = { readonly runId: string; readonly artifactId: string }

export const isBusy = ({ work }: Pick<Goal, 'work'>): boolean => work.is === 'working' || work.is === 'judging'

/** Nothing is started any more. */
export const isFinal = (goal: Goal): boolean => goal.mode.is === 'closed'

/** The protocol's word for it. A paused goal is active. */
export const goalStateOf = ({ mode }: Pick<Goal, 'mode'>): 'active' | 'escalated' | FinalState =>
  mode.is === 'closed' ? mode.final : mode.is === 'escalated' ? 'escalated' : 'active'

/** R-GOAL-18: nothing is started at this moment or after it. */
export const deadlineOf = ({ createdAt, bounds }: Pick<Goal, 'createdAt' | 'bounds'>): number =>
  bounds.runTimeoutMs === undefined ? Number.POSITIVE_INFINITY : createdAt + bounds.runTimeoutMs
