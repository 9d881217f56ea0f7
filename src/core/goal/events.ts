import type { ArmFact } from '../arm/events.js'
import type { RUN_BEGAN, RecordedInStream, STREAM_ENDED, StreamRunBegan } from '../standing/stream.js'
import type { JudgeRecord } from './state.js'
import type { Completion, Continuation, FinalState, GoalBounds, GoalOwner, GoalWork } from './goal.js'

/** The facts of a goal. Payloads say ids, numbers, enums and booleans (I7); whatever anybody wrote is in the secret. */
export type GoalEvent =
  | GoalFact<'assay.goal.created', GoalCreated, GoalCreatedSecret>
  | GoalFact<'assay.goal.edited', { version: number }, GoalEdits>
  | GoalFact<'assay.goal.paused', Nothing>
  | GoalFact<'assay.goal.unpaused', Nothing>
  /** Taken up again after an escalation. */
  | GoalFact<'assay.goal.resumed', Nothing>
  | GoalFact<typeof RUN_BEGAN, StreamRunBegan, RunBeganSecret>
  | GoalFact<'assay.goal.run.ended', GoalRunEnded, { fingerprint?: string }>
  /** It is told to stop: nothing is made of what it brings. */
  | GoalFact<'assay.goal.run.stopping', { runId: string; reason: StopReason }>
  /** Nothing could be started or judged; it is tried again at `until`. */
  | GoalFact<'assay.goal.held', { what: 'start' | 'judge'; tries: number; until: number }>
  | GoalFact<'assay.goal.bound.reached', { bound: BoundName }>
  | GoalFact<'assay.goal.escalated', Escalation>
  | GoalFact<'goal.evaluated', GoalEvaluated, { version: number; score?: number; record?: JudgeRecord }>
  | GoalFact<'goal.closed', { goalId: string; finalState: FinalState | 'escalated' }>
  | GoalFact<typeof STREAM_ENDED, Nothing>
  | ArmFact

export type RecordedGoalEvent = RecordedInStream<GoalEvent>

type GoalFact<Type extends string, Payload extends object, Secret = undefined> = Secret extends undefined
  ? { readonly type: Type; readonly payload: Payload; readonly secret?: never }
  : { readonly type: Type; readonly payload: Payload; readonly secret: Secret }

type Nothing = Record<string, never>

export type GoalCreated = {
  goalId: string
  check: Completion['check']
  mode: Continuation['mode']
  /** S16 holds `maxLoopIterations` of it. */
  bounds: GoalBounds
  /** So many runs with the same outcome in a row escalate; 0 is never. */
  breaker: number
}

export type GoalCreatedSecret = {
  readonly owner: GoalOwner
  readonly objective: string
  readonly completion: Completion
  readonly continuation: Continuation
  readonly work?: GoalWork
}

/** What an edit has changed; what is absent stays. */
export type GoalEdits = {
  readonly objective?: string
  readonly completion?: Completion
  readonly continuation?: Continuation
  readonly work?: GoalWork
}

export type RunBeganSecret = {
  /** At most so many billionths of a dollar. */
  readonly grantNano?: number
  /** Of a judge: what it judges, and under which version of the objective. */
  readonly judges?: { readonly runId: string; readonly version: number }
}

export type GoalRunEnded = {
  role: StreamRunBegan['role']
  runId: string
  outcome: 'completed' | 'failed' | 'cancelled'
  /** Of a contributing run: nothing stands against it, so that it may be put to the judge. */
  judgeable?: boolean
  spentNano: number
  /** What nobody knows the cost of. */
  heldNano: number
}

export type StopReason = 'closed' | 'edited' | 'unjudged'
export type BoundName = 'iterations' | 'cost' | 'deadline'

export type GoalEscalation =
  | 'confidence'
  | 'gate'
  | 'stuck'
  | 'no-progress'
  | 'judge-unavailable'
  | 'cannot-start'
  | 'poisoned'

export type Escalation = {
  reason: GoalEscalation
  /** Which contributing run it is about. */
  runId?: string
  /** How many runs below it somebody is asked. */
  depth?: number
}

/** R-GOAL-8, R-GOAL-10. */
export type GoalEvaluated = {
  goalId: string
  satisfied: boolean
  confidence?: number
  runId: string
  iterations: number
}
