/**
 * The run: hears commands of people and outcomes of the world, starts every node that may start, and ends once. The
 * other machines work inside one of its nodes, whose states stand at the head of `node-lifecycle.ts`.
 *
 * | state           | entered by                     | left by, to                                                    |
 * |-----------------|--------------------------------|----------------------------------------------------------------|
 * | absent          | -                              | StartRun: running                                              |
 * | active running  | run.started, run.resumed       | PauseRun: pausing, paused; stop: stopping, ended; quiet: ended |
 * | active pausing  | assay.pause.requested          | the host has nothing in hand: paused; PauseRun immediate; stop |
 * | active paused   | run.paused                     | ResumeRun: running; stop                                       |
 * | active stopping | assay.stop.requested           | ChildEnded of the last child: ended                            |
 * | ended           | run.completed, .failed,        | never                                                          |
 * |                 | .cancelled                     |                                                                |
 *
 * Stop: CancelRun, a bound, a failure that no edge tolerates, Quarantine. Quiet: no node is open, and none is ready.
 *  I1  The terminal event is the last, and no child that must not outlive the run is open then.
 *  I2  An outcome that nobody waits for under that `since` decides to nothing. A paused run hears no outcome.
 *  I3  Bounds are checked before the step they forbid; time is looked at before the outcome that comes with it.
 *  I4  A replay is told by its source alone: it takes `Retold`, a cancel and a quarantine, and refuses other commands.
 */

import type { ModelName } from '../invocation/brief.js'
import type { BudgetDimension, Ceilings, Spend } from '../budget/budget.js'
import type { BoundGate } from '../verification/gate.js'
import type { Fault, Feedback, ProbeResult, Standing, Vote as Judged } from '../verification/judgement.js'
import type { Interrupt, ApprovalVote } from '../interrupt/interrupt.js'
import { type Json, type JsonObject, own } from '../json.js'
import type { OrchestratorDecision } from '../supervisor/decision.js'
import type { Failure } from '../problem.js'
import { absent } from '../present.js'
import type { DrainPolicy, Fork, RunStarted, RunStatus, StopRequested } from './events.js'
import { type CallAccount, questionOf, type Waiting, workersOf } from './waiting.js'

/** A run as its log tells it. Each member carries only its own data; its status on the wire is `statusOf`. */
export type RunState = Absent | Active | Ended

export type Absent = { readonly phase: 'absent'; readonly fork?: Fork }

export type Active = RunBase & {
  readonly phase: 'active'
  readonly mode: RunMode
}

export type Ended = Pick<RunBase, Outlasting> & {
  readonly phase: 'ended'
  readonly endedAt: number
  readonly outcome: RunOutcome
}

/** What the log has told of a run that exists. */
export type RunBase = {
  readonly runId: string
  readonly fork?: Fork
  readonly started: Readonly<RunStarted>
  readonly startedAt: number
  /** Sequence the next event will get. */
  readonly next: number
  /** Time of the latest event; the next one is never earlier. */
  readonly lastAt: number
  readonly variables: JsonObject
  readonly channels: { readonly [name: string]: Json }
  /** Names whose values the log must not show. */
  readonly hidden: { readonly variables: readonly string[]; readonly channels: readonly string[] }
  /** Inputs that the log masks, as they were given. */
  readonly secretInputs: JsonObject
  /** By node index of the plan. */
  readonly nodes: readonly NodeState[]
  /** By node index: fresh starts in the whole run, which number the node's effects. */
  readonly starts: readonly number[]
  /** By node index: passes a loop has made since its enclosing loop last began. */
  readonly passes: readonly number[]
  /** Nodes that have started and not settled, and retries that are due later, by node index, ascending. */
  readonly open: readonly number[]
  /** Nodes whose turn may have come: some inbound edge has settled since they were last looked at. */
  readonly touched: readonly number[]
  /** How many times any node entered `started`. */
  readonly executions: number
  /** By node index: how often it has asked someone outside. */
  readonly asks: readonly number[]
  /** Milliseconds spent paused or waiting for someone, which do not count against the workflow's own timeout. */
  readonly idleMs: number
  /** Since when it is paused or waits for someone; null when it does neither. */
  readonly idleSince: number | null
  /** A replay has told something otherwise than its source. */
  readonly diverged: boolean
  /** Where the orchestrator's loop stands, from its first decision on. */
  readonly orchestrator?: Orchestrator
  /** The agent that acted last, besides the orchestrator. */
  readonly agentId?: string
  /** By `role:class`: the model that this run goes on using for it (R-LIVE-3). */
  readonly models: { readonly [use: string]: ModelName }
  /** Its own and its children's, once something of it has been told. */
  readonly spend?: Spend
  /** What verifiers have spent: a part of `spend` (R-DWS-28). */
  readonly verification?: Spend
  /** What it may spend, once that has been said. */
  readonly budget?: Ceilings
  /** Dimensions of the budget whose threshold has been told. */
  readonly warned: readonly BudgetDimension[]
  /** Places whose latest worker completed and said itself that it has not reached its goal. */
  readonly gaveUp: readonly string[]
  /** Only where its results are held to something. */
  readonly gated?: Gated
}

