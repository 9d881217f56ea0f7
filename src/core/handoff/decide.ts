/**
 * Handing work to workers, each a run of its own (contract agents §4). One machine per worker, in `workers` of the
 * node that hands over (`core.dispatch`, `core.subWorkflow`); each transition is a `core.workflowChain.event` of the
 * phase that is named here.
 *
 * | worker      | entered by                    | left by, to                                                         |
 * |-------------|-------------------------------|---------------------------------------------------------------------|
 * | pending     | node.started;                 | its turn has come: dispatch.began, to dispatching                   |
 * |             | assay.rework.began            |                                                                     |
 * | dispatching | dispatch.began;               | ChildStarted: node.dispatched, dispatch.succeeded, to running       |
 * |             | assay.run.forked, where it    | ChildRefused: dispatch.failed, to done                              |
 * |             | was running                   |                                                                     |
 * | running     | dispatch.succeeded            | ChildWaits: assay.child.status, stays                               |
 * |             |                               | ChildEnded, in its turn: child.completed, to completed, or to done  |
 * |             |                               | where nothing is mapped back; child.failed or .cancelled, to done   |
 * | completed   | child.completed               | every gate has passed it: output.harvested, to done (`merge.ts`)    |
 * |             |                               | a person refuses the merge: interrupt.resolved, to done             |
 * |             |                               | its gate: assay.result.withheld, to done; assay.rework.began, to    |
 * |             |                               | pending                                                             |
 * | done        | all of these                  | never; with the last of them the node settles                       |
 *
 *  I1  The cause of a transition is the one before it; of the first, the decision that named the worker, or else the
 *      node.started.
 *  I2  The order of the log depends on the decision and on what workers do, never on the host or on who is faster:
 *      they begin, are started, are told to have ended and are merged in the order in which they were named, also where
 *      all work at once (`isTurnToEnd`). Nobody waits for another to work.
 *  I3  In sequence a worker begins when the one before it is done, and is given what that one has left in the
 *      variables.
 *  I4  What a worker brings is merged only when every gate has let it pass, and where a person must accept it, with a
 *      yes.
 *  I5  A worker's failure does not end the hand-off; what it means is the node type's to say: a dispatch completes and
 *      tells its supervisor, a sub-workflow fails unless it absorbs it.
 *  I6  What a worker may spend is set aside with dispatch.began; what it has spent is counted when it ends.
 *  I7  `handoffMove` alone says what the run can do by itself: `advance` does it, and `pending` owes no start before
 *      it is done.
 */

import { type BudgetDimension, plus, type Spend } from '../budget/budget.js'
import { committedBy, grantFor, roomFor, spentBy, tellSpend } from '../budget/decide.js'
import { exhaust, mayAsk } from '../budget/exhaust.js'
import type { Json, JsonObject } from '../json.js'
import { type Failure, failure } from '../problem.js'
import type { DecisionContext } from '../run/decision-context.js'
import type { EffectOutcome } from '../run/input.js'
import { settleNode } from '../run/node-lifecycle.js'
import { maskFailure } from '../run/redaction.js'
import { type Active, nodeAt } from '../run/state.js'
import { MAX_VALUE_BYTES, sizeUpTo } from '../run/value-size.js'
import { isSuspended, type OnWorkers } from '../run/waiting.js'
import { nextGate, occurrenceOf, placeOf, subjectOf } from '../verification/attempt.js'
import { FEEDBACK_INPUT } from '../verification/feedback.js'
import { type PlanNode, planNodeAt, planNodeOf } from '../workflow/plan.js'
import type { HandoffRecorded, HandoffSecret } from './events.js'
import { resultsOf } from './evolve.js'
import { mapInputs, termsFor } from './mapping.js'
import { mergeResult } from './merge.js'
import { endSilence, peerCost } from './peer.js'
import { type PeerReceipt, receiptTold } from './peer-receipt.js'
import { type PeerTold, peerWorkOf } from './peer-work.js'
import { dueTo, handedTo, handoffOf, isTurnToEnd, recordHandoff } from './state.js'

/** Begins, merges and settles whatever can be now. */
export function proceedHandoff(context: DecisionContext, planNode: PlanNode): void {
  const next = () =>
    context.isRunning && !context.isFull ? handoffMove(context, context.active, planNode.index) : undefined
  for (let move = next(); move; move = next()) {
    const { node, worker } = move
    const state = worker === undefined ? undefined : node.workers[worker]
    if (worker === undefined) settle(context, planNode, node)
    else if (state?.is === 'completed') mergeResult(context, planNode, node, worker, state)
    else begin(context, planNode, node, worker)
  }
}

