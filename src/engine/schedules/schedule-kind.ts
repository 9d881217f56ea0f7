import { PROBLEMS } from '../../core/problem.js'
import { decideSchedule, type ScheduleInput } from '../../core/schedule/decide.js'
import {
  type ScheduleEffect,
  scheduleEffects,
  scheduleStatus,
  scheduleTimer,
  scheduleWakeAt,
} from '../../core/schedule/effects.js'
import type { ScheduledOutcome, ScheduledWork, ScheduleRecorded } from '../../core/schedule/events.js'
import { evolveSchedule } from '../../core/schedule/evolve.js'
import { type OpenSchedule, type ScheduleState, tickLabel } from '../../core/schedule/state.js'
import { schedulesOf } from '../../core/workflow/triggers.js'
import type { Calendar } from '../ports/calendar.js'
import type { Clock } from '../ports/clock.js'
import type { Predicates } from '../ports/verification.js'
import type { Store } from '../ports/store.js'
import type { Plans } from '../plans/plans.js'
import { askPredicate, ticksFound } from '../standing/arm-effects.js'
import type { RunStarter } from '../standing/run-starter.js'
import type { Put, StreamKind } from '../standing/stream-kind.js'

export type ScheduleKind = StreamKind<ScheduleState, ScheduleInput, ScheduleEffect>

type KindDeps = {
  readonly calendar: Calendar
  readonly clock: Clock
  readonly predicates: Predicates
  readonly store: Pick<Store, 'readRun'>
  readonly plans: Pick<Plans, 'named'>
  readonly starter: Pick<RunStarter, 'born'>
}

/** Schedules of workflows, as the room of standing streams knows them: pure rules, and what their effects do. */
export function scheduleKind(deps: KindDeps): ScheduleKind {
  return {
    name: 'schedule',
    initial: { phase: 'absent' },
    decide: decideSchedule,
    evolve: (state, event) => evolveSchedule(state, event as ScheduleRecorded),
    pending: scheduleEffects,
    wakeAt: scheduleWakeAt,
    timer: scheduleTimer,
    status: scheduleStatus,
    poisoned: attempts => ({ type: 'Poisoned', attempts }),
    async perform({ streamId, state }, effect, signal) {
      if (state.phase !== 'open') return undefined
      if (effect.kind === 'watch-run') return watch(deps, effect.runId)
      const owed: Owed = { streamId, state }
      return (await changed(deps, owed)) ?? act(deps, owed, effect, signal)
    },
  }
}

async function act(
  deps: KindDeps,
  owed: Owed,
  effect: Exclude<ScheduleEffect, { kind: 'watch-run' }>,
  signal: AbortSignal,
): Promise<Put<ScheduleInput> | undefined> {
  switch (effect.kind) {
    case 'find-ticks':
      return find(deps, owed, effect)
    case 'ask-predicate': {
      const input = await askPredicate(deps, { tenant: owed.state.tenant, stream: owed.streamId }, effect, signal)
      return input && { input }
    }
    case 'start-run':
      return start(deps, owed, effect)
  }
}

type Owed = { readonly streamId: string; readonly state: OpenSchedule }
type EffectOfKind<Kind extends ScheduleEffect['kind']> = Extract<ScheduleEffect, { kind: Kind }>

/** Its end wakes the schedule in the same commit; looking again is always harmless. */
async function watch({ store }: KindDeps, runId: string): Promise<Put<ScheduleInput> | undefined> {
  const row = await store.readRun(null, runId)
  if (row && row.endedAt === null) return undefined
  const outcome: ScheduledOutcome = row?.status === 'completed' || row?.status === 'failed' ? row.status : 'cancelled'
  return { input: { type: 'RunEnded', runId, outcome } }
}

/**
 * What the workflow says now is the truth, also where the host died between storing it and telling its schedules, or a
 * workflow of the tenant's own took the place of a shared one.
 */
async function changed({ plans }: KindDeps, { state, streamId }: Owed): Promise<Put<ScheduleInput> | undefined> {
  const { work, tenant } = state
  const plan = await plans.named(tenant, work.workflowId)
  const trigger = plan && schedulesOf(plan.definition).find(({ triggerId }) => triggerId === work.triggerId)
  if (trigger === undefined) return { input: { type: 'Remove' } }
  const now: ScheduledWork = { ...work, inputs: trigger.inputs }
  const register = { type: 'Register', scheduleId: streamId, tenant, work: now, arm: trigger.arm } as const
  const decision = decideSchedule(state, { ...register, now: 0 })
  return decision.ok && decision.events.length === 0 ? undefined : { input: register }
}

/** The run of the latest tick, where it is to have one, is in the commit that tells of the tick. */
async function find(deps: KindDeps, owed: Owed, effect: EffectOfKind<'find-ticks'>): Promise<Put<ScheduleInput>> {
  const input = ticksFound(deps, effect)
  const foreseen = decideSchedule(owed.state, { ...input, now: deps.clock.now() })
  const [next] = foreseen.ok ? scheduleEffects(foreseen.state) : []
  if (next?.kind !== 'start-run') return { input }
  const begun = await begin(deps, owed, next)
  return 'born' in begun ? { input: { ...input, begun: begun.begun }, born: [begun.born] } : { input }
}

async function start(deps: KindDeps, owed: Owed, effect: EffectOfKind<'start-run'>): Promise<Put<ScheduleInput>> {
  const begun = await begin(deps, owed, effect)
  if ('born' in begun) return { input: { type: 'RunReady', begun: begun.begun }, born: [begun.born] }
  const { code } = begun
  const mayHelpLater = PROBLEMS[code].retryable
  return { input: { type: 'RunRefused', tick: tickLabel(effect.tick), code, mayHelpLater } }
}

/** R-ARM-6: a run says what has started it, and for when. */
async function begin({ starter }: KindDeps, { streamId, state }: Owed, { work, tick }: EffectOfKind<'start-run'>) {
  const { workflowId, inputs, principal, scopes } = work
  const name = tickLabel(tick)
  const born = await starter.born(
    {
      tenant: state.tenant,
      principal,
      ...(scopes ? { scopes } : {}),
      workflowId,
      inputs,
      tags: [streamId],
      metadata: { armRef: streamId, tick: name },
      stream: { stream: streamId },
      transport: 'rest',
    },
    state.lastAt,
  )
  return 'code' in born ? born : { born, begun: { runId: born.append.runId, tick: name } }
}
