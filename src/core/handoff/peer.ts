/**
 * Work that is handed to another host (docs/design/peers.md). The machine is that of every worker (`decide.ts`); what a
 * peer has besides is silence, which ends either with its next answer or with the hand-off.
 * `engine/ports/peers.ts` has the invariants; P4, P5, P6 and P11 are kept here.
 */

import { asSpend, type Ceilings, NOTHING_SPENT, plus, type Spend } from '../budget/budget.js'
import { spentBy, tellSpend } from '../budget/decide.js'
import type { DecisionContext } from '../run/decision-context.js'
import type { EffectOutcome } from '../run/input.js'
import { nodeAt } from '../run/state.js'
import { type PlanNode, planNodeOf } from '../workflow/plan.js'
import { type PeerTold, peerWorkOf, workerAtPeer } from './peer-work.js'
import { handedTo, handoffOf, isTurnToEnd, type WorkerState } from './state.js'

type AtWork = Extract<WorkerState, { is: 'dispatching' | 'running' }>

type Heard<Type extends EffectOutcome['type']> = Extract<EffectOutcome, { type: Type }>

/** The peer that this answer is about, if the run still waits for it. */
function atPeer(context: DecisionContext, { nodeId, began }: Heard<'PeerSilent' | 'PeerHeard'>) {
  const planNode = planNodeOf(context.plan, nodeId)
  const node = planNode && handoffOf(nodeAt(context.active, planNode.index))
  if (!planNode || !node) return undefined
  const k = node.workers.findIndex(one => (one.is === 'dispatching' || one.is === 'running') && one.began === began)
  const worker = node.workers[k] as AtWork | undefined
  const work = worker && peerWorkOf(handedTo(node, k))
  if (!worker || !work) return undefined
  const told: PeerTold = { nodeId, workerId: handedTo(node, k), peer: work.peer, ...knownRun(worker) }
  return { planNode, node, k, worker, told, cause: latestStep(worker) }
}

/** A try has failed. Returns the node if its worker was given up with it. */
export function peerSilent(context: DecisionContext, input: Heard<'PeerSilent'>): PlanNode | undefined {
  const found = atPeer(context, input)
  if (!found) return undefined
  const { planNode, node, k, worker, told, cause } = found
  const { nodeId } = told
  const { reason, lostAfterMs } = input
  if (worker.silentAt === undefined) {
    context.emit({ type: 'assay.peer.silent', nodeId, payload: { ...told, reason }, cause })
    return undefined
  }
  // What is to be told of those that were named before it comes first.
  if (context.at - worker.silentAt < lostAfterMs || !isTurnToEnd(context.active, node, k)) return undefined
  const before = spentBy(context.active)
  const lost = context.emit({ type: 'assay.peer.lost', nodeId, payload: { ...told, reason }, cause })
  tellSpend(context, before, lost)
  return planNode
}

/** It has answered again. */
export function peerHeard(context: DecisionContext, input: Heard<'PeerHeard'>): void {
  const found = atPeer(context, input)
  if (found) endSilence(context, input.nodeId, found.told.workerId, found.worker)
}

/** Whatever is heard of a peer is told after the end of its silence. */
export function endSilence(context: DecisionContext, nodeId: string, workerId: string, worker: AtWork): void {
  const work = worker.silentAt === undefined ? undefined : peerWorkOf(workerId)
  if (!work) return
  const payload = { nodeId, workerId, peer: work.peer, ...knownRun(worker) }
  context.emit({ type: 'assay.peer.heard', nodeId, payload, cause: latestStep(worker) })
}

const knownRun = (worker: AtWork) => (worker.is === 'running' ? { childRunId: worker.childRunId } : {})

/** The transition that it is in. */
const latestStep = (worker: AtWork): number => (worker.is === 'running' ? worker.succeeded : worker.began)

/** P6: the run of a hand-off that was lost is at rest: cancelled, ended, or never begun. */
export function peerLetGo(context: DecisionContext, { lost }: Heard<'PeerLetGo'>): void {
  const found = context.active.lostPeers?.find(one => one.lost === lost)
  if (!found) return
  const { nodeId, peer, childRunId } = found
  const payload = { nodeId, workerId: workerAtPeer(found), peer, ...(childRunId ? { childRunId } : {}) }
  context.emit({ type: 'assay.peer.released', nodeId, payload, cause: lost })
}

/** P11 */
export function peerCost(claim: Partial<Spend> | undefined, grant: Ceilings | undefined) {
  const granted: Partial<Spend> = grant ? boundedBy(grant) : {}
  const dimensions = [...new Set([...Object.keys(claim ?? {}), ...Object.keys(granted)])] as (keyof Spend)[]
  const [spent, held]: [Partial<Spend>, Partial<Spend>] = [{}, {}]
  for (const dimension of dimensions) {
    const [said, most] = [claim?.[dimension], granted[dimension]]
    if (said === undefined) Object.assign(held, { [dimension]: most })
    else Object.assign(spent, { [dimension]: Math.min(said, most ?? Number.POSITIVE_INFINITY) })
  }
  return {
    ...(Object.keys(spent).length > 0 ? { spent: plus(NOTHING_SPENT, spent) } : {}),
    ...(Object.keys(held).length > 0 ? { held: plus(NOTHING_SPENT, held) } : {}),
  }
}

/** Only of what the grant bounds. */
function boundedBy(grant: Ceilings): Partial<Spend> {
  const { tokens, costNano, toolCalls, retries } = asSpend(grant)
  return {
    ...(grant.maxTokens === undefined ? {} : { tokens }),
    ...(grant.maxCostUsd === undefined ? {} : { costNano }),
    ...(grant.maxToolCalls === undefined ? {} : { toolCalls }),
    ...(grant.maxRetries === undefined ? {} : { retries }),
  }
}