/** What a node that hands work over can do by itself: with one of its workers, or, with none left, settle. */
export function handoffMove(
  { plan }: Pick<DecisionContext, 'plan'>,
  state: Active,
  index: number,
): { node: OnWorkers; worker: number | undefined } | undefined {
  const node = handoffOf(nodeAt(state, index))
  // While it asks whether to merge, or its budget keeps it, nothing moves but the workers themselves.
  if (!node || isSuspended(node)) return undefined
  const first = node.workers.findIndex(worker => worker.is !== 'done')
  if (first < 0) return { node, worker: undefined }
  // R-ORCH-15: one after the other, or as many as there are at once.
  const pending = node.workers.findIndex(worker => worker.is === 'pending')
  if (pending >= 0 && (pending === first || node.wait.policy === 'parallel')) return { node, worker: pending }
  if (node.workers[first]?.is !== 'completed') return undefined
  // R-VERIFY-10: what a worker brings back is merged when every gate has let it pass.
  const subject = state.gated && subjectOf(node)
  const isOpen = subject === undefined || nextGate(state, planNodeAt(plan, index).node.id, subject) === undefined
  return isOpen ? { node, worker: first } : undefined
}

/** R-MAP-6: mapped when the worker's turn has come, from what those before it have left. */
function begin(context: DecisionContext, planNode: PlanNode, node: OnWorkers, worker: number): void {
  const workerId = handedTo(node, worker)
  const { mapped, unset } = mapInputs(termsFor(planNode.node.config, workerId), context.active.variables)
  // One after the other each may have all that is left; those that begin together share it.
  const beginners = node.workers.filter(({ is }) => is === 'pending').length
  const short = isAskedAbout(context.active)
  if (short) return exhaust(context, planNode, { is: 'hand-over' }, short, leastWanted(context.active), dueTo(node))
  const grant = grantFor(context.active, node.wait.policy === 'parallel' ? beginners : 1)
  const { feedback = {} } = context.active.gated ?? {}
  const nodeId = planNode.node.id
  const who = { workerId, occurrence: occurrenceOf(node.wait.workers, worker) }
  const again = feedback[placeOf(nodeId, who)] ?? feedback[placeOf(nodeId)]
  const secret = {
    inputs: { ...node.wait.inputs, ...mapped },
    unset,
    ...(grant ? { grant } : {}),
    ...(again ? { withheld: { [FEEDBACK_INPUT]: again as unknown as Json } } : {}),
  }
  const bytes = sizeUpTo(secret.inputs, MAX_VALUE_BYTES)
  context.burden += bytes
  context.chargeBytes(bytes)
  recordHandoff(context, planNode, { phase: 'dispatch.began', workerId }, dueTo(node), secret)
}

/** Where a person may let the run spend more, nobody is sent to work with nothing. */
function isAskedAbout(state: Active): BudgetDimension | undefined {
  const room = roomFor(state, LEAST)
  return room !== 'yes' && room !== 'not-yet' && mayAsk(state, room, leastWanted(state)) ? room : undefined
}

const LEAST = { tokens: 1, costNano: 1 }
const leastWanted = (state: Active): Spend => plus(committedBy(state), LEAST)

type Heard<Type extends EffectOutcome['type']> = Extract<EffectOutcome, { type: Type }>

/** R-HANDOFF-4, R-ORCH-17: the child is there, with what it was given. */
export function childStarted(
  context: DecisionContext,
  planNode: PlanNode,
  { worker, childRunId, agentId }: Heard<'ChildStarted'>,
) {
  const node = handoffOf(nodeAt(context.active, planNode.index))
  const state = node?.workers[worker]
  if (!node || state?.is !== 'dispatching') return
  const workerId = handedTo(node, worker)
  const nodeId = planNode.node.id
  const cause = dueTo(node)
  endSilence(context, nodeId, workerId, state)
  context.emit({ type: 'node.dispatched', nodeId, payload: { childRunId, childWorkflowId: workerId }, cause })
  const before = context.active.agentId ?? context.active.orchestrator?.agentId
  if (agentId !== undefined && before !== undefined && agentId !== before) {
    const payload = { fromAgentId: before, toAgentId: agentId, reason: 'dispatch' }
    context.emit({ type: 'agent.handoff', nodeId, payload, cause })
  }
  recordHandoff(context, planNode, { phase: 'dispatch.succeeded', workerId, childRunId }, state.began)
}

export function childRefused(
  context: DecisionContext,
  planNode: PlanNode,
  { worker, error }: Heard<'ChildRefused'>,
): void {
  const node = handoffOf(nodeAt(context.active, planNode.index))
  const state = node?.workers[worker]
  if (!node || state?.is !== 'dispatching') return
  const workerId = handedTo(node, worker)
  endSilence(context, planNode.node.id, workerId, state)
  recordHandoff(context, planNode, { phase: 'dispatch.failed', workerId, error: spelled(context, error) }, state.began)
}

