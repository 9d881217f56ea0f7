import { type Decision, fold } from '../decider.js'
import { isTooDeep } from '../journal/place.js'
import { branchTooDeep } from '../journal/refusals.js'
import { branchPlaces } from '../journal/start.js'
import type { Refusal } from '../problem.js'
import { decideLive, goOn, type Rules } from '../run/decide.js'
import { DecisionContext } from '../run/decision-context.js'
import type { Recorded, RunStarted } from '../run/events.js'
import { evolve } from '../run/evolve.js'
import type { RecordedInput, RunInput } from '../run/input.js'
import type { RunState } from '../run/state.js'
import type { Fork, RunForked } from './events.js'
import { NonDeterminismError, ReplayGuide } from './guide.js'

/** What a branch does otherwise than its source. */
export type Overlay = Pick<RunForked, 'configurable' | 'tags' | 'metadata' | 'changed' | 'workflowDigest'> & {
  /** What whoever asks for the branch may do. */
  readonly scopes?: readonly string[]
  /** The run that wrote what is before the cut, where that is not the source: a replay writes nothing, a fork shares it. */
  readonly writer?: string
  /** The cut goes between two decisions: nothing is half decided, by whichever definition. */
  readonly atRest?: boolean
}

/** R-ATTEST-6: a branch may do what its source could and whoever made it can. */
export function narrowedScope({ principalScope }: Pick<RunStarted, 'principalScope'>, scopes?: readonly string[]) {
  const both = scopes && principalScope?.filter(scope => scopes.includes(scope))
  return both && both.length < (principalScope?.length ?? 0) ? { principalScope: both } : {}
}

/** A log cut before `fromSeq`: the decision that the cut goes through is made again, up to the cut as it was. */
export type Cut = {
  /** As it was before that decision. */
  readonly before: RunState
  /** What led to that decision, and when; undefined when the cut is between two decisions. */
  readonly input: Exclude<RunInput, { type: 'Retold' }> | undefined
  /** Its events that the fork shares. */
  readonly shared: readonly Recorded[]
}

/** `events` are those before the cut that `base` has not heard of. */
export function cutOf(rules: Rules, base: RunState, runId: string, events: readonly Recorded[]): Cut {
  const finder = new CutFinder(rules, base, runId)
  finder.read(events)
  return finder.cut
}

/** Finds the cut in a log that is read bit by bit: no more of it is kept than the decision that the cut may go through. */
export class CutFinder {
  #before: RunState
  #shared: Recorded[] = []

  constructor(
    private readonly rules: Rules,
    base: RunState,
    private readonly runId: string,
  ) {
    this.#before = base
  }

  /** What comes next before the cut. */
  read(events: readonly Recorded[]): void {
    for (const event of events) {
      const isFirst = this.#before.phase === 'absent' && this.#shared.length === 0
      if (event.input !== undefined) this.#fold()
      if (event.input !== undefined || isFirst || this.#shared.length > 0) this.#shared.push(event)
      else this.#before = retold(this.rules, this.#before, this.runId, [event])
    }
  }

  /** Where everything before the cut has been read. */
  get cut(): Cut {
    const [before, shared] = [this.#before, this.#shared]
    const [first] = shared
    if (first === undefined) return { before, input: undefined, shared }
    if (before.phase === 'absent') return { before, input: startOf(first, this.runId, first.at), shared }
    return { before, input: { ...(first.input as RecordedInput), now: first.at } as Cut['input'], shared }
  }

  #fold(): void {
    this.#before = retold(this.rules, this.#before, this.runId, this.#shared)
    this.#shared = []
  }
}

/** What a run had come to, as the state of a fork that shares it. */
export const inherited = (state: RunState, runId: string, fork: Fork): RunState =>
  state.phase === 'absent' ? { phase: 'absent', fork } : { ...state, runId, fork, diverged: hasOwnReport(state, fork) }

/** A report in what is shared was about the source's source. */
const hasOwnReport = ({ diverged, next }: Exclude<RunState, { phase: 'absent' }>, { fromSeq }: Fork): boolean =>
  diverged && next > fromSeq

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
  const gates = secret?.gates && { gates: secret.gates }
  const withheld = secret?.withheld && { withheld: secret.withheld }
  const journal = secret?.journal && { journal: secret.journal }
  return { type: 'StartRun', runId, started, hiddenInputs, ...withheld, ...gates, ...journal, now }
}

