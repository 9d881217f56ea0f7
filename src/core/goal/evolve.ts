import type { ArmFact } from '../arm/events.js'
import { armBegan, evolveArm } from '../arm/evolve.js'
import { UNARMED } from '../arm/state.js'
import { absent } from '../present.js'
import { RUN_BEGAN, STREAM_ENDED } from '../standing/stream.js'
import type { GoalEvent, RecordedGoalEvent } from './events.js'
import type { Goal, GoalState, JudgeState, OpenRun, Verdict } from './state.js'

type Told<Type extends GoalEvent['type']> = Extract<RecordedGoalEvent, { type: Type }>

/** The same goal after one more event: no rule, and nothing is refused. */
export function evolveGoal(state: GoalState, event: RecordedGoalEvent): GoalState {
  if (event.type === 'assay.goal.created') return created(event)
  const goal = state.phase === 'absent' ? absent('goal') : state
  return { ...told(goal, event), next: event.sequence + 1, lastAt: event.at }
}

function created({ payload, secret, sequence, at }: Told<'assay.goal.created'>): Goal {
  const { owner, objective, completion, continuation, work } = secret
  const { arm: _, ...mode } = continuation
  return {
    phase: 'open',
    tenant: owner.tenant,
    goalId: payload.goalId,
    next: sequence + 1,
    lastAt: at,
    createdAt: at,
    owner,
    objective,
    version: 1,
    completion,
    continuation: mode,
    bounds: payload.bounds,
    breaker: payload.breaker,
    ...(work ? { runs: work } : {}),
    mode: { is: 'active' },
    work: { is: 'idle' },
    arm: UNARMED,
    freeSince: null,
    open: [],
    reserved: 0,
    judged: 0,
    finished: 0,
    contributing: [],
    spentNano: 0,
    heldNano: 0,
    dearestJudgeNano: 0,
    same: null,
    verdict: null,
    best: null,
  }
}

function told(goal: Goal, event: RecordedGoalEvent): Goal {
  switch (event.type) {
    case 'assay.goal.created':
      return goal
    case 'assay.goal.edited':
      return edited(goal, event)
    case 'assay.goal.paused':
      return { ...goal, mode: { is: 'paused' } }
    case 'assay.goal.unpaused':
      return { ...goal, mode: { is: 'active' } }
    case 'assay.goal.resumed':
      return { ...goal, mode: { is: 'active' }, same: null, work: tryAgain(goal) }
    case RUN_BEGAN:
      return began(goal, event)
    case 'assay.goal.run.ended':
      return runEnded(goal, event)
    case 'assay.goal.run.stopping':
      return { ...goal, open: goal.open.map(one => stopping(one, event.payload.runId)) }
    case 'assay.goal.held':
      return held(goal, event)
    case 'assay.goal.bound.reached':
      return goal
    case 'assay.goal.escalated':
      return { ...goal, mode: { is: 'escalated', why: event.payload } }
    case 'goal.evaluated':
      return evaluated(goal, event)
    case 'goal.closed':
      return closed(goal, event)
    case STREAM_ENDED:
      return { ...goal, phase: 'ended' }
    default:
      return { ...goal, arm: evolveArm(goal.arm, event as ArmFact) }
  }
}

/** What is judged is another thing now: a judge that is at work judges the old one, and its work is asked for anew. */
function edited(goal: Goal, { payload, secret }: Told<'assay.goal.edited'>): Goal {
  const { objective, completion, continuation, work: runs } = secret
  const { arm: _, ...mode } = continuation ?? { arm: undefined, ...goal.continuation }
  const { work } = goal
  const isOther = payload.version !== goal.version
  const again = isOther && work.is === 'judging' ? { ...work, judge: { is: 'owed' as const, tries: 0 } } : work
  return {
    ...goal,
    version: payload.version,
    ...(objective === undefined ? {} : { objective }),
    ...(completion === undefined ? {} : { completion }),
    continuation: mode,
    ...(runs === undefined ? {} : { runs }),
    work: again,
    ...(isOther ? { same: null, best: null } : {}),
  }
}

