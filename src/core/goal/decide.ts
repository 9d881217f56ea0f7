/**
 * A goal works on until its judge says that it is reached, a bound is, or a person is needed (docs/design/goal.md).
 *
 * | mode      | entered by                              | left by, to                                              |
 * |-----------|-----------------------------------------|----------------------------------------------------------|
 * | active    | assay.goal.created, .unpaused, .resumed | assay.goal.paused: paused; .escalated; goal.closed       |
 * | paused    | assay.goal.paused                       | assay.goal.unpaused: active; .escalated; goal.closed     |
 * | escalated | assay.goal.escalated, with goal.closed  | assay.goal.resumed: active; goal.closed: closed          |
 * | closed    | goal.closed                             | never; assay.stream.ended once no run is open            |
 *
 * | work    | entered by                              | left by, to                                                |
 * |---------|-----------------------------------------|------------------------------------------------------------|
 * | idle    | assay.goal.created, goal.evaluated      | assay.stream.run.began (work): working; .held: held        |
 * | held    | assay.goal.held (start)                 | assay.stream.run.began (work): working                     |
 * | working | assay.stream.run.began (work)           | assay.goal.run.ended: judging                              |
 * | judging | assay.goal.run.ended                    | goal.evaluated: idle                                       |
 *
 *  I1  `reserved ≤ maxLoopIterations ≤ 10,000`. Reservation and contributing run are one commit.
 *  I2  A tick starts at most one run.
 *  I3  Nothing is started when the goal is not active, at or after the deadline, or with nothing left to spend.
 *  I4  Only a verdict of the judge that the goal names, on a run that it has reserved, of the present version, satisfies.
 *  I5  Grants of open runs, and what ended ones spent and holdOff, stay within `maxCostUsd` together.
 *  I6  One `goal.closed` for each closing; after a final one no run of the goal is started.
 *  I7  Payloads are free of content.
 */

import { armed, armHears, armPauses, armResumes } from '../arm/decide.js'
import { armOwes } from '../arm/effects.js'
import type { Decision } from '../decider.js'
import { type Json, sameJson } from '../json.js'
import { type Refusal, refuse } from '../problem.js'
import { RUN_BEGAN } from '../standing/stream.js'
import { boundReached, checkBounds, close, escalate, evaluate, exceed, holdOff, proceed, stopRun } from './close.js'
import type { GoalEdits, RecordedGoalEvent } from './events.js'
import { nameOfTick } from './evolve.js'
import { GoalContext } from './goal-context.js'
import type { GoalInput, GoalOutcome, Said, WorkCause } from './input.js'
import { judgeGrantNano, workGrantNano } from './money.js'
import { deadlineOf, type GoalState, goalStateOf, isBusy, isFinal } from './state.js'

type InputOf<Type extends GoalInput['type']> = Extract<GoalInput, { type: Type }>

export function decideGoal(
  state: GoalState,
  input: GoalInput & { readonly now: number },
): Decision<GoalState, RecordedGoalEvent> {
  const { now, ...heard } = input
  const context = new GoalContext(state, now)
  const refusal = hear(context, heard as GoalInput)
  return refusal ? { ok: false, refusal } : { ok: true, events: context.events, state: context.state }
}

function hear(context: GoalContext, input: GoalInput): Refusal | undefined {
  // Whoever comes first makes it.
  if (input.type === 'CreateGoal') return context.state.phase === 'absent' ? create(context, input) : undefined
  // R-GOAL-18: time is looked at before whatever comes with it.
  if (!isFinal(context.goal) && context.at >= deadlineOf(context.goal)) exceed(context, 'deadline')
  return handle(context, input)
}

function handle(context: GoalContext, input: Exclude<GoalInput, { type: 'CreateGoal' }>): Refusal | undefined {
  switch (input.type) {
    case 'EditGoal':
      return edit(context, input)
    case 'PauseGoal':
      return pause(context)
    case 'ResumeGoal':
      return resume(context)
    case 'AbandonGoal':
      return abandon(context)
    case 'BeginWork':
      return beginWork(context, input)
    default:
      learn(context, input)
      return undefined
  }
}

/** An outcome that is nobody's any more decides to nothing. */
function learn(context: GoalContext, input: Exclude<GoalOutcome, { type: 'BeginWork' }>): void {
  switch (input.type) {
    case 'WorkRefused':
      return workRefused(context)
    case 'RunEscalates':
      return runEscalates(context, input)
    case 'RunEnded':
      return runEnded(context, input)
    case 'BeginJudge':
      return beginJudge(context, input)
    case 'JudgeRefused':
      return unjudged(context, input.of)
    case 'HostJudged':
      return hostJudged(context, input)
    case 'Poisoned':
      return poisoned(context)
    default:
      if (!isStopped(context)) context.tell(armHears(context.goal.arm, input, context.told))
  }
}

