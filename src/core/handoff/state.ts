import type { Ceilings } from '../budget/budget.js'
import type { JsonObject } from '../json.js'
import { absent } from '../present.js'
import type { Failure } from '../problem.js'
import type { DecisionContext } from '../run/decision-context.js'
import type { RunStatus } from '../run/events.js'
import type { ForeignEvent } from './foreign-cause.js'
import type { Active, NodeState } from '../run/state.js'
import { isSinceVersion } from '../run/version.js'
import type { OnWorkers } from '../run/waiting.js'
import type { PlanNode } from '../workflow/plan.js'
import type { HandoffRecorded, HandoffSecret } from './events.js'

export type WorkerResult = {
  readonly workerId: string
  readonly status: 'completed' | 'failed' | 'cancelled'
  readonly childRunId?: string
  readonly error?: Failure
  readonly attestation?: { readonly checksum: string; readonly algorithm: 'sha256' }
  /** It completed, and says itself that it has not reached its goal (R-VERIFY-19). */
  readonly goalSatisfied?: false
}

type AtPeer = {
  /** Of work that was handed to a peer: when, by the run's own time. */
  readonly beganAt?: number
  /** Since when the peer has not been heard. */
  readonly silentAt?: number
}

/** R-HANDOFF-1: the hand-off machine of one worker. Sequences name the event that led here: the cause of the next. */
export type WorkerState =
  | { readonly is: 'pending' }
  | ({
      readonly is: 'dispatching'
      readonly began: number
      readonly inputs: JsonObject
      readonly unset: readonly string[]
      readonly grant?: Ceilings
      readonly withheld?: JsonObject
    } & AtPeer)
  | ({
      readonly is: 'running'
      readonly began: number
      readonly inputs: JsonObject
      readonly unset: readonly string[]
      readonly grant?: Ceilings
      readonly withheld?: JsonObject
      readonly succeeded: number
      readonly childRunId: string
      /** What the child waits for, if it waits for someone. */
      readonly childStatus?: RunStatus
    } & AtPeer)
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
      /** Of a peer's run: the event of its end there. */
      readonly foreign?: ForeignEvent
      /** Gates that have let it pass, by index. */
      readonly cleared?: readonly number[]
    }
  /** Nothing more will come of it. */
  | ({ readonly is: 'done' } & Omit<WorkerResult, 'workerId'>)

/** The node, while it hands work over. */
export const handoffOf = (node: NodeState | undefined): OnWorkers | undefined =>
  node?.is === 'waiting' && node.on === 'workers' ? node : undefined

/** Whom the node's k-th piece of work is handed to. */
export const handedTo = ({ wait }: Pick<OnWorkers, 'wait'>, worker: number): string =>
  wait.workers[worker] ?? absent(`worker ${worker} of the hand-off`)

/**
 * R-LOOP-10: whether the end of a worker may be told. Where all work at once they are told of in the order in which they
 * were named, each when nothing more will come of those before it and all have been started; a run that is stopping
 * waits only for those that are at work.
 */
export function isTurnToEnd({ mode, started }: Active, { wait, workers }: OnWorkers, worker: number): boolean {
  if (wait.policy !== 'parallel' || !isSinceVersion(started, 3)) return true
  const before = workers.slice(0, worker)
  if (mode.kind === 'stopping') return before.every(({ is }) => is !== 'running')
  return before.every(({ is }) => is === 'done') && workers.every(({ is }) => is !== 'pending' && is !== 'dispatching')
}

/** R-ORCH-16: everything that is not a transition of its own is due to the decision. */
export const dueTo = ({ wait, since }: OnWorkers): number => wait.decided ?? since

/** R-HANDOFF-2, R-HANDOFF-3 */
export function recordHandoff(
  context: DecisionContext,
  { node: { id } }: PlanNode,
  told: Omit<HandoffRecorded, 'parentRunId'>,
  cause: number,
  secret?: HandoffSecret,
): number {
  const { phase, workerId, ...more } = told
  return context.emit({
    type: 'core.workflowChain.event',
    nodeId: id,
    payload: { phase, workerId, parentRunId: context.runId, ...more },
    cause,
    ...(secret ? { secret } : {}),
  })
}