/** The worker that this run knows to be at work under that id. */
function atWork(
  context: DecisionContext,
  { nodeId, childRunId }: { readonly nodeId: string; readonly childRunId: string },
) {
  const planNode = planNodeOf(context.plan, nodeId)
  const node = planNode && handoffOf(nodeAt(context.active, planNode.index))
  const k = node?.workers.findIndex(worker => worker.is === 'running' && worker.childRunId === childRunId) ?? -1
  const worker = node?.workers[k]
  return planNode && node && worker?.is === 'running'
    ? { planNode, node, k, worker, workerId: handedTo(node, k) }
    : undefined
}

/** A child waits for someone, or no longer does, and so does this run. */
export function childWaits(context: DecisionContext, { nodeId, childRunId, status }: Heard<'ChildWaits'>): void {
  const found = atWork(context, { nodeId, childRunId })
  if (!found) return
  endSilence(context, nodeId, found.workerId, found.worker)
  if ((found.worker.childStatus ?? 'running') === status) return
  const payload = { nodeId, childRunId, status }
  context.emit({ type: 'assay.child.status', nodeId, payload, cause: found.worker.succeeded })
}

/** A child has ended. Returns the node that waited for it, if one did. */
export function childEnded(context: DecisionContext, input: Heard<'ChildEnded'>): PlanNode | undefined {
  const found = atWork(context, input)
  // Whoever looks after it looks again when its turn has come.
  if (!found || !isTurnToEnd(context.active, found.node, found.k)) return undefined
  const { planNode, workerId } = found
  const { succeeded } = found.worker
  const { childRunId, status } = input
  endSilence(context, planNode.node.id, workerId, found.worker)
  const spent = costIn(input, found)
  const before = spentBy(context.active)
  const step = { workerId, childRunId }
  let ended: number
  if (status === 'completed') {
    // The payload of a hand-off is closed (R-HANDOFF-2): what is not in its table is kept beside it.
    const secret = {
      ...results(planNode, workerId, input),
      ...spent,
      ...(input.goalSatisfied === false ? { goalSatisfied: false as const } : {}),
    }
    const kept = Object.keys(secret).length === 0 ? undefined : secret
    ended = recordHandoff(context, planNode, { phase: 'child.completed', ...step }, succeeded, kept)
    const work = peerWorkOf(workerId)
    if (work && input.receipt)
      tellReceipt(context, { ...step, ...work, nodeId: planNode.node.id }, ended, input.receipt)
  } else {
    const told = input.error ?? failure(`child_${status}`, `child run ${childRunId} was ${status}`)
    const error = spelled(context, told)
    ended = recordHandoff(context, planNode, { phase: `child.${status}`, ...step, error }, succeeded, spent)
  }
  tellSpend(context, before, ended)
  return planNode
}

const tellReceipt = (context: DecisionContext, told: Required<PeerTold>, cause: number, receipt: PeerReceipt) =>
  context.emit({ type: 'assay.peer.receipt', nodeId: told.nodeId, payload: receiptTold(told, receipt), cause })

/** What a child has cost; of a peer's that is a claim. */
function costIn(
  { spent, held, verification, claimed }: Heard<'ChildEnded'>,
  { worker, workerId }: NonNullable<ReturnType<typeof atWork>>,
) {
  const cost = peerWorkOf(workerId) ? peerCost(claimed, worker.grant) : { spent, held }
  if (!cost.spent && !cost.held) return undefined
  return {
    ...(cost.spent ? { spent: cost.spent } : {}),
    ...(cost.held ? { held: cost.held } : {}),
    ...(verification ? { verification } : {}),
  }
}

/** R-HANDOFF-5: what it brings back; nothing when nothing is mapped. */
function results(
  { node }: PlanNode,
  workerId: string,
  { variables, hidden, checksum, agents, foreign }: Heard<'ChildEnded'>,
): Extract<HandoffSecret, { outputs: unknown }> | undefined {
  const { outputs } = termsFor(node.config, workerId)
  if (outputs.length === 0) return undefined
  const attestation = checksum === undefined ? {} : { attestation: { checksum, algorithm: 'sha256' as const } }
  return { outputs: variables, hidden, ...attestation, ...(agents ? { agents } : {}), ...(foreign ? { foreign } : {}) }
}

/** A failure as readers see it: secrets masked, its code under `code` and, as in HTTP answers, under `error`. */
function spelled(context: DecisionContext, told: Failure): NonNullable<HandoffRecorded['error']> {
  const { code, message, details } = maskFailure(context.active, told)
  return { code, error: code, message, ...(details === undefined ? {} : { details: details as JsonObject }) }
}

/** R-LOOP-8: every worker has come to an end of its own; whoever handed the work over goes on. */
function settle(context: DecisionContext, planNode: PlanNode, node: OnWorkers): void {
  const workers = resultsOf(node)
  settleNode(context, planNode, node.wait, { kind: 'handed', workers }, dueTo(node))
}
