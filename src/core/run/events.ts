import type { BudgetCap, BudgetPolicy, Ceilings } from '../budget/budget.js'
import type { BudgetFact } from '../budget/events.js'
import type { HandoffRecorded, HandoffSecret } from '../handoff/events.js'
import type { PeerTold, Silence } from '../handoff/peer-work.js'
import type {
  ApprovalReceived,
  ApprovalRequested,
  InterruptRequested,
  InterruptResolved,
  InterruptSecret,
  NodeSuspended,
  SuspendedSecret,
} from '../interrupt/events.js'
import type { AgentWanted, ModelRole } from '../invocation/brief.js'
import type { AgentFact, InvocationFact } from '../invocation/events.js'
import type { JournalUse } from '../journal/entry.js'
import type { JournalFact } from '../journal/events.js'
import type { Places } from '../journal/place.js'
import type { Json, JsonObject } from '../json.js'
import type { Failure } from '../problem.js'
import type { ReplayDiverged, ReplayDivergedAtRefusal, RunForked } from '../replay/events.js'
import { STREAM_ENDED } from '../standing/stream.js'
import type { OrchestratorDecision } from '../supervisor/decision.js'
import type { ConfidenceEscalated, OrchestratorDecided } from '../supervisor/events.js'
import type { GateFact } from '../verification/events.js'
import type { BoundGate } from '../verification/gate.js'
import type { ForeignParent } from '../handoff/foreign-cause.js'
import type { PeerReceiptTold } from '../handoff/peer-receipt.js'
import type { RecordedInput } from './input.js'

/**
 * The facts of a run, in the protocol's spelling (contract core §5.4).
 *
 * `payload` is what readers of the log see. `secret` holds what the fold needs but readers must not see: the real
 * values behind masked fields, resolved effect inputs, artifact contents. It is stored with the event and never
 * rendered. Payloads carry no wall-clock value and no duration, so a replay can reproduce them byte for byte.
 */
export type RunEvent =
  | Fact<'run.started', RunStarted, RunStartedSecret>
  | Fact<'run.completed', RunCompleted, { resultHash: string }>
  | Fact<'run.failed', { error: Failure; failedNodeId?: string }>
  | Fact<'run.cancelled', { reason?: string; cancelledBy?: string; parentRunId?: string }>
  | Fact<'run.paused', { drainPolicy: DrainPolicy; reason?: string }>
  | Fact<'run.resumed', { reason?: string }>
  | Fact<'assay.pause.requested', { drainPolicy: DrainPolicy; reason?: string }>
  | Fact<'assay.stop.requested', StopRequested>
  | Fact<'assay.run.forked', RunForked, { journal?: Places }>
  | Fact<'replay.diverged', ReplayDiverged>
  | NodeFact<'replay.divergedAtRefusal', ReplayDivergedAtRefusal>
  | NodeFact<'node.started', { nodeId: string; typeId: string; attempt: number }, { wait: Wait }>
  | NodeFact<'node.dispatched', { childRunId: string; childWorkflowId: string }>
  | NodeFact<'runOrchestrator.decided', OrchestratorDecided, { decision: OrchestratorDecision }>
  | NodeFact<'core.workflowChain.confidence-escalated', ConfidenceEscalated>
  | NodeFact<'core.workflowChain.event', HandoffRecorded, HandoffSecret>
  | AgentFact
  | InvocationFact
  | GateFact
  | BudgetFact
  | JournalFact
  | NodeFact<'assay.child.status', { nodeId: string; childRunId: string; status: RunStatus }>
  /** A peer that has work of this run in hand does not answer; it answers again; it is given up; its run is at rest. */
  | NodeFact<'assay.peer.silent', PeerTold & { reason: Silence }>
  | NodeFact<'assay.peer.heard', PeerTold>
  | NodeFact<'assay.peer.lost', PeerTold & { reason: Silence }>
  | NodeFact<'assay.peer.released', PeerTold>
  /** What a peer has signed of the run that it brought a result of. */
  | NodeFact<'assay.peer.receipt', PeerReceiptTold>
  | NodeFact<'interrupt.requested', InterruptRequested, InterruptSecret>
  | NodeFact<'approval.requested', ApprovalRequested>
  | NodeFact<'clarification.requested', { nodeId: string; questions: Json; interruptId: string }>
  | NodeFact<'node.suspended', NodeSuspended, SuspendedSecret>
  | NodeFact<
      'assay.interrupt.voted',
      { nodeId: string; interruptId: string; voter: string; action: string; by: string }
    >
  | NodeFact<'assay.interrupt.asked', { nodeId: string; interruptId: string; by: string; question?: Json }>
  | NodeFact<'interrupt.resolved', InterruptResolved, { resumeValue: Json }>
  | NodeFact<'approval.received', ApprovalReceived>
  | NodeFact<'clarification.resolved', { nodeId: string; answers: Json; answeredBy: string }>
  | NodeFact<'node.resumed', { nodeId: string; interruptId: string }>
  | NodeFact<'node.completed', { nodeId: string; outputs: JsonObject }, CompletedSecret>
  | NodeFact<'node.failed', { nodeId: string; error: Failure; attempts: number }>
  | NodeFact<'node.retried', { nodeId: string; attempt: number; delayMs: number; lastError: Failure }>
  | NodeFact<'node.skipped', { nodeId: string; reason: string }>
  | NodeFact<'node.cancelled', { nodeId: string; reason: string }>
  | NodeFact<'variable.changed', { name: string; previous?: Json; next: Json; nodeId: string }, { next: Json }>
  | NodeFact<'channel.written', ChannelWritten, { value?: Json; ttlMs?: number }>
  | NodeFact<'artifact.created', ArtifactCreated, ArtifactSecret>
  | NodeFact<'log.appended', { level: 'debug' | 'info' | 'warn' | 'error'; message: string; nodeId: string }>
  | NodeFact<'workflow.loopback-limit', { nodeId: string; iterations: number; limit: number }>
  | Fact<'cap.breached', { kind: CapKind; limit: number; observed: number; nodeId?: string }>

