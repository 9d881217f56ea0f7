import type { ModelName } from '../agent/brief.js'
import type { BudgetDimension, Ceilings, Spend } from '../agent/budget.js'
import type { InvocationState } from '../agent/invocation.js'
import type { Interrupt, Vote } from '../interrupt.js'
import type { Json, JsonObject } from '../json.js'
import type { OrchestratorDecision } from '../orchestrator/decision.js'
import type { Failure } from '../problem.js'
import type { DrainPolicy, Fork, RunStarted, RunStatus, StopRequested, Wait } from './event.js'

/** A run as its log tells it. Each member carries only its own data; its status on the wire is `statusOf`. */
export type RunState = Absent | Active | Ended

export type Absent = { readonly phase: 'absent'; readonly fork?: Fork }

export type Active = Told & {
  readonly phase: 'active'
  readonly mode: Mode
}

export type Ended = Told & {
  readonly phase: 'ended'
  readonly endedAt: number
  readonly outcome: Outcome
}

/** What the log has told of a run that exists. */
export type Told = {
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
  readonly models?: { readonly [use: string]: ModelName }
  /** Its own and its children's. */
  readonly spend?: Spend
  /** What it may spend, once that has been said. */
  readonly budget?: Ceilings
  /** Dimensions of the budget whose threshold has been told. */
  readonly warned?: readonly BudgetDimension[]
}

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
  /** What has become of the workers of the latest hand-off: an input of the next turn. */
  readonly workers: readonly WorkerResult[]
}

export type WorkerResult = {
  readonly workerId: string
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly childRunId?: string
  readonly error?: Failure
  readonly attestation?: { readonly checksum: string; readonly algorithm: 'sha256' }
}

export type Mode =
  | { readonly kind: 'running' }
  | { readonly kind: 'pausing'; readonly drainPolicy: DrainPolicy; readonly reason?: string }
  | { readonly kind: 'paused'; readonly at: number }
  | { readonly kind: 'stopping'; readonly stop: StopRequested }

export type Outcome =
  | { readonly status: 'completed'; readonly outputs: JsonObject }
  | { readonly status: 'failed'; readonly error: Failure; readonly failedNodeId?: string }
  | { readonly status: 'cancelled'; readonly reason?: string }

/** How many of an agent's calls, from the first on. */
export type Paid = { readonly calls: number; readonly uses: number }

export type NodeState =
  | { readonly is: 'idle' }
  | {
      readonly is: 'waiting'
      readonly attempt: number
      readonly failures: number
      /** Sequence and time of its `node.started`. */
      readonly since: number
      readonly sinceAt: number
      readonly wait: Wait
      /** While it hands work over: what has become of each worker, in the order of `wait.workers`. */
      readonly workers?: readonly WorkerState[]
      /** While an agent is at work: how far it has come, from its brief on. */
      readonly invocation?: InvocationState
      /** Model calls and tool calls of this attempt that have been counted and whose outcomes are kept. */
      readonly told?: number
      readonly uses?: number
      /** Those that earlier attempts have paid for: their outcomes are used again, and not counted again. */
      readonly paid?: Paid
      /** The call whose answer was lost last, and how many tries of it are accounted for. */
      readonly spoiled?: { readonly call: number; readonly attempt: number }
      /** What it asks someone outside, until that is answered. */
      readonly asked?: Asked
    }
  /** Stopped by an immediate pause; starts as a fresh attempt on resume. */
  | { readonly is: 'interrupted'; readonly attempt: number; readonly failures: number }
  | {
      readonly is: 'retrying'
      readonly attempt: number
      readonly failures: number
      readonly dueAt: number
      readonly since: number
      readonly paid?: Paid
      readonly spoiled?: { readonly call: number; readonly attempt: number }
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
    }
  /** Nothing more will come of it. */
  | ({ readonly is: 'done' } & Omit<WorkerResult, 'workerId'>)

export type Asked = Interrupt & {
  readonly interruptId: string
  readonly key: string
  /** The data as readers may see it; `data` is what it is. */
  readonly shown: JsonObject
  readonly requestedAt: number
  readonly votes: readonly Vote[]
}

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
    const node = nodes[index]!
    if (node.is !== 'waiting') continue
    if (node.asked) return STATUS_OF[node.asked.kind]
    if (mirrored === 'running') mirrored = childStatusOf(node) ?? 'running'
  }
  return mirrored
}

/** What one of the node's workers waits for, if one waits for someone. */
export function childStatusOf(node: NodeState): RunStatus | undefined {
  if (node.is !== 'waiting') return undefined
  for (const worker of node.workers ?? [])
    if (worker.is === 'running' && worker.childStatus !== undefined) return worker.childStatus
  return undefined
}

const STATUS_OF: { readonly [Kind in Asked['kind']]: RunStatus } = {
  approval: 'waiting-approval',
  'low-confidence': 'waiting-approval',
  clarification: 'waiting-input',
  custom: 'waiting-input',
  'external-event': 'waiting-external',
}

export const isWaiting = (status: RunStatus): boolean => status.startsWith('waiting-')
