/**
 * The schedule of a workflow: a standing stream that starts a run of it at each tick of its arm (docs/design/schedule.md).
 *
 * | schedule | entered by                                  | left by, to                                                |
 * |----------|---------------------------------------------|------------------------------------------------------------|
 * | absent   | -                                           | assay.schedule.registered: waiting                         |
 * | waiting  | assay.schedule.registered, .run.ended       | a tick that is owed a run: assay.stream.run.began, to busy |
 * |          |                                             | assay.schedule.held, stays until then                      |
 * |          |                                             | assay.schedule.refused, stays: the tick has no run         |
 * | busy     | assay.stream.run.began                      | assay.schedule.run.ended: waiting                          |
 *
 * Beside that its arm is seeking, set, paused, spent or disarmed (`arm/decide.ts`); what was removed from its workflow is
 * disarmed. It never ends: the same trigger may be registered again.
 *
 *  I1  A run begins in the commit of assay.stream.run.began, which names the tick that it is there for.
 *  I2  One run is under way at a time, whoever asks for the next, and by whatever host.
 *  I3  What it starts is the workflow as it is registered then, with the inputs of the trigger, for whoever registered it.
 *  I4  A run that could not be started is tried again for as long as that may help; else its tick has none, and that is told.
 */

import { type Arm, type ArmTick, sameArm } from '../arm/arm.js'
import {
  type ArmInput,
  type ArmTold,
  afterArmFacts,
  armDisarms,
  armed,
  armHears,
  armPauses,
  armResumes,
  isFree,
} from '../arm/decide.js'
import { armOwes } from '../arm/effects.js'
import type { ArmFact } from '../arm/events.js'
import { UNARMED } from '../arm/state.js'
import { backoff } from '../backoff.js'
import type { Decision } from '../decider.js'
import { type Refusal, refuse } from '../problem.js'
import { RUN_BEGAN } from '../standing/stream.js'
import type { ScheduledOutcome, ScheduledWork, ScheduleEvent, ScheduleRecorded } from './events.js'
import { evolveSchedule } from './evolve.js'
import { type OpenSchedule, type ScheduleState, tickLabel } from './state.js'

export type ScheduleInput =
  /** A workflow has this trigger, from now on. */
  | {
      readonly type: 'Register'
      readonly scheduleId: string
      readonly tenant: string
      readonly work: ScheduledWork
      readonly arm: Arm
    }
  /** It has it no more. */
  | { readonly type: 'Remove' }
  | { readonly type: 'Pause' }
  | { readonly type: 'Resume' }
  | { readonly type: 'RunNow' }
  /** `begun`: a run that is ready to begin, if its tick is owed one. */
  | (Extract<ArmInput, { type: 'TicksFound' }> & { readonly begun?: Begun })
  /** What a heartbeat has found. */
  | Extract<ArmInput, { type: 'PredicateAnswered' }>
  | { readonly type: 'RunReady'; readonly begun: Begun }
  | { readonly type: 'RunRefused'; readonly tick: string; readonly code: string; readonly mayHelpLater: boolean }
  | { readonly type: 'RunEnded'; readonly runId: string; readonly outcome: ScheduledOutcome }
  | { readonly type: 'Poisoned'; readonly attempts: number }

type Begun = { readonly runId: string; readonly tick: string }

/** Between tries to start a run that is owed. */
const HOLD = { firstMs: 1_000, mostMs: 300_000 }

export function decideSchedule(
  state: ScheduleState,
  input: ScheduleInput & { readonly now: number },
): Decision<ScheduleState, ScheduleRecorded> {
  const draft = new Draft(state, input.now)
  const refusal = input.type === 'Register' ? register(draft, input) : heard(draft, input)
  return refusal ? { ok: false, refusal } : { ok: true, events: draft.events, state: draft.state }
}

/** The events decided so far, and the state after them. */
class Draft {
  readonly events: ScheduleRecorded[] = []

  constructor(
    public state: ScheduleState,
    private readonly now: number,
  ) {}

  tell(...facts: readonly ScheduleEvent[]): void {
    for (const fact of facts) {
      const [sequence, lastAt] = this.state.phase === 'absent' ? [0, 0] : [this.state.next, this.state.lastAt]
      const event = { ...fact, sequence, at: Math.max(this.now, lastAt) } as ScheduleRecorded
      this.events.push(event)
      this.state = evolveSchedule(this.state, event)
    }
  }

  get told(): ArmTold {
    const { state, now } = this
    if (state.phase === 'absent') throw new Error('a schedule that there is not has no arm')
    const { scheduleId, run, latest, lastAt } = state
    return { stream: scheduleId, now: Math.max(now, lastAt), busy: run !== null, freeSince: latest?.at ?? null }
  }
}

