import { type Decision, fold } from '../decider.js'
import { decideLive, type Rules } from './decide.js'
import type { Fork, Recorded, RunForked } from './event.js'
import { evolve } from './evolve.js'
import type { Heard, RunInput } from './input.js'
import { resumeBranch } from './resume-branch.js'
import { Retelling, Strayed } from './retelling.js'
import type { RunState } from './state.js'
import { Turn } from './turn.js'

/** What a branch does otherwise than its source. */
export type Overlay = Pick<RunForked, 'configurable' | 'tags' | 'metadata'>

/** A log cut before `fromSeq`: the decision that the cut goes through is made again, up to the cut as it was. */
export type Cut = {
  /** As it was before that decision. */
  readonly before: RunState
  /** What led to that decision, and when. */
  readonly input: Exclude<RunInput, { type: 'Retold' }>
  /** Its events that the fork shares. */
  readonly shared: readonly Recorded[]
}

/** `events` are all events before the cut, at least one. */
export function cutOf(rules: Rules, fork: Fork, runId: string, events: readonly Recorded[]): Cut {
  const first = events[0]!
  const last = events.findLastIndex(event => event.input !== undefined)
  const absent: RunState = { phase: 'absent', fork }
  if (last <= 0) return { before: absent, input: startOf(first, runId, first.at), shared: events }
  const before = retold(rules, absent, runId, events.slice(0, last))
  const { input, at } = events[last]!
  return { before, input: { ...(input as Heard), now: at } as Cut['input'], shared: events.slice(last) }
}

/** What another run's events make of this one. */
export const retold = (rules: Rules, state: RunState, runId: string, events: readonly Recorded[]): RunState =>
  fold(
    (before: RunState, event: Recorded) =>
      evolve(rules.plan, before, event.sequence === 0 ? { ...event, runId } : event),
    state,
    events,
  )

/** The command that a run was started with, from its first event. */
export function startOf(event: Recorded, runId: string, now: number): Extract<RunInput, { type: 'StartRun' }> {
  if (event.type !== 'run.started') throw new Error(`a log begins with run.started, not ${event.type}`)
  const { payload, secret } = event
  const hiddenInputs = Object.keys(secret?.inputs ?? {})
  const started = { ...payload, inputs: { ...payload.inputs, ...secret?.inputs } }
  return { type: 'StartRun', runId, started, hiddenInputs, now }
}

/** The first own events of a branch: it goes on from the cut by itself, and asks and calls anew (contract core §8.2). */
export function branchOff(
  rules: Rules,
  fork: Fork,
  runId: string,
  events: readonly Recorded[],
  overlay: Overlay,
  now: number,
): Decision<RunState, Recorded> {
  if (events.length === 0) throw new Error('a branch from the very beginning is started, not cut')
  const whole = retold(rules, { phase: 'absent', fork }, runId, events)
  if (whole.phase === 'ended') return { ok: true, events: [], state: whole }
  const { before, input, shared } = cutOf(rules, fork, runId, events)
  const announce = (turn: Turn) => {
    // A run that has just ended has nothing to go on with.
    if (turn.state.phase !== 'active') return
    turn.at = Math.max(turn.at, now)
    turn.append({
      type: 'assay.run.forked',
      payload: { sourceRunId: fork.sourceRunId, fromSeq: fork.fromSeq, ...overlay },
    })
  }
  try {
    const finished = decideLive(rules, before, input, new Retelling({ shared, parted: announce }))
    if (!finished.ok) throw new Strayed(finished.refusal.message)
    return gone(rules, finished.events, new Turn(rules.plan, rules.limits, finished.state, runId, now))
  } catch (error) {
    if (!(error instanceof Strayed)) throw error
    // The rules have changed since: go on from the state the log tells, whatever was half decided.
    const turn = new Turn(rules.plan, rules.limits, whole, runId, now)
    announce(turn)
    return gone(rules, [], turn)
  }
}

function gone(rules: Rules, before: readonly Recorded[], turn: Turn): Decision<RunState, Recorded> {
  resumeBranch(rules, turn)
  return { ok: true, events: [...before, ...turn.events], state: turn.state }
}