/** An event with its place in the log. `at` never decreases within a run, whatever the wall clock does. */
export type Recorded = RunEvent & {
  readonly runId: string
  readonly sequence: number
  readonly at: number
  /** What was put to the run, on the first event it led to; run.started itself says what a run was started with. */
  readonly input?: RecordedInput
}

export type RunStarted = {
  workflowId: string
  /** SHA-256 of the definition's text: the run keeps the definition it started with. */
  workflowDigest: string
  inputs: JsonObject
  transport: 'rest' | 'mcp' | 'a2a' | 'ui'
  engineVersion: string
  owner: { tenant: string; principal?: string }
  configurable?: JsonObject
  scopeId?: string
  /** Where its memory is; absent where it has none. */
  memoryScope?: string
  tags?: readonly string[]
  metadata?: JsonObject
  parentRunId?: string
  parentNodeId?: string
  /** Inputs that were mapped from nothing: their variables have no value, not their default. */
  unsetInputs?: readonly string[]
  /** What the principal may do here at most, where the parent narrowed it (R-ATTEST-6). */
  principalScope?: readonly string[]
  /** The run of another host that has started it. */
  foreignParent?: ForeignParent
  /** How many ancestors this run has, on whichever hosts; bounds recursion through sub-workflows. */
  depth?: number
  /** What of its parent's budget it may spend. */
  grant?: Ceilings
  /** What the host and the run's ancestors say of models and spending; each of them holds (R-BUDGET-5). */
  policies?: readonly BudgetPolicy[]
  /** The standing stream that has started it, and is told of its end. */
  stream?: string
  /** How its agent was called, where the run is one agent's. */
  agentSource?: 'run-api' | 'chat-mention'
  /** What its results are held to; later changes of the gates do not touch it. */
  gates?: readonly { gateId: string; version: number; hash: string }[]
  /** Blocking gates of its parent: nothing is made of what it leaves unless they pass it. Whether they do, the parent's log says. */
  gatedBy?: readonly string[]
  /** Names of what the host gave it besides its inputs; no reader of the log sees the values. */
  withheld?: readonly string[]
  /** The W3C trace context that its tree was started under: the same in all of it. */
  traceparent?: string
  /** Of a branch from the very beginning: names of what it changes of its source. */
  changed?: readonly string[]
  /** The event of its source before which its memory was taken. */
  memoryAsOf?: number
}

/**
 * Real values of inputs that are declared `sensitive`, what the host gave besides the inputs, and the gates in full.
 * `withheld` is not among the run's variables.
 */
export type RunStartedSecret = {
  inputs?: JsonObject
  withheld?: JsonObject
  gates?: readonly BoundGate[]
  /** Where it stands in the journal at its start. */
  journal?: Places
}

/** Real values of outputs that are masked; where gates have judged the node's result, the hash of what they let pass. */
export type CompletedSecret = {
  outputs?: JsonObject
  resultHash?: string
  /** Where gates have judged it: under which start the work was done that is merged here. */
  since?: number
}

export type DrainPolicy = 'immediate' | 'drain-current-node'

export type CapKind = 'node-executions' | 'run-duration' | 'loop-iterations' | BudgetCap

/** The run will end this way as soon as its children have ended; nothing new is scheduled from here on. */
export type RunCompleted = {
  outputs: JsonObject
  goalSatisfied?: boolean
  /** What stands against the goal. */
  against?: readonly Against[]
  /** Gates of its parent that have yet to let its result pass. */
  gatedBy?: readonly string[]
}