/** What of a run outlasts its end: all that is read of an ended run. A field that is new must be judged here. */
const OUTLASTS_END = {
  runId: true,
  fork: true,
  started: true,
  startedAt: true,
  next: true,
  lastAt: true,
  variables: true,
  channels: true,
  hidden: true,
  secretInputs: true,
  nodes: true,
  starts: false,
  passes: false,
  open: false,
  touched: false,
  executions: false,
  asks: true,
  idleMs: false,
  idleSince: false,
  diverged: true,
  orchestrator: true,
  agentId: true,
  models: true,
  spend: true,
  verification: true,
  budget: true,
  warned: false,
  gaveUp: false,
  gated: true,
} as const satisfies { readonly [Field in keyof Required<RunBase>]: boolean }

type Fields = typeof OUTLASTS_END
type Outlasting = { [Field in keyof Fields]: Fields[Field] extends true ? Field : never }[keyof Fields]

/** What is left of the state of a run when it ends. */
export const outlasting = (state: RunBase): Pick<RunBase, Outlasting> =>
  Object.fromEntries(Object.entries(state).filter(([field]) => own(OUTLASTS_END, field))) as Pick<RunBase, Outlasting>

/** What the results of a run are held to, and what has become of them. */
export type Gated = {
  /** In the order in which they are applied. */
  readonly gates: readonly BoundGate[]
  /** What gates have said, by the place where they said it. */
  readonly slots: { readonly [slot: string]: Slot }
  /** Times work was sent back; each uses up a turn of the loop (R-DWS-34). */
  readonly reworks: number
  /** What workers and agents that work again are told, by node, and worker where it is one's. */
  readonly feedback: { readonly [place: string]: Feedback }
  /** The latest result that an agent or a worker gave: what a verdict at the workflow's exit is about. */
  readonly latest?: { readonly target: string; readonly sequence: number }
}

/** One gate over one place of work: a node, or one worker of a node. */
export type Slot = {
  readonly gateId: string
  readonly nodeId: string
  readonly workerId?: string
  /** The gate stands at the exit of the workflow. */
  readonly atExit?: true
  /** What was judged last, and how (R-VERIFY-21). */
  readonly target: string
  readonly verdict?: 'pass' | 'fail' | 'revise'
  /** When the work was handed over whose verdict that is: sequence of its `node.started`. */
  readonly since: number
  /** What it was judged by; where that was not a pass, what it did not meet. */
  readonly criteria: readonly string[]
  /** Of the work that is under way; begins anew when the work does. */
  readonly attempts: readonly AttemptMade[]
}

export type AttemptMade = Standing & {
  readonly resultHash: string
  readonly failed: readonly string[]
  /** Nobody could judge it: it counts, and says nothing of how good the work is. */
  readonly isUnjudged?: true
  /** Its own gate had it done again. */
  readonly isSentBack?: true
}

/** A result that gates must see before anything is made of it. */
export type Staged = {
  readonly target: string
  /** Sequence of the event that brought it. */
  readonly subject: number
  readonly result: Json
  /** Gates that have let it pass, by index. */
  readonly cleared: readonly number[]
}

/** A gate is at work on the result of a node or of one of its workers. */
export type VerificationAttempt = {
  /** Sequence of its `dws.verification.started`. */
  readonly started: number
  readonly gate: number
  readonly worker?: number
  readonly attempt: number
  readonly target: string
  /** Sequence of the event that brought the result: the cause of the verdict. */
  readonly subject: number
  readonly resultHash: string
  readonly dimensions: readonly string[]
  readonly evidence: readonly ProbeResult[]
  readonly licence?: { readonly n: number; readonly lower: number }
  readonly effectiveVotes?: number
  /** Which time the verifiers are asked. */
  readonly round: number
  readonly judges: readonly VerifierState[]
  /** The verdict has been told; what follows from it is a person's to say. Sequence of the artifact with all of it. */
  readonly rendered?: number
  readonly spent?: Spend
}

export type VerifierState =
  | { readonly is: 'idle' }
  | { readonly is: 'starting'; readonly began: number; readonly grant?: Ceilings }
  | { readonly is: 'running'; readonly began: number; readonly grant?: Ceilings; readonly childRunId: string }
  | { readonly is: 'voted'; readonly vote: Judged }
  | { readonly is: 'faulted'; readonly fault: Fault }

/** R-STATE-12: all that the loop needs to go on after a crash. */
export type Orchestrator = {
  /** Fixed by the first decision (R-ORCH-3). */
  readonly agentId: string
  /** Turns taken: the number of the latest decision. */
  readonly iteration: number
  /** Sequence of the latest `runOrchestrator.decided`. */
  readonly decided: number
  /** What is carried out: the latest decision, or what a person made of it. */
  readonly decision: OrchestratorDecision
  /** Whether it is still to be handed over. */
  readonly owed: boolean
  /** What a person has answered since: an input of the next turn. */
  readonly answer?: Json
  /** Times in a row that it called a success what a gate has not passed. */
  readonly refusals?: number
  /** What has become of the workers of the latest hand-off: an input of the next turn. */
  readonly workers: readonly WorkerResult[]
}

