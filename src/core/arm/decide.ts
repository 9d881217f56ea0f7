/**
 * An arm: which ticks are owed a run (docs/design/arm.md). It belongs to a standing stream, whose decider puts everything to
 * it, tells its facts among its own, and starts the runs.
 *
 * | arm      | entered by                             | left by, to                                                    |
 * |----------|----------------------------------------|----------------------------------------------------------------|
 * | seeking  | assay.arm.armed, assay.arm.resumed     | TicksFound: assay.arm.set, to set; assay.arm.spent, to spent   |
 * | set      | assay.arm.set                          | its tick has come: set anew, or assay.arm.spent                |
 * |          |                                        | assay.arm.paused, to paused                                    |
 * | paused   | assay.arm.paused                       | assay.arm.resumed, to seeking, or with assay.arm.set to set    |
 * | spent    | assay.arm.spent                        | assay.arm.armed                                                |
 * | disarmed | assay.arm.disarmed: the stream closed  | assay.arm.armed                                                |
 *
 *  I1  A tick has at most one run, however many hosts hear of it: it is owed once, and what takes it off is in the commit
 *      that creates the run, by compare-and-set on the stream.
 *  I2  What an arm does depends on recorded facts alone: zone data, clocks and probes are heard once, as inputs.
 *  I3  Ticks are told in strictly rising order, none twice, and none before it is due.
 *  I4  Nothing is owed a run while the stream is busy or, but by hand, while the arm is paused, spent or disarmed.
 *  I5  At most `mostOwed` ticks are owed; a hearing tells at most four facts, however long nobody listened.
 *  I6  An arm starts runs. It never moves one that waits.
 *  I7  A commitment fires at most once in its life.
 *  I8  Payloads are free of content.
 */

import { type Arm, type ArmTick, GRACE_MS, mostOwed, offsetOf, type ScheduleArm } from './arm.js'
import type { ArmFact, PredicateStatus, SkipReason } from './events.js'
import { evolveArm } from './evolve.js'
import type { ArmState } from './state.js'

/** What the stream says of itself with everything that it puts to its arm. */
export type ArmTold = {
  readonly stream: string
  readonly now: number
  /** It has a run under way, whatever that waits for. */
  readonly busy: boolean
  /** When its last run ended; null before the first. */
  readonly freeSince: number | null
}

export type ArmInput =
  /** What the calendar says: `ticks` have come since the recorded one, the latest of them where there were `more`. */
  | {
      readonly type: 'TicksFound'
      readonly round: number
      readonly ticks: readonly number[]
      readonly more: boolean
      readonly next: number | null
    }
  | {
      readonly type: 'PredicateAnswered'
      readonly round: number
      readonly status: PredicateStatus
      /** Null where there is no answer. */
      readonly holds: boolean | null
    }
  | { readonly type: 'TimeCame' }
  /** Somebody asks for a run now. Refused by the stream while it is busy. */
  | { readonly type: 'AskedByHand' }

/** At its creation, by an edit, and where a stream that was closed is opened again. */
export function armed(state: ArmState, arm: Arm, { now }: ArmTold): ArmFact[] {
  const first: ArmFact = { type: 'assay.arm.armed', payload: { kind: arm.kind, after: now }, secret: { arm } }
  const facts = [...dropped(state, 'rearmed'), first]
  if (arm.kind === 'time') return [...facts, setTo(arm.at)]
  return arm.kind === 'heartbeat' || arm.kind === 'predicate' ? [...facts, setTo(now)] : facts
}

export function armHears(state: ArmState, input: ArmInput, told: ArmTold): ArmFact[] {
  const { arm, at } = state
  if (input.type === 'AskedByHand')
    return isFree(state, told) ? [{ type: 'assay.arm.ticked', payload: { hand: state.hands + 1 } }] : []
  if (input.type === 'TimeCame')
    return arm.kind === 'time' && at.phase === 'set' && at.dueAt <= told.now
      ? [
          { type: 'assay.arm.ticked', payload: { ticks: [at.tick] } },
          { type: 'assay.arm.spent', payload: {} },
        ]
      : []
  if (input.round !== state.round || !isFree(state, told)) return []
  if (input.type === 'TicksFound') return arm.kind === 'schedule' ? ticksFound(state, arm, input, told) : []
  return arm.kind === 'heartbeat' || arm.kind === 'predicate' ? answered(state, input, told) : []
}

/** Nothing is under way, and nothing is about to be. */
export const isFree = (state: ArmState, { busy }: Pick<ArmTold, 'busy'>): boolean => !busy && state.owed.length === 0

function ticksFound(
  { at }: ArmState,
  arm: ScheduleArm,
  { ticks, more, next }: Extract<ArmInput, { type: 'TicksFound' }>,
  told: ArmTold,
): ArmFact[] {
  if (at.phase !== 'set' && at.phase !== 'seeking') return []
  // Two hosts may not agree on zone data: what was recorded is a tick, and what is told goes on from there.
  const [recorded, last] = at.phase === 'set' ? [[at.tick], at.tick] : [[], at.after]
  if (at.phase === 'set' && at.dueAt > told.now) return []
  const offset = offsetOf(told.stream, arm)
  const come = [...recorded, ...ticks.filter(tick => tick > last && tick + offset <= told.now)]
  const from = at.phase === 'seeking' && more ? last + 1 : come[0]
  const facts = from === undefined ? [] : become(come, from, arm, offset, told)
  const following = next !== null && next > (come.at(-1) ?? last) ? next : null
  return [...facts, following === null ? { type: 'assay.arm.spent', payload: {} } : setTo(following, offset)]
}

