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
 *  I7  What is told does not depend on how much of the source is read at a time; of what has been read, no more is kept
 *      than is still to be heard or compared, and what nodes brought that say of themselves that they are not deterministic.
 *  I8  A decision is made by the definition that was in force when the source made it; `assay.run.forked` says where a
 *      branch has put another in its place. The fold goes by what no branch can change, so it needs no such care.
 *  I9  What is compared with today is what the host has at hand: its prompts, and the program of its provider `mock`.
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
import { planNodeAt, planNodeOf } from '../workflow/plan.js'
import { Definitions } from './definitions.js'
import type { EnvelopeKind, Fork } from './events.js'
import { CutFinder, retold, startOf } from './fork.js'
import { NonDeterminismError, ReplayGuide } from './guide.js'
import { type HeardInput, Source, SourceShort } from './source.js'
import { Starts, sameStart, startOfNode } from './starts.js'
import { asToday, questionIn, type TodayQuestion } from './today.js'

type Live = Exclude<RunInput, { type: 'Retold' }>
/** What is heard next, and the sequence that the decision upon it has in the source. */
type Upcoming = { readonly input: Live; readonly place: number }

/** The place of decisions that the source has not come to. */
const BEYOND = Number.POSITIVE_INFINITY

/** How far a replay goes on by itself: a source that waits in a loop would go on for ever. */
const MAX_TIMERS_BEYOND = 1_000

/** For looking at one of the inputs that are left. */
const STEPS_PER_LOOK = 5

/**
 * One replay. It takes as long as the rules need, not as long as its source took (R-REPLAY-5, R-REPLAY-11). The source is
 * handed to it bit by bit (`read`), whenever it `isShort` of it.
 */
export class Replay {
  #state: RunState
  /** What it has taken so far. */
  #steps = 0
  /** Timers that went off where the source's log has ended. */
  #timers = 0
  readonly #source: Source
  /** Where the shared part is cut, until it has been read. */
  #cut: CutFinder | undefined
  #shared: readonly Recorded[] = []
  /** The decision that the cut goes through, until it has been made again. */
  #first: Live | undefined
  /** What is heard next: looked at already, or heard but not decided for want of something to compare with. */
  #upcoming: Upcoming | undefined
  #isShort = false
  readonly #starts: Starts
  readonly #definitions: Definitions

  /**
   * `base` is a state of the fork, `log` the beginning of what of the source's it has not heard of. `rules` are those at
   * its end; `earlier` has those of the definitions that were in force before, by digest, as far as they have been read of.
   */
  constructor(
    private readonly rules: Rules,
    base: RunState,
    private readonly fork: Fork,
    private readonly runId: string,
    log: readonly Recorded[] = [],
    private readonly earlier: ReadonlyMap<string, Rules> = new Map(),
  ) {
    this.#source = new Source(fork.fromSeq, fork.sourceLength, base.phase === 'absent' ? 0 : base.next)
    this.#cut = new CutFinder(rules, base, runId)
    this.#definitions = new Definitions(base)
    this.#starts = new Starts(rules, base)
    this.#state = base
    this.read(log)
  }

  /** What has been told so far amounts to this. */
  get state(): RunState {
    return this.#state
  }

  /** Steps that its decisions have taken so far, and the looking for what to tell next. */
  get steps(): number {
    return this.#steps
  }

  /** Whether more of the source has to be read before it can be said what comes next. */
  get isShort(): boolean {
    return this.#isShort
  }

  /** How many events of the source are kept. */
  get kept(): number {
    return this.#source.kept
  }

  /** What comes next in the source. */
  read(log: readonly Recorded[]): void {
    const { fromSeq } = this.fork
    this.#source.read(log)
    this.#definitions.read(log)
    this.#starts.read(log, this.#isNondeterministic)
    if (this.#cut !== undefined) {
      this.#cut.read(log.filter(({ sequence }) => sequence < fromSeq))
      if (this.#source.next >= Math.max(fromSeq, 1)) this.#beginAt(this.#cut)
    }
    this.#isShort = this.#cut !== undefined
  }

  #beginAt({ cut }: CutFinder): void {
    this.#cut = undefined
    const beginning = this.fork.fromSeq === 0 ? this.#source.at(0) : undefined
    this.#state = cut.before
    this.#first = beginning ? startOf(beginning, this.runId, beginning.at) : cut.input
    this.#shared = cut.shared
  }

