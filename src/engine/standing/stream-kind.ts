import type { Decision } from '../../core/decider.js'
import type { Refusal } from '../../core/problem.js'
import type { RunStatus } from '../../core/run/events.js'
import type { RecordedInStream, StandingEvent, StreamKindName, StreamState } from '../../core/standing/stream.js'
import type { PendingWrite } from '../runtime/run-writer.js'

/**
 * The room of standing streams: goals, and schedules of plain workflows. A kind brings pure rules and what its effects do;
 * everything else is here, once for all kinds:
 *
 *  * `StreamWriter`  decides, commits once, believes it: the stream, and the runs that begin with it, in one transaction.
 *  * `StreamDriver`  wakes streams when they are due, performs what they are owed and puts what came of it to them.
 *
 * What a new kind has to do:
 *
 *  1. Name itself in `KINDS` of `core/standing/stream.ts`; its ids are made by `streamId(kind, ids.run())`.
 *  2. Write its decider in a folder of `core`, and a `StreamKind` of it. A state is a union over `phase`, with the fields of
 *     `StreamState`; it must be JSON. `decide` gives events with `sequence` and `at`, dense, and never before `lastAt`. The last
 *     event of the stream is STREAM_ENDED, with `{}`.
 *  3. To start a run: `decide` tells RUN_BEGAN {role, ordinal, runId, tick?} for it. Whoever puts that input brings the run's
 *     first step along (`Put.born`, made by `RunStarter.born`, with the stream's id). A run that no RUN_BEGAN of the decision
 *     names is not born; one that is named has its first events in this very commit. The store refuses a second run under
 *     one tick or ordinal, and an ordinal over `payload.bounds.maxLoopIterations` of the stream's first event (S16).
 *  4. A run that a stream has started wakes it, in the same commit, when it ends and when its status changes to or from
 *     waiting. The kind owes an effect that looks at the run (`wakeAt` says WAKE_NOW or a time; CHILD_RECHECK_MS while it only
 *     watches).
 *  5. Time: `wakeAt(state)` when something is owed or due; `timer(state)` the next moment that time alone changes something,
 *     at which `TimeCame` is put to the stream by whoever holds it, or what is owed from then on is performed. Time is an argument (`now`) of every input.
 *
 * Invariants:
 *
 *  W1  A stream is written by compare-and-set on its log. Whoever loses decides again on what is there now, or, as holder,
 *      gives up if the claim has moved.
 *  W2  `Submit.put` is asked anew at each attempt, with the state that the decision will be made on.
 *  W3  Nothing but the log has to survive a crash: an effect is derived from the state, is performed again, and its answer
 *      names what it is an answer to.
 */
export type StreamKind<
  State extends StreamState = StreamState,
  Input extends StreamInput = StreamInput,
  Effect extends StreamEffect = StreamEffect,
> = {
  readonly name: StreamKindName
  readonly initial: State
  decide(state: State, input: Timed<Input>): Decision<State, RecordedInStream<StandingEvent>>
  evolve(state: State, event: RecordedInStream<StandingEvent>): State
  pending(state: State): readonly Effect[]
  /** When it must be looked at even if nobody says so; null when only an input can move it. */
  wakeAt(state: State): number | null
  /** The next moment at which time alone changes it; Infinity when there is none. */
  timer(state: State): number
  /** What its row says in lists. */
  status(state: State): RunStatus
  /** Hosts have died again and again while they were at work on it: what to tell it. */
  poisoned(attempts: number): Input
  /** What to put to it when its time has come; absent where time alone changes nothing, and it is then looked at. */
  readonly timeCame?: Input
  /** What came of an effect; undefined when there is nothing to tell yet. */
  perform(stream: LoadedStream<State>, effect: Effect, signal: AbortSignal): Promise<Put<Input> | undefined>
}

export type StreamInput = { readonly type: string }

/** `key` tells effects of one stream apart, and stays the same for as long as the same is owed. */
export type StreamEffect = {
  readonly kind: string
  readonly key: string
  /** Only looked at: not to be performed again at once, where nothing has changed. */
  readonly watches?: true
  /** It is not owed before this time, which is in `wakeAt` and `timer`. */
  readonly notBefore?: number
}

export type Timed<Input> = Input & { readonly now: number }

/** An input, and the first steps of the runs that begin with it. */
export type Put<Input> = { readonly input: Input; readonly born?: readonly PendingWrite[] }

/** A stream in memory: a cache of its log, valid until a commit is refused. */
export type LoadedStream<State extends StreamState> = {
  readonly streamId: string
  readonly tenant: string
  readonly state: State
  /** Hash of the last event. */
  readonly head: string
  /** How long its log was when its state was last kept. */
  readonly kept: number
  /** The claim under which this host writes; null when another host holds it. */
  readonly epoch: number | null
}

export type Submit<State extends StreamState, Input> = {
  /** What to put to it, made for the state that it will be decided on; a refusal is handed on. */
  readonly put: (
    stream: LoadedStream<State>,
  ) => Put<Input> | Refusal | undefined | Promise<Put<Input> | Refusal | undefined>
  /** The stream must be this tenant's. */
  readonly tenant?: string
  /** Only if this host holds it: outcomes are the holder's to report. */
  readonly asHolder?: boolean
}
