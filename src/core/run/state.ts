import type { Json, JsonObject } from '../json.js'
import type { Failure } from '../problem.js'
import type { DrainPolicy, RunStarted, RunStatus, StopRequested, Wait } from './event.js'

/** A run as its log tells it. Each member carries only its own data; the wire status is derived in `status.ts`. */
export type RunState = Absent | Active | Ended

export type Absent = { readonly phase: 'absent' }

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
  /** Milliseconds spent paused, which do not count against the workflow's own timeout. */
  readonly pausedMs: number
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
      readonly childRunId?: string
    }
  /** Stopped by an immediate pause; starts as a fresh attempt on resume. */
  | { readonly is: 'interrupted'; readonly attempt: number; readonly failures: number }
  | {
      readonly is: 'retrying'
      readonly attempt: number
      readonly failures: number
      readonly dueAt: number
      readonly since: number
    }
  | { readonly is: 'completed'; readonly outputs: JsonObject; readonly since: number }
  | { readonly is: 'failed'; readonly error: Failure; readonly since: number }
  | { readonly is: 'skipped'; readonly since: number }
  | { readonly is: 'cancelled'; readonly since: number }

export function statusOf(state: RunState): RunStatus {
  if (state.phase === 'absent') return 'pending'
  if (state.phase === 'ended') return state.outcome.status
  if (state.mode.kind === 'paused') return 'paused'
  if (state.mode.kind === 'stopping' && state.mode.stop.outcome === 'cancelled') return 'cancelling'
  return 'running'
}