function create(context: GoalContext, input: InputOf<'CreateGoal'>): undefined {
  const { goalId, check, mode, bounds, breaker, owner, objective, completion, continuation, work } = input
  const secret = { owner, objective, completion, continuation, ...(work ? { work } : {}) }
  context.emit({ type: 'assay.goal.created', payload: { goalId, check, mode, bounds, breaker }, secret })
  context.tell(armed(context.goal.arm, secret.continuation.arm, context.told))
  // A bound of nothing is reached at once.
  checkBounds(context)
}

/** Bounds are not among what may be edited: nobody can raise them. */
function edit(
  context: GoalContext,
  { objective, completion, continuation, work }: InputOf<'EditGoal'>,
): Refusal | undefined {
  const { goal } = context
  const edits: GoalEdits = {
    ...(objective === undefined ? {} : { objective }),
    ...(completion ? { completion } : {}),
    ...(continuation ? { continuation } : {}),
    ...(work ? { work } : {}),
  }
  if (goalStateOf(goal) !== 'active') return notActive(context, 'edited')
  const version = goal.version + Number(changesWhatIsJudged(goal, edits))
  context.emit({ type: 'assay.goal.edited', payload: { version }, secret: edits })
  if (version !== goal.version && goal.work.is === 'judging' && goal.work.judge.is === 'running')
    stopRun(context, goal.work.judge.judgeRunId, 'edited')
  if (edits.continuation) {
    context.tell(armed(context.goal.arm, edits.continuation.arm, context.told))
    if (goal.mode.is === 'paused') context.tell(armPauses(context.goal.arm))
  }
  proceed(context)
}

const changesWhatIsJudged = (
  goal: { readonly objective: string; readonly completion: GoalEdits['completion'] },
  { objective = goal.objective, completion = goal.completion }: GoalEdits,
): boolean =>
  objective !== goal.objective ||
  completion?.check !== goal.completion?.check ||
  completion?.verifierRef !== goal.completion?.verifierRef ||
  !sameJson((completion?.probes ?? null) as Json, (goal.completion?.probes ?? null) as Json)

/** Suspends, and resets nothing. */
function pause(context: GoalContext): Refusal | undefined {
  const { goal } = context
  if (goalStateOf(goal) !== 'active') return notActive(context, 'paused')
  if (goal.mode.is === 'paused') return undefined
  context.tell(armPauses(goal.arm))
  context.emit({ type: 'assay.goal.paused', payload: {} })
}

/** R-GOAL-11. An escalated goal goes on once a person has resolved what it was escalated for. */
function resume(context: GoalContext): Refusal | undefined {
  const { goal } = context
  if (isFinal(goal)) return isClosed(context)
  if (goal.mode.is === 'active') return undefined
  context.emit({ type: goal.mode.is === 'paused' ? 'assay.goal.unpaused' : 'assay.goal.resumed', payload: {} })
  context.tell(armResumes(context.goal.arm, context.told))
  proceed(context)
}

function abandon(context: GoalContext): Refusal | undefined {
  if (isFinal(context.goal)) return isClosed(context)
  close(context, 'abandoned')
}

/** I1 to I3, in the commit in which the run begins. */
function beginWork(context: GoalContext, { runId, cause, grantNano }: InputOf<'BeginWork'>): Refusal | undefined {
  const { goal } = context
  // A tick that finds something else than it was found for decides to nothing: it is looked at again.
  const isAsked = cause.by === 'hand' || cause.by === 'name'
  const obstacle = obstacleOf(context)
  if (obstacle) return isAsked ? obstacle : undefined
  if (grantNano !== workGrantNano(goal)) return undefined
  if (cause.by === 'hand') {
    if (armOwes(goal.arm, false) !== undefined) return isBusyRefusal(context)
    context.tell(armHears(goal.arm, { type: 'AskedByHand' }, context.told))
  }
  const tick = tickOf(context, cause)
  if (cause.by !== 'name' && tick === undefined) return undefined
  context.emit({
    type: RUN_BEGAN,
    payload: { role: 'work', ordinal: goal.reserved + 1, runId, ...(tick === undefined ? {} : { tick }) },
    secret: grantNano === undefined ? {} : { grantNano },
  })
}

/** Why no contributing run may begin now. */
function obstacleOf(context: GoalContext): Refusal | undefined {
  const { goal, at } = context
  if (isFinal(goal)) return isClosed(context)
  if (goal.mode.is !== 'active') return notActive(context, 'run')
  if (isBusy(goal)) return isBusyRefusal(context)
  if (boundReached(goal, at)) return isClosed(context)
  return undefined
}

