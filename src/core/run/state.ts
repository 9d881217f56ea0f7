/** The run's states and invariants stand at the head of `decide.ts`, those of a node at the head of `node-lifecycle.ts`. */

import type { BudgetDimension, Ceilings, Spend } from '../budget/budget.js'
import type { LostPeer } from '../handoff/peer-work.js'
import type { Asked } from '../interrupt/state.js'
import type { Brief, ModelName } from '../invocation/brief.js'
import type { Places } from '../journal/place.js'
import type { Json, JsonObject } from '../json.js'
import { absent } from '../present.js'
import type { Failure } from '../problem.js'
import type { Fork } from '../replay/events.js'
import type { Orchestrator } from '../supervisor/state.js'
import type { Gated } from '../verification/state.js'
import type { Against, DrainPolicy, RunStarted, RunStatus, StopRequested } from './events.js'
import type { ForeignEvent } from '../handoff/foreign-cause.js'
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
  /** What the host gave it that is neither input nor variable, and that no reader of the log sees. */
  readonly withheld?: JsonObject
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
  readonly models: { readonly [use: string]: ModelName & Pick<Brief, 'promptHash'> }
  /** Its own and its children's, once something of it has been told. */
  readonly spend?: Spend
  /** What calls that were lost and children that were let go may have cost: nobody knows, so it is no part of `spend`. */
  readonly held?: Spend
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
  /** Where it stands in memory and workspace; absent where it can touch neither. */
  readonly journal?: Places
  /** What it is due to on another host, until an event has told that. */
  readonly origin?: ForeignEvent
  /** Work at peers that was given up, and whose runs there are not known to be at rest. */
  readonly lostPeers?: readonly LostPeer[]
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
  withheld: false,
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
  held: true,
  verification: true,
  budget: true,
  warned: false,
  gaveUp: false,
  gated: true,
  journal: true,
  origin: false,
  lostPeers: false,
} as const satisfies { readonly [Field in keyof Required<RunBase>]: boolean }

type Fields = typeof OUTLASTS_END
type Outlasting = { [Field in keyof Fields]: Fields[Field] extends true ? Field : never }[keyof Fields]

const OUTLASTING = (Object.keys(OUTLASTS_END) as (keyof Fields)[]).filter(field => OUTLASTS_END[field]) as Outlasting[]

/** What is left of the state of a run when it ends, in an object of its own. */
export function outlasting(state: RunBase): Pick<RunBase, Outlasting> {
  const left: { [Field in Outlasting]?: unknown } = {}
  for (const field of OUTLASTING) if (state[field] !== undefined) left[field] = state[field]
  return left as Pick<RunBase, Outlasting>
}

export type RunMode =
  | { readonly kind: 'running' }
  | { readonly kind: 'pausing'; readonly drainPolicy: DrainPolicy; readonly reason?: string }
  | { readonly kind: 'paused'; readonly at: number }
  | { readonly kind: 'stopping'; readonly stop: StopRequested }

export type RunOutcome =
  | {
      readonly status: 'completed'
      readonly outputs: JsonObject
      readonly goalSatisfied?: boolean
      readonly against?: readonly Against[]
    }
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

/** The node at a place that the plan has. */
export const nodeAt = ({ nodes }: Pick<RunBase, 'nodes'>, index: number): NodeState =>
  nodes[index] ?? absent(`node ${index} in the state of the run`)

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