export type WorkerResult = {
  readonly workerId: string
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly childRunId?: string
  readonly error?: Failure
  readonly attestation?: { readonly checksum: string; readonly algorithm: 'sha256' }
  /** It completed, and says itself that it has not reached its goal (R-VERIFY-19). */
  readonly goalSatisfied?: false
}

export type RunMode =
  | { readonly kind: 'running' }
  | { readonly kind: 'pausing'; readonly drainPolicy: DrainPolicy; readonly reason?: string }
  | { readonly kind: 'paused'; readonly at: number }
  | { readonly kind: 'stopping'; readonly stop: StopRequested }

export type RunOutcome =
  | { readonly status: 'completed'; readonly outputs: JsonObject; readonly goalSatisfied?: boolean }
  | { readonly status: 'failed'; readonly error: Failure; readonly failedNodeId?: string }
  | { readonly status: 'cancelled'; readonly reason?: string }

export type NodeState =
  | { readonly is: 'idle' }
  | Waiting
  /** Stopped by an immediate pause; starts as a fresh attempt on resume. */
  | { readonly is: 'interrupted'; readonly attempt: number; readonly failures: number }
  | {
      readonly is: 'retrying'
      readonly attempt: number
      readonly failures: number
      readonly dueAt: number
      readonly since: number
      readonly calls?: CallAccount
    }
  | { readonly is: 'completed'; readonly outputs: JsonObject; readonly since: number }
  | { readonly is: 'failed'; readonly error: Failure; readonly since: number }
  | { readonly is: 'skipped'; readonly since: number }
  | { readonly is: 'cancelled'; readonly since: number }

/** R-HANDOFF-1: the hand-off machine of one worker. Sequences name the event that led here: the cause of the next. */
export type WorkerState =
  | { readonly is: 'pending' }
  | {
      readonly is: 'dispatching'
      readonly began: number
      readonly inputs: JsonObject
      readonly unset: readonly string[]
      readonly grant?: Ceilings
    }
  | {
      readonly is: 'running'
      readonly began: number
      readonly inputs: JsonObject
      readonly unset: readonly string[]
      readonly grant?: Ceilings
      readonly succeeded: number
      readonly childRunId: string
      /** What the child waits for, if it waits for someone. */
      readonly childStatus?: RunStatus
    }
  /** Its results are here and not merged yet. */
  | {
      readonly is: 'completed'
      readonly ended: number
      readonly childRunId: string
      readonly outputs: JsonObject
      readonly hidden: readonly string[]
      readonly attestation?: WorkerResult['attestation']
      readonly goalSatisfied?: false
      /** Agents that its run names. */
      readonly agents?: readonly string[]
      /** Gates that have let it pass, by index. */
      readonly cleared?: readonly number[]
    }
  /** Nothing more will come of it. */
  | ({ readonly is: 'done' } & Omit<WorkerResult, 'workerId'>)

export type Asked = Interrupt & {
  readonly interruptId: string
  readonly key: string
  /** The data as readers may see it; `data` is what it is. */
  readonly shown: JsonObject
  readonly requestedAt: number
  readonly votes: readonly ApprovalVote[]
}

/** The node at a place that the plan has. */
export const nodeAt = ({ nodes }: Pick<RunBase, 'nodes'>, index: number): NodeState =>
  nodes[index] ?? absent(`node ${index} in the state of the run`)

/** The gate that the run knows by this index. */
export const boundGateAt = ({ gated }: Pick<RunBase, 'gated'>, index: number): BoundGate =>
  gated?.gates[index] ?? absent(`gate ${index} of the run`)

export function statusOf(state: RunState): RunStatus {
  if (state.phase === 'absent') return 'pending'
  if (state.phase === 'ended') return state.outcome.status
  if (state.mode.kind === 'paused') return 'paused'
  if (state.mode.kind === 'stopping') return state.mode.stop.outcome === 'cancelled' ? 'cancelling' : 'running'
  return waitingStatus(state)
}

/** What the run waits for: its own question first, else what a child asks. */
function waitingStatus({ open, nodes }: Active): RunStatus {
  let mirrored: RunStatus = 'running'
  for (const index of open) {
    const node = nodes[index]
    const question = questionOf(node)
    if (question) return WAITING_STATUS[question.kind]
    if (mirrored === 'running') mirrored = childStatusOf(node) ?? 'running'
  }
  return mirrored
}

/** What one of the node's workers waits for, if one waits for someone. */
export function childStatusOf(node: NodeState | undefined): RunStatus | undefined {
  for (const worker of workersOf(node))
    if (worker.is === 'running' && worker.childStatus !== undefined) return worker.childStatus
  return undefined
}

export const WAITING_STATUS: { readonly [Kind in Asked['kind']]: RunStatus } = {
  approval: 'waiting-approval',
  'low-confidence': 'waiting-approval',
  clarification: 'waiting-input',
  custom: 'waiting-input',
  'external-event': 'waiting-external',
}

export const isWaiting = (status: RunStatus): boolean => status.startsWith('waiting-')