/** Which of the ticks that have come, from `from` on, are to have a run, and why the others never will. */
function become(come: readonly number[], from: number, arm: ScheduleArm, offset: number, told: ArmTold): ArmFact[] {
  const last = come.at(-1)
  if (last === undefined) return []
  const most = mostOwed(arm)
  const reason = most === 0 ? reasonToSkip(last + offset, told) : undefined
  const kept = reason === undefined ? come.slice(-Math.max(1, most)) : []
  const facts: ArmFact[] = []
  const before = kept[0] ?? last
  if (from < before) facts.push(skipped(from, before, 'missed'))
  if (reason !== undefined) facts.push(skipped(last, last + 1, reason))
  if (kept.length > 0) facts.push({ type: 'assay.arm.ticked', payload: { ticks: kept } })
  return facts
}

/** Why the latest tick has no run where none is made up for. */
function reasonToSkip(dueAt: number, { now, freeSince }: ArmTold): SkipReason | undefined {
  if (now - dueAt > GRACE_MS) return 'missed'
  return freeSince !== null && dueAt < freeSince ? 'busy' : undefined
}

/** Only another answer than the last one owes a run. Of a commitment: the first that it holds. */
function answered(
  { arm, at, anchor, holds }: ArmState,
  { status, holds: answer }: Extract<ArmInput, { type: 'PredicateAnswered' }>,
  { stream, now }: ArmTold,
): ArmFact[] {
  if (at.phase !== 'set' || at.dueAt > now || (arm.kind !== 'heartbeat' && arm.kind !== 'predicate')) return []
  const { tick } = at
  const heard = status === 'ok' ? answer : null
  const changed = heard !== null && (arm.kind === 'predicate' ? heard : holds !== null && heard !== holds)
  const facts: ArmFact[] = [
    {
      type: 'heartbeat.evaluated',
      payload: { heartbeatId: stream, status: heard === null && status === 'ok' ? 'error' : status, changed },
      secret: { tick, holds: heard },
    },
  ]
  if (changed) {
    facts.push({
      type: 'heartbeat.stateChanged',
      payload: { heartbeatId: stream, from: { holds: !heard }, to: { holds: heard } },
    })
    facts.push({ type: 'assay.arm.ticked', payload: { ticks: [tick] } })
    if (arm.kind === 'predicate') return [...facts, { type: 'assay.arm.spent', payload: {} }]
  }
  // Ticks that passed meanwhile are not queued.
  const passed = Math.floor((now - anchor) / arm.everyMs)
  return [...facts, setTo(anchor + (passed + 1) * arm.everyMs)]
}

/** What it is owed is gone, but for a commitment and what was asked for by hand. */
export function armPauses(state: ArmState): ArmFact[] {
  if (state.at.phase === 'paused' || state.at.phase === 'disarmed') return []
  return [...dropped(state, 'paused'), { type: 'assay.arm.paused', payload: {} }]
}

/** Ticks that fell into the pause never happened. */
export function armResumes({ arm, at, anchor }: ArmState, { now }: ArmTold): ArmFact[] {
  if (at.phase !== 'paused') return []
  const resumed: ArmFact = { type: 'assay.arm.resumed', payload: { after: now } }
  if (arm.kind === 'schedule') return [resumed]
  if (arm.kind === 'manual' || at.tick === null) return [resumed, { type: 'assay.arm.spent', payload: {} }]
  if (arm.kind === 'time') return [resumed, setTo(at.tick)]
  const passed = Math.ceil((now - anchor) / arm.everyMs)
  return [resumed, setTo(anchor + passed * arm.everyMs)]
}

/** The stream is closed: nothing is owed any more. */
export function armDisarms(state: ArmState): ArmFact[] {
  if (state.at.phase === 'disarmed') return []
  return [...dropped(state, 'closed'), { type: 'assay.arm.disarmed', payload: {} }]
}

/** A commitment that has come due is not dropped by a pause: it is all there is of it. */
function dropped({ arm, owed }: ArmState, reason: SkipReason): ArmFact[] {
  const times = owed.flatMap((one: ArmTick) => ('tick' in one ? [one.tick] : []))
  const [first] = times
  const last = times.at(-1)
  if (first === undefined || last === undefined) return []
  if (reason === 'paused' && (arm.kind === 'time' || arm.kind === 'predicate')) return []
  return [skipped(first, last + 1, reason)]
}

const setTo = (tick: number, offset = 0): ArmFact => ({
  type: 'assay.arm.set',
  payload: { tick, dueAt: tick + offset },
})

const skipped = (from: number, before: number, reason: SkipReason): ArmFact => ({
  type: 'assay.arm.skipped',
  payload: { from, before, reason },
})

/** Facts folded one after the other: for whoever decides on. */
export const afterArmFacts = (state: ArmState, facts: readonly ArmFact[]): ArmState => facts.reduce(evolveArm, state)