function tickOf({ goal }: GoalContext, cause: WorkCause): string | undefined {
  if (cause.by === 'name') return undefined
  const owed = armOwes(goal.arm, isBusy(goal))
  if (owed === undefined) return undefined
  if (cause.by === 'hand') return 'hand' in owed ? nameOfTick(owed) : undefined
  const { by: _, ...asked } = cause
  const name = nameOfTick(asked)
  return nameOfTick(owed) === name ? name : undefined
}

/** Hosts stop again and again while they are at work on it: somebody has to look. */
function poisoned(context: GoalContext): void {
  if (!isStopped(context)) escalate(context, { reason: 'poisoned' })
}

function workRefused(context: GoalContext): void {
  const { work, arm, mode } = context.goal
  if (mode.is !== 'active' || isBusy(context.goal) || armOwes(arm, false) === undefined) return
  holdOff(context, 'start', work.is === 'held' ? work.tries + 1 : 1)
}

function runEscalates(context: GoalContext, { runId, reason, depth }: InputOf<'RunEscalates'>): void {
  const { work } = context.goal
  if (isStopped(context) || work.is !== 'working' || work.runId !== runId) return
  escalate(context, { reason, runId, ...(depth === undefined ? {} : { depth }) })
}

function runEnded(
  context: GoalContext,
  { runId, outcome, spentNano, heldNano, judgeable = false, fingerprint, said }: InputOf<'RunEnded'>,
): void {
  const { open, work } = context.goal
  const run = open.find(one => one.runId === runId)
  if (run === undefined) return
  const counted = { runId, outcome, spentNano, heldNano }
  const payload = run.role === 'work' ? { ...counted, judgeable } : counted
  const secret = run.role === 'work' && fingerprint !== undefined ? { fingerprint } : {}
  context.emit({ type: 'assay.goal.run.ended', payload: { role: run.role, ...payload }, secret })
  const isJudge = work.is === 'judging' && work.judge.is === 'running' && work.judge.judgeRunId === run.runId
  if (isJudge && !isStopped(context)) return judged(context, work.runId, said ?? { verdict: 'none' })
  proceed(context)
}

function beginJudge(context: GoalContext, { runId, of, grantNano }: InputOf<'BeginJudge'>): void {
  const { goal } = context
  if (isStopped(context) || goal.work.is !== 'judging' || goal.work.runId !== of) return
  if (goal.work.judge.is === 'running' || goal.completion.check !== 'verifier' || !goal.work.judgeable) return
  if (grantNano !== judgeGrantNano(goal)) return
  // R-GOAL-5: there is nothing to judge with.
  if (grantNano === 0) return exceed(context, 'cost')
  context.emit({
    type: RUN_BEGAN,
    payload: { role: 'judge', ordinal: goal.judged + 1, runId },
    secret: { ...(grantNano === undefined ? {} : { grantNano }), judges: { runId: of, version: goal.version } },
  })
}

function hostJudged(context: GoalContext, { of, version, said }: InputOf<'HostJudged'>): void {
  const { goal } = context
  if (isStopped(context) || goal.work.is !== 'judging' || goal.work.runId !== of) return
  if (goal.version !== version || goal.completion.check !== 'host' || !goal.work.judgeable) return
  judged(context, of, said)
}

/** I4: of the present version, for what it was asked about. */
const judged = (context: GoalContext, of: string, said: Said): void =>
  said.verdict === 'none' ? unjudged(context, of) : evaluate(context, of, said)

function unjudged(context: GoalContext, of: string): void {
  const { work } = context.goal
  if (isStopped(context) || work.is !== 'judging' || work.runId !== of || work.judge.is === 'running') return
  holdOff(context, 'judge', work.judge.tries + 1, of)
}

const isStopped = ({ goal }: GoalContext): boolean => isFinal(goal) || goal.mode.is === 'escalated'

const isClosed = ({ goal }: GoalContext): Refusal =>
  refuse('goal_closed', `the goal is ${goalStateOf(goal)}; nothing of it goes on. Create another one`, {
    goalId: goal.goalId,
    state: goalStateOf(goal),
  })

function isBusyRefusal({ goal }: GoalContext): Refusal {
  const message = 'a contributing run of this goal is under way; wait until it has ended and was judged'
  return refuse('goal_busy', message, { goalId: goal.goalId, runId: goal.contributing.at(-1) ?? null })
}

function notActive({ goal }: GoalContext, what: string): Refusal {
  const state = goal.mode.is === 'paused' ? 'paused' : goalStateOf(goal)
  const next = isFinal(goal) ? 'create another one' : `POST /v1/goals/${goal.goalId}/resume takes it up again`
  return refuse('goal_not_active', `the goal is ${state} and is not ${what} now; ${next}`, {
    goalId: goal.goalId,
    state,
  })
}
