/**
 * Telling a run again: the rules of today hear every input that its source heard, at the time it was heard. Nothing
 * is called and nobody is asked. A branch, which goes on by itself, begins in `fork.ts`; `guide.ts` leads both
 * through the decision that the cut goes through.
 *
 * | `Replay`   | entered by                       | left by, to                                                       |
 * |------------|----------------------------------|-------------------------------------------------------------------|
 * | at the cut | a decision is cut through, or    | it is made again, the shared events as they were: to recorded     |
 * |            | `fromSeq` is 0                   | the rules now decide otherwise: their fold stands, to recorded    |
 * | recorded   | the shared part is told          | the earliest of the inputs left that this run can hear: stays     |
 * |            |                                  | none is left, or a cancel comes next: to beyond                   |
 * | beyond     | the source's inputs are used up  | ResumeRun, Continue, TimeCame by its own time: stays              |
 * |            |                                  | SourceMissing, where an outcome was never recorded: stays         |
 * |            |                                  | the run has ended: to told                                        |
 * | told       | a terminal event                 | never                                                             |
 *
 * | `diverged` | entered by                       | left by, to                                                       |
 * |------------|----------------------------------|-------------------------------------------------------------------|
 * | false      | run.started                      | the first own event that is not as the source has it: to true     |
 * | true       | replay.diverged                  | never: it is reported once                                        |
 *
 *  I1  Telling it twice gives the same events: after a crash it is told again from its beginning, and what is missing
 *      is appended.
 *  I2  Nothing is owed to a replay but the effect `replay`, so it cannot reach the world; subscribers are told nothing
 *      of it.
 *  I3  An outcome belongs to one attempt of one execution of a node, wherever that now stands in the log; its `since`
 *      is put right.
 *  I4  Time is the source's. Beyond its end timers go off at once, at most MAX_TIMERS_BEYOND of them.
 *  I5  Where today's rules no longer decide the shared part as it is (NonDeterminismError), its events stand and the
 *      run goes on from their fold.
 *  I6  A cancel of the source is not heard: what was cancelled is told as far as it is known.
 *  I7  What is compared with today is what the host has at hand: its prompts, and the program of its provider `mock`.
 *      Whoever tells the replay looks it up (`question`) and hands it in; what was told once is told so again (I1).
 */

import type { WorkerState } from '../handoff/state.js'
import type { PromptsTold } from '../invocation/brief.js'
import { decideLive, type Rules } from '../run/decide.js'
import { nextMoment } from '../run/effects.js'
import type { Recorded } from '../run/events.js'
import type { RecordedInput, RunInput } from '../run/input.js'
import { durationBreach } from '../run/limits.js'
import { hasReadyNodes } from '../run/schedule.js'
import { type Active, type NodeState, nodeAt, type RunState } from '../run/state.js'
import { questionOf, verifiersIn, type Waiting, workersOf } from '../run/waiting.js'
import { pendingInspection } from '../verification/decide.js'
import type { VerifierState } from '../verification/state.js'
import { planNodeAt } from '../workflow/plan.js'
import type { EnvelopeKind, Fork } from './events.js'
import { cutOf, retold, startOf } from './fork.js'
import { NonDeterminismError, ReplayGuide } from './guide.js'
import { asToday, questionIn, type TodayQuestion } from './today.js'

type Step = { readonly sequence: number; readonly at: number; readonly input: RecordedInput }
type Live = Exclude<RunInput, { type: 'Retold' }>
/** What is heard next, and where the source heard it. */
type Upcoming = { readonly input: Live; readonly sequence?: number }

/** How far a replay goes on by itself: a source that waits in a loop would go on for ever. */
const MAX_TIMERS_BEYOND = 1_000

/** One replay. It takes as long as the rules need, not as long as its source took (R-REPLAY-5, R-REPLAY-11). */
export class Replay {
  #state: RunState
  #queue: Step[]
  /** What it has taken so far. */
  #steps = 0
  /** Timers that went off where the source's log has ended. */
  #timers = 0
  readonly #shared: readonly Recorded[]
  /** The decision that the cut goes through, until it has been made again. */
  #first: Live | undefined
  #upcoming: Upcoming | undefined
  /** Which start of which node an input of the source answers, by the sequence of that start. */
  readonly #starts = new Map<number, Start>()
  /** The latest start of each node, while the log is read. */
  readonly #latest = new Map<string, string>()
  /** How the source says that a node completed, by that start of it. */
  readonly #completions = new Map<string, Recorded>()
  readonly #source: ReadonlyMap<number, Recorded>
  readonly #fork: Fork

