import type { Ceilings, Spend } from '../budget/budget.js'
import type { ApprovalVote, InterruptKind } from '../interrupt/interrupt.js'
import type { Json, JsonObject } from '../json.js'
import type { Fork } from '../replay/events.js'
import type { Against, RunStarted, RunStatus } from '../run/events.js'
import type { PassLabel } from '../verification/label.js'
import type { PublicEvent } from './public-event.js'

/**
 * A run as its public events tell it; `fold.ts` makes it, `snapshot.ts` shows it as the server would.
 *
 * V1  It is made of public events alone: everything masked in them is masked here.
 * V2  A view is folded on from, never shared: `foldEvent` returns a new view, and the one it was given is used up,
 *     because the two share their collections. The entries of collections are never changed, only replaced, so whoever
 *     shows them can tell by identity what has changed.
 * V3  One event costs the same however long the log is.
 */
export type RunView = {
  /** Whose events these are; absent before the first. */
  readonly runId?: string
  /** Events seen: the sequence of the next one. */
  readonly length: number
  readonly lastAt?: string
  readonly forkedFrom?: Forked
  readonly mode: ViewMode
  /** What the run was started with, and what a branch has put in its place. */
  readonly started?: Partial<RunStarted>
  /** Time of `run.started`. */
  readonly startedAt?: string
  /** Milliseconds that stood still between the event a branch was cut at and its own first event. */
  readonly awayMs: number
  readonly endedAt?: string
  readonly outputs?: JsonObject
  readonly goalSatisfied?: boolean
  readonly against?: readonly Against[]
  readonly error?: RunError
  /** Made by `assay.run.forked`: nobody's child, whatever its source was. */
  readonly isBranch: boolean
  readonly diverged: boolean
  /** By id, in the order of the definition where that is known, else in the order in which they were first told of. */
  readonly nodes: ReadonlyMap<string, NodeView>
  /** Latest time that nodes were set back to be worked through again: which ones, the events do not say. */
  readonly setBack: number
  readonly variables: ReadonlyMap<string, Json>
  readonly channels: ReadonlyMap<string, ChannelView>
  readonly loop?: LoopView
  readonly spend?: Spend
  /** What nobody knows the cost of. */
  readonly held?: Spend
  /** Not all that was spent is told in the events of this run. */
  readonly hasUntoldSpend: boolean
  readonly budget?: Ceilings
  /** What gates have said, by gate and place of work, in the order in which they first said something. */
  readonly slots: ReadonlyMap<string, SlotView>
  readonly activity: Activity
}

/** What the events of a run do not tell of it, and what does not change: any snapshot of the run shows it. */
export type About = {
  readonly forkedFrom?: Forked
  /** In the order of the definition, as `nodeStates` lists them. */
  readonly nodeIds?: readonly string[]
}

export type Forked = {
  readonly runId: string
  readonly fromSeq: number
  readonly mode: Fork['mode']
  readonly sourceLength: number
}

export type ViewMode =
  | 'absent'
  | 'running'
  | 'paused'
  | 'cancelling'
  | 'stopping'
  | 'completed'
  | 'failed'
  | 'cancelled'

export type RunError = { readonly code: string; readonly message: string; readonly details?: JsonObject }

export type NodeStatus =
  | 'pending'
  | 'running'
  | 'interrupted'
  | 'retrying'
  | 'completed'
  | 'failed'
  | 'skipped'
  | 'cancelled'

export type NodeView = {
  readonly typeId?: string
  readonly status: NodeStatus
  readonly attempt: number
  /** How often it was started. */
  readonly starts: number
  /** When it was last started, or first told of. */
  readonly startedAt?: string
  /** Sequence and time of the event that settled it. */
  readonly settled?: { readonly sequence: number; readonly at: string }
  /** The event that says how it stands. */
  readonly latest?: PublicEvent
  readonly error?: { readonly code: string; readonly message: string }
  /** With `core.orchestrator.supervisor`: where its latest decision leads. */
  readonly route?: Json
  readonly asked?: AskedView
  /** It waits with a question of another node. */
  readonly isHalted?: true
  /** Children that wait for someone, in the order in which they began to. */
  readonly waiting?: readonly { readonly childRunId: string; readonly status: RunStatus }[]
  /** While it hands work over, in the order in which results are merged. */
  readonly workers?: readonly WorkerView[]
  readonly invocation?: InvocationView
  /** A result that gates must see: its node's own, or that of the run, which waits at this node. */
  readonly staged?: 'node' | 'tool' | 'run'
  readonly gating?: GatingView
  /** A pause may have stopped it; the events do not say. */
  readonly isUncertain?: true
}