/** A place whose work keeps a run from having reached its goal. Free of content. */
export type Against = {
  /** A verdict that stands; a result that was let through unverified or verified in part; a worker that gave up. */
  what: 'fail' | 'revise' | 'forced' | 'part' | 'gave-up'
  nodeId: string
  workerId?: string
  gateId?: string
}

export type StopRequested =
  | { outcome: 'cancelled'; reason?: string; cancelledBy?: string; parentRunId?: string }
  | {
      outcome: 'failed'
      error: Failure
      failedNodeId?: string
      breach?: { kind: CapKind; limit: number; observed: number; nodeId?: string }
    }

export type ChannelWritten = {
  channel: string
  value: Json
  reducer: string
  writtenAt: string
  nodeId: string
  schemaVersion?: number
}

export type ArtifactCreated = { artifactId: string; artifactType: string; nodeId: string }

/** `shown`: the content as agents may see it, where that is less than all of it. */
export type ArtifactSecret = { content: Json; shown?: Json }

/** What a started node is waiting for. Everything needed to owe the effect again after a crash is in here. */
export type Wait =
  /** For nothing: the node settles in the same step. */
  | { readonly kind: 'none' }
  | { readonly kind: 'timer'; readonly ms: number }
  /** For someone outside to answer; what was asked is in `interrupt.requested`. */
  | { readonly kind: 'interrupt' }
  /** For a value to be checked against a schema its author wrote. */
  | { readonly kind: 'check'; readonly schema: JsonObject; readonly value: Json }
  /** For something of memory to be read or written. */
  | { readonly kind: 'journal'; readonly use: JournalUse; readonly ordinal: number }
  | Handoff
  | Invoking
  | Judging
  | {
      readonly kind: 'effect'
      readonly provider: string
      readonly input: Json
      readonly ordinal: number
      readonly repeat: RepeatPolicy
      /** Events of the run that are given along, from one sequence up to another. */
      readonly transcript?: { readonly from: number; readonly to: number }
    }

/** For the verdict of a gate on a result that nothing will be made of. */
/** `of`: the contributing run of a goal that has left it. */
export type Judging = { readonly kind: 'judge'; readonly output: Json; readonly of?: string }

/** For workers, each of which works as a run of its own. What has become of them is in the state of the node. */
export type Handoff = {
  readonly kind: 'handoff'
  /** Workflow ids, in the order in which their results are merged. */
  readonly workers: readonly string[]
  /** One after the other, each seeing what those before it brought back, or all at once. */
  readonly policy: 'sequential' | 'parallel'
  /** Given to every worker, beneath what is mapped for it. */
  readonly inputs: JsonObject
  /** Sequence of the decision that named them; absent where the workflow itself names one. */
  readonly decided?: number
}

/** For an agent to do its task. How far it has come is in the state of the node. */
export type Invoking = {
  readonly kind: 'agent'
  readonly agent: AgentWanted
  readonly role: ModelRole
  readonly task: Json
  readonly ordinal: number
  readonly returnSchema?: JsonObject
  readonly prompts?: JsonObject
  /** What is asked for is an envelope of the node's own (contract agents §17), no result that an agent hands back. */
  readonly envelope?: true
  readonly transcript?: { readonly from: number; readonly to: number }
}

/** May the host perform the effect again when it cannot know whether an earlier try happened? */
export type RepeatPolicy = 'safe' | 'keyed' | 'never'

/** The last event of a log, be it of a run or of a standing stream. */
const TERMINAL_EVENTS: readonly string[] = ['run.completed', 'run.failed', 'run.cancelled', STREAM_ENDED]

export const isTerminal = (type: string): boolean => TERMINAL_EVENTS.includes(type)

export type RunStatus =
  | 'pending'
  | 'running'
  | 'paused'
  | 'waiting-approval'
  | 'waiting-input'
  | 'waiting-external'
  | 'completed'
  | 'failed'
  | 'cancelling'
  | 'cancelled'

/** What an event is made of; `RunEvent` says what each part is for. */
export type Fact<Type extends string, Payload, Secret = never> = {
  readonly type: Type
  readonly nodeId?: string
  readonly payload: Readonly<Payload>
  readonly secret?: Secret
  /** Sequence, in the same run, of the event that led to this one. */
  readonly cause?: number
  /** Id of the event of another host that did, in its place; the payload names the host (R-XHOST-2). */
  readonly foreignCause?: string
}

export type NodeFact<Type extends string, Payload, Secret = never> = Fact<Type, Payload, Secret> & {
  readonly nodeId: string
}