  /** `base` is a state of the fork, `log` what of the source's it has not heard of, as far as it may know it. */
  constructor(
    private readonly rules: Rules,
    base: RunState,
    fork: Fork,
    private readonly runId: string,
    log: readonly Recorded[],
  ) {
    this.#fork = fork
    const own = log.filter(({ sequence }) => sequence >= fork.fromSeq)
    const before = log.slice(0, log.length - own.length)
    this.#source = new Map(own.map(event => [event.sequence, event]))
    this.#queue = own.flatMap(({ sequence, at, input }) => (input === undefined ? [] : [{ sequence, at, input }]))
    const beginning = base.phase === 'absent' && before.length === 0 ? own[0] : undefined
    const cut = cutOf(rules, base, runId, before)
    this.#state = cut.before
    this.#first = beginning ? startOf(beginning, runId, beginning.at) : cut.input
    this.#shared = cut.shared
    this.#noteStarts(base, log)
  }

  /** What has been told so far amounts to this. */
  get state(): RunState {
    return this.#state
  }

  /** Steps that its decisions have taken so far. */
  get steps(): number {
    return this.#steps
  }

  /** What of today the next decision is compared with; undefined when it is told as it was, whatever is today. */
  get question(): TodayQuestion | undefined {
    if (this.#first || this.#state.phase !== 'active') return undefined
    this.#upcoming ??= this.#nextInput()
    return this.#upcoming && questionIn(this.rules.plan, this.#state, this.#upcoming.input)
  }

  /**
   * The events of the next decision; undefined when everything has been told. `today` answers the `question`; without
   * an answer it is told as it was. None, where what comes next has a question of its own.
   */
  next(today?: PromptsTold | EnvelopeKind): readonly Recorded[] | undefined {
    let answer = today
    for (;;) {
      const upcoming = this.#upcoming ?? this.#nextInput()
      this.#upcoming = undefined
      if (upcoming === undefined) return undefined
      const { input, sequence } = upcoming
      const heard = answer && sequence !== undefined ? asToday(input, answer, this.#fork, sequence) : input
      const events = this.#hear(heard as Live)
      if (events.length > 0 || this.question !== undefined) return events
      answer = undefined
    }
  }

  #hear(input: Live): readonly Recorded[] {
    const shared = this.#first ? this.#shared : []
    this.#first = undefined
    try {
      const guide = new ReplayGuide({
        shared,
        original: sequence => this.#source.get(sequence),
        completion: (...start) => this.#completions.get(start.join(' ')),
      })
      const decision = decideLive(this.rules, this.#state, input, guide)
      if (!guide.isDone) throw new NonDeterminismError('the shared part holds more than its last decision')
      if (!decision.ok) return []
      this.#steps += decision.steps ?? 0
      this.#state = decision.state
      return decision.events
    } catch (error) {
      if (!(error instanceof NonDeterminismError)) throw error
      // The rules have changed since, or the log is older than its inputs: go on from what the shared part tells.
      this.#state = retold(this.rules, this.#state, this.runId, shared)
      return []
    }
  }

  #nextInput(): Upcoming | undefined {
    if (this.#first) return { input: this.#first }
    if (this.#state.phase !== 'active') return undefined
    const recorded = this.#recorded(this.#state)
    if (recorded) return recorded
    const input = this.#beyond(this.#state)
    return input && { input }
  }

  /** The earliest of the source's remaining inputs that this run can hear. */
  #recorded(state: Active): Upcoming | undefined {
    for (const [i, step] of this.#queue.entries()) {
      // A person stopped the source; what they stopped is told as far as it is known (contract core §8.4).
      if (step.input.type === 'CancelRun') {
        this.#queue = this.#queue.slice(0, i)
        return undefined
      }
      const input = this.#addressed(state, step) ?? this.#late(state, step)
      if (input === undefined) continue
      this.#queue.splice(i, 1)
      return { input: { ...input, now: step.at } as Live, sequence: step.sequence }
    }
    return undefined
  }

  /** The input as this run would hear it now, or undefined when it does not wait for it. */
  #addressed(state: Active, { input }: Step): RecordedInput | undefined {
    switch (input.type) {
      case 'ResolveInterrupt': {
        const node = this.#node(state, input.nodeId)
        if (questionOf(node) === undefined) return undefined
        const { interruptId: _, ...others } = input
        return others
      }
      case 'ChildEnded':
      case 'ChildWaits': {
        const node = this.#node(state, input.nodeId)
        return childrenOf(node).some(isRunning(input.childRunId)) ? input : undefined
      }
      case 'Inspected': {
        const node = this.#node(state, input.nodeId)
        const wanted = node && pendingInspection(state, input.nodeId, node)
        const isMeant =
          wanted?.bound.gate.gate_id === input.gateId &&
          wanted.attempt === input.attempt &&
          wanted.round === input.round
        return isMeant ? { ...input, since: wanted.subject.sequence } : undefined
      }
      case 'ChildStarted':
      case 'ChildRefused':
        return input.verifier ? this.#asVerifier(state, input) : this.#ofStart(state, input)
      case 'AgentBriefed':
      case 'ModelReasoned':
      case 'ModelAnswered':
      case 'ModelLost':
      case 'ToolAnswered':
      case 'EffectAnswered':
      case 'SourceMissing':
      case 'RefusalDiverged':
        return this.#ofStart(state, input)
      default:
        return input
    }
  }

  /** What belongs to one start of a node, if the node waits under that start here. */
  #ofStart<Answer extends RecordedInput & { readonly nodeId: string; readonly since: number }>(
    state: Active,
    input: Answer,
  ): Answer | undefined {
    const meant = this.#starts.get(input.since)
    const now = startOfNode(this.rules, state, input.nodeId)
    return meant && now && sameStart(meant, now) ? { ...input, since: now.since } : undefined
  }