export type AskedView = {
  readonly kind: InterruptKind
  readonly interruptId: string
  readonly key: string
  readonly data: JsonObject
  readonly resumeSchema?: JsonObject
  readonly timeoutMs?: number
  readonly requestedAt: string
  readonly votes: readonly ApprovalVote[]
}

export type WorkerView = {
  readonly workerId: string
  readonly status: 'pending' | 'dispatching' | 'running' | 'completed' | 'failed' | 'cancelled'
  /** The event that began it, which the next step names as its cause. */
  readonly began?: string
  readonly childRunId?: string
}

export type InvocationView = {
  readonly invocationId: string
  readonly agentId: string
  readonly provider: string
  readonly model: string
  readonly phase: 'thinking' | 'using-tool' | 'between'
  readonly modelCalls: number
}

/** A gate at work on a result. */
export type GatingView = {
  readonly gateId: string
  readonly attempt: number
  readonly target: string
  readonly point: 'harvest' | 'node' | 'tool' | 'run' | 'goal' | 'none'
  readonly workerId?: string
  /** What the result is called if a pass follows. */
  readonly label?: PassLabel
}

export type SlotView = {
  readonly gateId: string
  readonly nodeId: string
  readonly workerId?: string
  readonly atExit?: true
  readonly target: string
  readonly verdict?: 'pass' | 'fail' | 'revise'
  readonly label?: PassLabel
  /** Of the work that is under way. */
  readonly attempts: number
}

export type LoopView = {
  readonly nodeId: string
  readonly agentId: string
  readonly iteration: number
  /** What is carried out; undefined where a person made something of it that is masked. */
  readonly decision?: JsonObject
  /** A person has answered since it was decided. */
  readonly isAnswered: boolean
}

/** A channel's latest write; how it is folded with those before is in the definition. */
export type ChannelView = {
  readonly value: Json
  readonly reducer: string
  readonly writes: number
  /** One of its writes was masked, so all of it is. */
  readonly isMasked: boolean
}

/** What is worth a line of its own while someone follows the run, the latest of it. */
export type Activity = {
  readonly entries: readonly ActivityEntry[]
  /** How many there have been. */
  readonly count: number
}

export type ActivityEntry = {
  readonly is: 'decided' | 'doubted' | 'open' | 'completed' | 'failed' | 'cancelled'
  /** What opened it and what has come of it since, in order. */
  readonly events: readonly [PublicEvent, ...PublicEvent[]]
  /** The run of the worker, once there is one. */
  readonly childRunId?: string
  /** The call or the attempt that is open, until it ends. */
  readonly key?: string
}

const PENDING_NODE: NodeView = { status: 'pending', attempt: 0, starts: 0 }

export const emptyView = ({ forkedFrom, nodeIds = [] }: About = {}): RunView => ({
  length: 0,
  ...(forkedFrom && { forkedFrom }),
  mode: 'absent',
  awayMs: 0,
  isBranch: false,
  diverged: false,
  nodes: new Map(nodeIds.map(nodeId => [nodeId, PENDING_NODE])),
  setBack: -1,
  variables: new Map(),
  channels: new Map(),
  hasUntoldSpend: false,
  slots: new Map(),
  activity: { entries: [], count: 0 },
})

export const nodeOf = ({ nodes }: Pick<RunView, 'nodes'>, nodeId: string): NodeView => nodes.get(nodeId) ?? PENDING_NODE

/** A private copy on its way to being the next view; its collections are the view's own (V2). */
export type ViewDraft = {
  -readonly [Field in keyof RunView]: RunView[Field] extends ReadonlyMap<infer Key, infer Value>
    ? Map<Key, Value>
    : RunView[Field]
}

export const isSettled = ({ status }: NodeView): boolean =>
  status === 'completed' || status === 'failed' || status === 'skipped' || status === 'cancelled'

/** Started and not settled; at the exit of the workflow a node that was settled waits once more. */
export const isAtWork = (node: NodeView): boolean => node.status === 'running' || node.staged === 'run'