function register(
  draft: Draft,
  { scheduleId, tenant, work, arm }: Extract<ScheduleInput, { type: 'Register' }>,
): undefined {
  const { state } = draft
  const known = state.phase === 'absent' ? UNARMED : state.arm
  const isNew = state.phase === 'absent' || !isSameWork(state.work, work)
  const isOther = known.at.phase === 'disarmed' || !sameArm(known.arm, arm)
  if (isNew) {
    const { workflowId, triggerId } = work
    draft.tell({
      type: 'assay.schedule.registered',
      payload: { workflowId, triggerId },
      secret: { scheduleId, tenant, work },
    })
  }
  if (!isOther) return
  const facts = armed(known, arm, draft.told)
  // Who has paused it has not resumed it.
  const paused = known.at.phase === 'paused' ? armPauses(afterArmFacts(known, facts)) : []
  draft.tell(...facts, ...paused)
}

function heard(
  draft: Draft,
  input: Exclude<ScheduleInput, { type: 'Register' }> & { now: number },
): Refusal | undefined {
  const { state } = draft
  if (state.phase !== 'open') return undefined
  const { arm, run } = state
  switch (input.type) {
    case 'Remove':
      if (arm.at.phase !== 'disarmed') draft.tell({ type: 'assay.schedule.removed', payload: {} }, ...armDisarms(arm))
      return undefined
    case 'Pause':
      return isRemoved(state) ? REMOVED : told(draft, armPauses(arm))
    case 'Resume':
      return isRemoved(state) ? REMOVED : told(draft, armResumes(arm, draft.told))
    case 'RunNow':
      if (isRemoved(state)) return REMOVED
      if (!isFree(arm, { busy: run !== null })) return busyWith(state)
      return told(draft, armHears(arm, { type: 'AskedByHand' }, draft.told))
    case 'TicksFound':
      draft.tell(...armHears(arm, input, draft.told))
      return input.begun && begin(draft, input.begun)
    case 'PredicateAnswered':
      return told(draft, armHears(arm, input, draft.told))
    case 'RunReady':
      return begin(draft, input.begun)
    case 'RunRefused':
      return refused(draft, state, input)
    case 'RunEnded': {
      const { runId, outcome } = input
      if (run?.runId === runId) draft.tell({ type: 'assay.schedule.run.ended', payload: { runId, outcome } })
      return undefined
    }
    case 'Poisoned':
      draft.tell({ type: 'assay.schedule.quarantined', payload: { attempts: input.attempts } }, ...armPauses(arm))
      return undefined
  }
}

/** I1, I2: only for the tick that is owed a run now. */
function begin(draft: Draft, { runId, tick }: Begun): undefined {
  const { state } = draft
  if (state.phase !== 'open') return
  const owed = armOwes(state.arm, state.run !== null)
  if (owed === undefined || tickLabel(owed) !== tick) return
  draft.tell({ type: RUN_BEGAN, payload: { role: 'work', ordinal: state.begun + 1, runId, tick } })
}

function refused(
  draft: Draft,
  { arm, run, held }: OpenSchedule,
  { tick, code, mayHelpLater }: Extract<ScheduleInput, { type: 'RunRefused' }>,
): undefined {
  const owed: ArmTick | undefined = armOwes(arm, run !== null)
  if (owed === undefined || tickLabel(owed) !== tick) return
  if (!mayHelpLater) return void draft.tell({ type: 'assay.schedule.refused', payload: { tick, code } })
  const failures = (held?.failures ?? 0) + 1
  const until = draft.told.now + backoff(HOLD, failures)
  draft.tell({ type: 'assay.schedule.held', payload: { code, failures, until } })
}

const told = (draft: Draft, facts: readonly ArmFact[]): undefined => draft.tell(...facts) as undefined

const isRemoved = ({ arm }: OpenSchedule): boolean => arm.at.phase === 'disarmed'

const REMOVED = refuse(
  'not_found',
  'Its workflow has this trigger no more, or it is switched off; register the workflow with it, and enabled.',
)

const busyWith = ({ run }: OpenSchedule): Refusal =>
  run === null
    ? refuse('schedule_busy', 'A run of this schedule is about to begin; it never has two at once.')
    : refuse(
        'schedule_busy',
        `Run ${run.runId} of this schedule is under way, and it never has two at once; wait for its end, or cancel it.`,
        {
          runId: run.runId,
        },
      )

/** By what they say, in whatever order. */
const isSameWork = (one: ScheduledWork, other: ScheduledWork): boolean => textOf(one) === textOf(other)
const textOf = ({ workflowId, triggerId, inputs, principal, scopes = [] }: ScheduledWork): string =>
  JSON.stringify([workflowId, triggerId, inputs, principal, [...scopes].sort()])