  /** What became of asking a verifier, if that verifier is being asked here. */
  #asVerifier<Answer extends Extract<RecordedInput, { type: 'ChildStarted' | 'ChildRefused' }>>(
    state: Active,
    input: Answer,
  ) {
    const judge = verifiersIn(this.#node(state, input.nodeId))[input.worker]
    return judge?.is === 'starting' ? { ...input, since: judge.began } : undefined
  }

  /** Whatever came, it told the source that its time was over. */
  #late(state: Active, { at }: Step): RecordedInput | undefined {
    const { plan, limits } = this.rules
    const over = state.mode.kind !== 'stopping' && durationBreach(plan, state, limits, at)
    return over ? { type: 'TimeCame' } : undefined
  }

  /** What happens where the source's log ends: waits of which nothing is recorded fail, then time goes by. */
  #beyond(state: Active): Live | undefined {
    const now = state.lastAt
    if (state.mode.kind === 'paused') return { type: 'ResumeRun', now }
    if (hasReadyNodes(this.rules, state)) return { type: 'Continue', now }
    for (const index of state.open) {
      const node = nodeAt(state, index)
      if (node.is === 'waiting' && (!isTimer(node) || this.#timers >= MAX_TIMERS_BEYOND))
        return { type: 'SourceMissing', nodeId: planNodeAt(this.rules.plan, index).node.id, since: node.since, now }
    }
    // Only a stop that the shared part breaks off is left half done.
    if (state.mode.kind === 'stopping') return { type: 'Continue', now }
    const moment = nextMoment(this.rules, state)
    this.#timers += 1
    return Number.isFinite(moment) ? { type: 'TimeCame', now: moment } : undefined
  }

  #node(state: Active, nodeId: string): NodeState | undefined {
    const index = this.rules.plan.indexOf.get(nodeId)
    return index === undefined ? undefined : state.nodes[index]
  }

  #noteStarts(base: RunState, log: readonly Recorded[]): void {
    const fresh = new Map<string, number>()
    if (base.phase === 'active')
      for (const { index, node } of this.rules.plan.nodes) {
        fresh.set(node.id, base.starts[index] ?? 0)
        const start = startOfNode(this.rules, base, node.id)
        if (start) this.#starts.set(start.since, start)
      }
    for (const event of log) {
      if (event.type === 'node.completed') this.#noteCompletion(event)
      const isRework = event.type === 'assay.rework.began' && event.payload.point === 'node'
      if (event.type !== 'node.started' && !isRework) continue
      const attempt = event.type === 'node.started' ? event.payload.attempt : 0
      const ordinal = (fresh.get(event.nodeId) ?? 0) + (attempt === 0 ? 1 : 0)
      fresh.set(event.nodeId, ordinal)
      this.#starts.set(event.sequence, { nodeId: event.nodeId, ordinal, attempt, since: event.sequence })
      this.#latest.set(event.nodeId, [event.nodeId, ordinal, attempt].join(' '))
    }
  }

  #noteCompletion(event: Extract<Recorded, { type: 'node.completed' }>): void {
    const start = this.#latest.get(event.nodeId)
    if (start !== undefined) this.#completions.set(start, event)
  }
}

const isTimer = (node: Waiting): boolean => node.on === 'host' && node.wait.kind === 'timer'

type Child = WorkerState | VerifierState

/** Runs that a node has started: its workers, and the verifiers of what they bring. */
const childrenOf = (node: NodeState | undefined): readonly Child[] => [...workersOf(node), ...verifiersIn(node)]

const isRunning = (childRunId: string) => (child: Child) => child.is === 'running' && child.childRunId === childRunId

/** R-REPLAY-12: an outcome belongs to one attempt of one execution of a node, wherever that stands in the log. */
type Start = { readonly nodeId: string; readonly ordinal: number; readonly attempt: number; readonly since: number }

const sameStart = (a: Start, b: Start): boolean =>
  a.nodeId === b.nodeId && a.ordinal === b.ordinal && a.attempt === b.attempt

function startOfNode({ plan }: Rules, state: Active, nodeId: string): Start | undefined {
  const index = plan.indexOf.get(nodeId)
  const node = index === undefined ? undefined : state.nodes[index]
  if (index === undefined || node?.is !== 'waiting') return undefined
  return { nodeId, ordinal: state.starts[index] ?? 0, attempt: node.attempt, since: node.since }
}