function began(goal: Goal, { payload, secret }: Told<typeof RUN_BEGAN>): Goal {
  const { role, ordinal, runId, tick } = payload
  const { grantNano } = secret
  const open: OpenRun[] = [...goal.open, { runId, role, ...(grantNano === undefined ? {} : { grantNano }) }]
  if (role === 'judge') {
    const { work } = goal
    if (work.is !== 'judging') return { ...goal, open, judged: ordinal }
    const judge: JudgeState = { is: 'running', tries: work.judge.tries, judgeRunId: runId }
    return { ...goal, open, judged: ordinal, work: { ...work, judge } }
  }
  const contributing = [...goal.contributing, runId]
  const arm = tick === undefined ? goal.arm : armBegan(goal.arm, tickOf(tick))
  return { ...goal, open, reserved: ordinal, contributing, arm, work: { is: 'working', runId } }
}

const HAND = 'hand-'

/** As S16 keeps it: the time of a tick, or which request by hand it was. */
export const nameOfTick = (tick: { readonly tick: number } | { readonly hand: number }): string =>
  'tick' in tick ? String(tick.tick) : `${HAND}${tick.hand}`

const tickOf = (name: string) =>
  name.startsWith(HAND) ? { hand: Number(name.slice(HAND.length)) } : { tick: Number(name) }

const stopping = (one: OpenRun, runId: string): OpenRun => (one.runId === runId ? { ...one, isStopping: true } : one)

function runEnded(goal: Goal, { payload, secret, at }: Told<'assay.goal.run.ended'>): Goal {
  const { runId, role, spentNano, heldNano, judgeable = false } = payload
  const settled = {
    ...goal,
    open: goal.open.filter(one => one.runId !== runId),
    spentNano: goal.spentNano + spentNano,
    heldNano: goal.heldNano + heldNano,
  }
  if (role === 'judge') {
    const { work } = goal
    const isAsked = work.is === 'judging' && work.judge.is === 'running' && work.judge.judgeRunId === runId
    return {
      ...settled,
      dearestJudgeNano: Math.max(goal.dearestJudgeNano, spentNano + heldNano),
      work: isAsked ? { ...work, judge: { is: 'owed', tries: work.judge.tries } } : work,
    }
  }
  const { fingerprint } = secret
  const isSame = fingerprint !== undefined && goal.same?.fingerprint === fingerprint
  return {
    ...settled,
    finished: goal.finished + 1,
    freeSince: at,
    same: fingerprint === undefined ? null : { fingerprint, times: isSame ? (goal.same?.times ?? 0) + 1 : 1 },
    work: { is: 'judging', runId, judgeable, judge: { is: 'owed', tries: 0 } },
  }
}

function held(goal: Goal, { payload: { what, tries, until } }: Told<'assay.goal.held'>): Goal {
  if (what === 'start') return { ...goal, work: { is: 'held', tries, until } }
  const { work } = goal
  return work.is === 'judging' ? { ...goal, work: { ...work, judge: { is: 'held', tries, until } } } : goal
}

/** A person has looked at it: what was given up is tried anew. */
function tryAgain({ work }: Goal): Goal['work'] {
  if (work.is === 'held') return { is: 'idle' }
  if (work.is !== 'judging' || work.judge.is === 'running') return work
  return { ...work, judge: { is: 'owed', tries: 0 } }
}

function evaluated(goal: Goal, { payload, secret, at }: Told<'goal.evaluated'>): Goal {
  const { satisfied, confidence, runId } = payload
  const { version, score, record } = secret
  const verdict: Verdict = {
    satisfied,
    runId,
    version,
    ...(confidence === undefined ? {} : { confidence }),
    ...(score === undefined ? {} : { score }),
    ...(record ? { record } : {}),
  }
  return { ...goal, verdict, best: betterOf(goal.best, verdict), work: { is: 'idle' }, freeSince: at }
}

/** Satisfied before not; then by what was met; of equals the later. */
function betterOf(best: Verdict | null, other: Verdict): Verdict {
  if (best === null || best.satisfied !== other.satisfied) return best?.satisfied ? best : other
  return (best.score ?? 0) > (other.score ?? 0) ? best : other
}

function closed(goal: Goal, { payload: { finalState } }: Told<'goal.closed'>): Goal {
  if (finalState !== 'escalated') return { ...goal, mode: { is: 'closed', final: finalState } }
  return goal
}
