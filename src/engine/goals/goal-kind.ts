import type { ArmEffect } from '../../core/arm/effects.js'
import { decideGoal } from '../../core/goal/decide.js'
import { type GoalEffect, goalPending, goalTimer, goalWakeAt } from '../../core/goal/effects.js'
import { evolveGoal } from '../../core/goal/evolve.js'
import type { GoalInput } from '../../core/goal/input.js'
import { type Goal, type GoalState, goalStateOf } from '../../core/goal/state.js'
import type { RunStatus } from '../../core/run/events.js'
import { askPredicate, ticksFound } from '../standing/arm-effects.js'
import type { LoadedStream, Put, StreamKind } from '../standing/stream-kind.js'
import type { GoalDeps } from './deps.js'
import { stopGoalRun, watchGoalRun } from './goal-runs.js'
import { startJudge } from './judge.js'
import { judgeByProbes } from './probe-judge.js'
import { startWork } from './work.js'

export type GoalStream = StreamKind<GoalState, GoalInput, GoalEffect>

/** Goals as a kind of standing stream (`core/goal`, docs/design/goal.md). */
export const goalKind = (deps: GoalDeps): GoalStream => ({
  name: 'goal',
  initial: { phase: 'absent' },
  decide: decideGoal,
  evolve: (state, event) => evolveGoal(state, event as Parameters<typeof evolveGoal>[1]),
  pending: goalPending,
  wakeAt: goalWakeAt,
  timer: goalTimer,
  status: statusOf,
  poisoned: () => ({ type: 'Poisoned' }),
  timeCame: { type: 'TimeCame' },
  perform: (stream, effect, signal) => perform(deps, stream, effect, signal),
})

async function perform(
  deps: GoalDeps,
  { state }: LoadedStream<GoalState>,
  effect: GoalEffect,
  signal: AbortSignal,
): Promise<Put<GoalInput> | undefined> {
  if (state.phase !== 'open' || ('notBefore' in effect && effect.notBefore > deps.clock.now())) return undefined
  switch (effect.kind) {
    case 'start-work':
      return startWork(deps, state, effect)
    case 'watch-run':
      return watchGoalRun(deps, state, effect.run)
    case 'stop-run':
      return stopGoalRun(deps, effect.run)
    case 'judge':
      return state.completion.check === 'host'
        ? judgeByProbes(deps, state, effect, signal)
        : startJudge(deps, state, effect)
    case 'arm':
      return armHeard(deps, state, effect.arm, signal)
  }
}

async function armHeard(deps: GoalDeps, { tenant, goalId }: Goal, effect: ArmEffect, signal: AbortSignal) {
  const owner = { tenant, stream: goalId }
  const input =
    effect.kind === 'find-ticks' ? ticksFound(deps, effect) : await askPredicate(deps, owner, effect, signal)
  return input && { input }
}

/** What its row says: the words of runs, for the columns of lists. */
const STATUSES: { readonly [State in ReturnType<typeof goalStateOf>]: RunStatus } = {
  active: 'running',
  escalated: 'waiting-approval',
  satisfied: 'completed',
  'bound-exceeded': 'failed',
  abandoned: 'cancelled',
}

const statusOf = (state: GoalState): RunStatus => {
  if (state.phase === 'absent') return 'pending'
  return state.mode.is === 'paused' ? 'paused' : STATUSES[goalStateOf(state)]
}

/** The statuses of rows whose goals have this state. */
export const statusesOf = (state: ReturnType<typeof goalStateOf>): readonly RunStatus[] =>
  state === 'active' ? ['running', 'paused'] : [STATUSES[state]]