  /**
   * What of today the next decision is compared with; undefined when it is told as it was, whatever is today, or when it
   * cannot be said yet (`isShort`).
   */
  get question(): TodayQuestion | undefined {
    if (this.#isShort || this.#first || this.#state.phase !== 'active') return undefined
    this.#upcoming ??= this.#nextInput()
    if (this.#upcoming === undefined) return undefined
    const { input, place } = this.#upcoming
    try {
      return questionIn(this.#rulesAt(place).plan, this.#state, input)
    } catch (error) {
      if (!(error instanceof SourceShort)) throw error
      this.#isShort = true
      return undefined
    }
  }

  /**
   * The events of the next decision, if it led to any; undefined when everything has been told. `today` answers the
   * `question`; without an answer it is told as it was.
   */
  next(today?: PromptsTold | EnvelopeKind): readonly Recorded[] | undefined {
    if (this.#isShort) throw new Error('more of the source has to be read first')
    this.#upcoming ??= this.#nextInput()
    if (this.#upcoming === undefined) return this.#isShort ? [] : undefined
    const { input, place } = this.#upcoming
    return this.#hear(today === undefined ? input : asToday(input, today, this.fork, place), place)
  }

  #hear(input: Live, place: number): readonly Recorded[] {
    const shared = this.#first ? this.#shared : []
    try {
      const guide = new ReplayGuide({ shared, original: this.#source.at, completion: this.#completion })
      const decision = decideLive(this.#rulesAt(place), this.#state, input, guide)
      if (!guide.isDone) throw new NonDeterminismError('the shared part holds more than its last decision')
      this.#settle()
      if (!decision.ok) return []
      this.#steps += decision.steps ?? 0
      this.#state = decision.state
      if (decision.state.phase !== 'absent') this.#source.forgetBefore(decision.state.next)
      return decision.events
    } catch (error) {
      if (error instanceof SourceShort) {
        this.#isShort = true
        return []
      }
      if (!(error instanceof NonDeterminismError)) throw error
      // The rules have changed since, or the log is older than its inputs: go on from what the shared part tells.
      this.#settle()
      this.#state = retold(this.rules, this.#state, this.runId, shared)
      return []
    }
  }

  #settle(): void {
    this.#first = undefined
    this.#upcoming = undefined
  }

  /**
   * By which definition the decision was made that stands at `place` in the source. A branch may have put its own in force in
   * the midst of a decision, so that has to be read to its end.
   */
  #rulesAt(place: number): Rules {
    if (place === BEYOND) return this.rules
    if (this.#definitions.isOpen(place) && !this.#source.isWhole)
      throw new SourceShort(`the decision at event ${place} has not been read to its end yet`)
    const digest = this.#definitions.at(place)
    return (digest === undefined ? undefined : this.earlier.get(digest)) ?? this.rules
  }

  readonly #isNondeterministic = (nodeId: string): boolean =>
    [this.rules, ...this.earlier.values()].some(
      ({ plan }) => planNodeOf(plan, nodeId)?.node.config.nondeterministic === true,
    )

  readonly #completion = (nodeId: string, ordinal: number, attempt: number): Recorded | undefined => {
    const completion = this.#starts.completionOf(nodeId, ordinal, attempt)
    if (completion === undefined && !this.#source.isWhole)
      throw new SourceShort(`a completion of ${nodeId} has not been read yet`)
    return completion
  }

  #nextInput(): Upcoming | undefined {
    if (this.#first) return { input: this.#first, place: this.#shared[0]?.sequence ?? 0 }
    if (this.#state.phase !== 'active') return undefined
    const recorded = this.#recorded(this.#state)
    if (recorded !== undefined) return recorded
    this.#isShort = !this.#source.isAllHeard
    const input = this.#isShort ? undefined : this.#beyond(this.#state)
    return input && { input, place: BEYOND }
  }

  /** The earliest of the source's remaining inputs that this run can hear. */
  #recorded(state: Active): Upcoming | undefined {
    for (const [i, step] of this.#source.heard.entries()) {
      this.#steps += STEPS_PER_LOOK
      // A person stopped the source; what they stopped is told as far as it is known (contract core §8.4).
      if (step.input.type === 'CancelRun') {
        this.#source.closeAt(i)
        return undefined
      }
      const input = this.#addressed(state, step) ?? this.#late(state, step)
      if (input === undefined) continue
      this.#source.take(i)
      return { input: { ...input, now: step.at } as Live, place: step.sequence }
    }
    return undefined
  }

  /** The input as this run would hear it now, or undefined when it does not wait for it. */
  #addressed(state: Active, { input }: HeardInput): RecordedInput | undefined {
    switch (input.type) {
      case 'ResolveInterrupt': {
        const node = this.#node(state, input.nodeId)
        if (questionOf(node) === undefined) return undefined
        const { interruptId: _, ...others } = input
        return others
      }
      case 'RetryNow': {
        const { nodeId } = input
        const nodes = nodeId === undefined ? state.open.map(index => nodeAt(state, index)) : [this.#node(state, nodeId)]
        return nodes.some(node => node?.is === 'retrying') ? input : undefined
      }
      case 'ChildEnded':
      case 'ChildWaits': {
        const node = this.#node(state, input.nodeId)
        return childrenOf(node).some(isRunning(input.childRunId)) ? input : undefined
      }
      case 'PeerSilent':
      case 'PeerHeard': {
        const workers = workersOf(this.#node(state, input.nodeId))
        return workers.some(one => isAtPeer(one) && one.began === input.began) ? input : undefined
      }
      case 'PeerLetGo':
        return state.lostPeers?.some(({ lost }) => lost === input.lost) ? input : undefined
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
      case 'JournalUsed':
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
    const meant = this.#starts.at(input.since)
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
  #late(state: Active, { at }: HeardInput): RecordedInput | undefined {
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
}

const isTimer = (node: Waiting): boolean => node.on === 'host' && node.wait.kind === 'timer'

const isAtPeer = (worker: WorkerState) => worker.is === 'dispatching' || worker.is === 'running'

type Child = WorkerState | VerifierState

/** Runs that a node has started: its workers, and the verifiers of what they bring. */
const childrenOf = (node: NodeState | undefined): readonly Child[] => [...workersOf(node), ...verifiersIn(node)]

const isRunning = (childRunId: string) => (child: Child) => child.is === 'running' && child.childRunId === childRunId
