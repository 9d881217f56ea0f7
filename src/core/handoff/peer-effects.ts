import type { Ceilings } from '../budget/budget.js'
import type { Json, JsonObject } from '../json.js'
import { carriesSecret, secretsOf } from '../run/redaction.js'
import type { RunStatus } from '../run/events.js'
import type { Effect } from '../run/effects.js'
import type { Active } from '../run/state.js'
import type { OnWorkers } from '../run/waiting.js'
import { FEEDBACK_INPUT } from '../verification/feedback.js'
import type { PlanNode } from '../workflow/plan.js'
import { termsFor } from './mapping.js'
import type { PeerWork } from './peer-work.js'
import { isTurnToEnd } from './state.js'

/** One piece of work at a peer. `began`, the sequence of its `dispatch.began`, names it, whatever it is tried for. */
type AtPeer = {
  readonly nodeId: string
  readonly since: number
  readonly worker: number
  readonly peer: string
  readonly began: number
  /** Since when the log says that it does not answer. */
  readonly silentAt?: number
}

export type StartPeer = AtPeer & {
  readonly kind: 'start-peer'
  readonly workflowId: string
  /** When it began, by the run's own time. */
  readonly beganAt: number
  readonly inputs: JsonObject
  /** Names of inputs that carry a secret, and that no other host is told. */
  readonly hiddenInputs: readonly string[]
  readonly timeoutMs: number
  readonly grant: Ceilings | undefined
  /** The node has terms that bind a worker of this host, and no other. */
  readonly narrowed: boolean
  readonly cause: 'core.dispatch' | 'core.subWorkflow'
  /** How deep the run is nested that hands over, over all hosts. */
  readonly depth: number
  /** The run stops: what has not been sent is not sent any more. */
  readonly stopping: boolean
}

export type WatchPeer = AtPeer & {
  readonly kind: 'watch-peer'
  readonly childRunId: string
  /** As of a local child: only whether it waits is told yet. */
  readonly early?: true
  readonly status: RunStatus
  readonly wanted: readonly string[]
  readonly attest: boolean
}

export type CancelPeer = Omit<AtPeer, 'worker'> & {
  readonly kind: 'cancel-peer'
  /** Absent where this host has not heard of it. */
  readonly childRunId?: string
  /** Where it was given up: the sequence of its `assay.peer.lost`, and when that was. */
  readonly lost?: number
  readonly lostAt?: number
}

/** What is owed for a worker at a peer. */
export function peerEffects(
  state: Active,
  planNode: PlanNode,
  node: OnWorkers,
  k: number,
  { peer, workflowId }: PeerWork,
  isNext: boolean,
): Effect[] {
  const worker = node.workers[k]
  const { config, id: nodeId } = planNode.node
  const stopping = state.mode.kind === 'stopping'
  if (worker?.is !== 'dispatching' && worker?.is !== 'running') return []
  const { began, silentAt } = worker
  const place = { nodeId, since: node.since, worker: k, peer, began, ...(silentAt === undefined ? {} : { silentAt }) }
  const { outputs, attest, principalScope } = termsFor(config, node.wait.workers[k] ?? '')
  if (worker.is === 'running') {
    const { childRunId, childStatus: status = 'running' } = worker
    const watch: WatchPeer = {
      kind: 'watch-peer',
      ...place,
      childRunId,
      ...(isTurnToEnd(state, node, k) ? {} : { early: true }),
      status,
      wanted: outputs.map(([, child]) => child),
      attest,
    }
    if (!stopping || config.propagateCancellation === false) return [watch]
    return [{ kind: 'cancel-peer', nodeId, since: node.since, peer, began, childRunId }, watch]
  }
  // P2: what may have been sent is followed up, also while the run stops.
  if (!isNext && !stopping) return []
  const secrets = secretsOf(state)
  const inputs = {
    ...worker.inputs,
    ...(worker.withheld?.[FEEDBACK_INPUT] ? { [FEEDBACK_INPUT]: worker.withheld[FEEDBACK_INPUT] as Json } : {}),
  }
  return [
    {
      kind: 'start-peer',
      ...place,
      workflowId,
      beganAt: worker.beganAt ?? state.lastAt,
      inputs,
      hiddenInputs: Object.entries(worker.inputs).flatMap(([name, value]) =>
        carriesSecret(value, secrets) ? [name] : [],
      ),
      timeoutMs: planNode.timeoutMs,
      grant: worker.grant,
      narrowed: principalScope !== undefined,
      cause: planNode.type.role === 'dispatch' ? 'core.dispatch' : 'core.subWorkflow',
      depth: state.started.depth ?? 0,
      stopping,
    },
  ]
}

/** P6: runs of hand-offs that were lost. */
export const lettingGo = ({ lostPeers = [] }: Pick<Active, 'lostPeers'>): CancelPeer[] =>
  lostPeers.map(({ nodeId, peer, began, lost, lostAt, childRunId }) => ({
    kind: 'cancel-peer',
    nodeId,
    since: lost,
    peer,
    began,
    lost,
    lostAt,
    ...(childRunId === undefined ? {} : { childRunId }),
  }))
