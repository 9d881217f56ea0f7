import type { CheckedFork } from '../checked.js'
import type { NodePhase } from '../walk.js'
import type { Budget, Purse } from './budgeting.js'
import type { Choose } from './choice.js'
import type { Live } from './live-agents.js'
import type { Asked } from './questions.js'
import type { SimulatedRun } from './simulated-run.js'

/** What may happen to a run besides its nodes' own work. */
export type Fate = {
  readonly end: 'own' | 'cancelled' | 'executions' | 'duration' | 'turns' | 'cut'
  readonly pause: 'none' | 'drain' | 'immediate'
}

export type World = {
  readonly choose: Choose
  readonly runs: SimulatedRun[]
  readonly tenant: string
  ids: number
  /** Some run of it will be forked. */
  readonly forks: boolean
  /** Events at the beginning of every log that are older than the hash chain. */
  readonly older: number
  /** Below which a person looks at a decision first, and how that person is asked. */
  readonly floor: number
  readonly floorKind: 'approval' | 'clarification' | 'custom'
  /** Whether runs are bounded in what they spend, and how closely. */
  readonly budgets: 'none' | 'loose' | 'tight'
}

export type Parent = {
  readonly runId: string
  readonly nodeId: string
  readonly at: number
  readonly event: string
  /** What of its budget the child may spend. */
  readonly grant: Budget | undefined
}

export type NodeState = {
  readonly typeId: string
  phase: NodePhase
  attempt: number
  retries: number
  /** How often it has asked someone outside. */
  asks: number
  asked?: Asked
  /** Sequence of the latest start. */
  startedAt: number
  handoff?: Handoff
  /** An agent at work in it. */
  live?: Live
  /** The call of it whose answer was lost last, and how many tries of it are counted. */
  spoiled?: { call: number; attempt: number }
  /** What a supervisor has decided in this turn, or wants to decide if it may. */
  decision?: Decision
  /** The same as readers outside see it. */
  shown?: Decision
  /** Sequence of the decision; absent while it is held. */
  decidedAt?: number
}

export type Decision = { readonly kind: string; readonly [field: string]: unknown }

/** Work that a node has handed out. Places in the log are sequences, so that a fork can go on with them. */
export type Handoff = { readonly workers: Worker[]; readonly parallel: boolean; readonly cause: number }

export type Worker = {
  readonly workerId: string
  phase: 'waiting' | 'began' | 'running' | 'ended' | 'done'
  /** Sequences of the first and the latest step told. */
  beganAt: number
  last: number
  status: 'completed' | 'failed' | 'cancelled'
  grant?: Budget
  childRunId?: string
  child?: SimulatedRun
  /** What the child was last said to wait for. */
  mirrored?: string
}

export type Mode = 'running' | 'paused' | 'cancelling' | 'failing' | 'ended'

/** Where the loops of a run stand. */
export type Loops = {
  /** Of a loop node. */
  rounds: number
  /** Of an orchestrator. */
  turns: number
  route?: 'body' | 'again' | 'done'
  dispatches: number
}

/** What a run holds besides its nodes, and takes along when it is forked. */
export type Standing = {
  mode: Mode
  status: string
  variables: Record<string, unknown>
  channels: Record<string, unknown>
  executions: number
  loops: Loops
  /** Bound on executions. */
  limit: number
  /** Bound on an orchestrator's turns. */
  turnLimit: number
  purse: Purse
}

/** A run between two steps, from where a fork can go on. */
export type Moment = {
  readonly length: number
  readonly standing: Standing
  readonly nodes: ReadonlyMap<string, NodeState>
}

/** What a fork takes over. `told` of the source's events are in its log when it begins to live, shared or retold. */
export type Origin = { readonly source: SimulatedRun; readonly fork: CheckedFork; readonly told?: Moment }

/** The host is gone while the run is paused; the log simply stops. */
export class CutOff extends Error {
  override readonly name = 'CutOff'
}

export const HANDS_OUT: readonly string[] = ['core.subWorkflow', 'core.dispatch']

/** A node without what belongs to this run only: its children. */
export function withoutChildren(state: NodeState): NodeState {
  if (state.handoff === undefined) return state
  const workers = state.handoff.workers.map(({ child: _child, ...worker }) => worker)
  return { ...state, handoff: { ...state.handoff, workers } }
}