/** A branch from the very beginning: it sees what its source saw when it started, and keeps what it writes to itself. */
export function branchStart(event: Recorded, runId: string, { sourceRunId }: Fork, now: number): BranchStart {
  const start = startOf(event, runId, now)
  if (start.journal === undefined) return { ok: true, start }
  if (isTooDeep(start.journal)) return { ok: false, refusal: branchTooDeep(sourceRunId) }
  const journal = branchPlaces(start.journal, runId, { runId: sourceRunId, before: 0 }, event.at)
  return { ok: true, start: { ...start, journal } }
}

type BranchStart =
  | { readonly ok: true; readonly start: ReturnType<typeof startOf> }
  | { readonly ok: false; readonly refusal: Refusal }

/**
 * The first own events of a branch: it goes on from the cut by itself, and asks and calls anew (contract core §8.2).
 * `base` is a state of the fork, `events` are those before the cut that it has not heard of.
 */
export function branchOff(
  rules: Rules,
  base: RunState,
  runId: string,
  events: readonly Recorded[],
  { scopes, writer, atRest = false, ...overlay }: Overlay,
  now: number,
): Decision<RunState, Recorded> {
  const whole = retold(rules, base, runId, events)
  if (whole.phase === 'absent') throw new Error('a branch from the very beginning is started, not cut')
  if (whole.phase === 'ended') return { ok: true, events: [], state: whole }
  if (whole.fork && whole.journal && isTooDeep(whole.journal))
    return { ok: false, refusal: branchTooDeep(whole.fork.sourceRunId) }
  const announce = (context: DecisionContext) => {
    const { state } = context
    // A run that has just ended has nothing to go on with.
    if (state.phase !== 'active' || state.fork === undefined) return
    const { sourceRunId, fromSeq } = state.fork
    context.at = Math.max(context.at, now)
    const narrowed = narrowedScope(state.started, scopes)
    const { journal, lastAt } = state
    const source = { runId: writer ?? sourceRunId, before: fromSeq }
    const secret = journal && { secret: { journal: branchPlaces(journal, runId, source, lastAt) } }
    context.note({ type: 'assay.run.forked', payload: { sourceRunId, fromSeq, ...overlay, ...narrowed }, ...secret })
  }
  const finished = atRest ? undefined : finish(rules, cutOf(rules, base, runId, events), announce)
  if (finished) return gone(rules, finished, runId, now)
  // Nothing was half decided, or the rules have changed since: go on from the state that the log tells.
  const context = new DecisionContext(rules.plan, rules.limits, whole, runId, now)
  announce(context)
  return gone(rules, context, runId, now)
}

/** The rest of the decision that the cut goes through, if today's rules still decide it so. */
function finish(rules: Rules, { before, input, shared }: Cut, parted: (context: DecisionContext) => void) {
  // A child that the source had just started is the source's: a branch starts its own.
  const isBirth = ({ type }: Recorded) => type === 'node.dispatched' || type === 'assay.verifier.started'
  if (input === undefined || shared.some(isBirth)) return undefined
  try {
    const guide = new ReplayGuide({ shared, parted })
    const decision = decideLive(rules, before, input, guide)
    return decision.ok && guide.isDone ? decision : undefined
  } catch (error) {
    if (error instanceof NonDeterminismError) return undefined
    throw error
  }
}

/** A decision of its own, so that a replay of the branch is told it as one. */
function gone(
  rules: Rules,
  {
    events,
    state,
    steps = 0,
  }: { readonly events: readonly Recorded[]; readonly state: RunState; readonly steps?: number },
  runId: string,
  now: number,
): Decision<RunState, Recorded> {
  const context = new DecisionContext(rules.plan, rules.limits, state, runId, now, { type: 'Continue' })
  if (state.phase === 'active') goOn(rules, context)
  return { ok: true, events: [...events, ...context.events], state: context.state, steps: steps + context.worked }
}
