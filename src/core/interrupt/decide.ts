/**
 * Asking someone outside (`ask.ts`), and making something of the answer. A question belongs to the node that asks and
 * is kept where that node waits; a node has one at a time.
 *
 * | who asks                        | kept in the node as          | a closing answer goes to                         |
 * |---------------------------------|------------------------------|--------------------------------------------------|
 * | a node type, by a step `asking` | person: `asked`              | `settleNode`                                     |
 * | an agent that is not sure       | agent: `asked`               | `heldAnswered`: the result stands, or the node   |
 * | enough                          |                              | fails                                            |
 * | a merge, before it is made      | workers: `hold` merging      | `mergeAnswered`: merged, or the worker has       |
 * |                                 |                              | failed                                           |
 * | a gate                          | workers, gate: `hold` asking | `gateAnswered`: pass, revise or fail             |
 * | (`verification/escalate.ts`)    |                              |                                                  |
 * | any node that its budget keeps  | `halted`, wherever it waits  | `budgetAnswered`: the ceiling is raised and the  |
 * | from a step                     |                              | step taken, or the run ends                      |
 * | (`budget/exhaust.ts`)           |                              |                                                  |
 *
 * | question | entered by               | left by, to                                                                 |
 * |----------|--------------------------|-----------------------------------------------------------------------------|
 * | none     | interrupt.resolved       | `ask`: interrupt.requested, node.suspended: to open                         |
 * | open     | interrupt.requested      | a vote that does not decide: assay.interrupt.voted, stays                   |
 * |          |                          | a question in return: assay.interrupt.asked, stays                          |
 * |          |                          | an answer that decides: interrupt.resolved, node.resumed, to none           |
 * |          |                          | TimeCame at `answerDueAt`: the same, as a refusal                           |
 * |          |                          | node.cancelled: gone, and whoever answers is told so                        |
 *
 *  I1  Exactly one answer closes a question: answers are judged one by one against the state, and later ones are
 *      refused.
 *  I2  No question is put twice: its key counts the questions of its node, and it is in the log before anybody sees
 *      it.
 *  I3  Nobody answering is never a yes: an approval, or a result that is held, is refused; anything else fails its
 *      node.
 *  I4  Who answered comes from the credential, and of an approval only what belongs to its action is kept.
 *  I5  An answer that says on sight of what it was given (`claimedHash`) is refused when that is not what is shown.
 *  I6  A refusal changes nothing: a run that is paused, stopping or out of time, and a replay, leave the question as
 *      it was.
 *  I7  Nothing hidden is told: values that carry a secret are masked, in the question and in the answer.
 *  I8  The older events approval.* and clarification.* say the same for readers that know no interrupt.*; nothing is
 *      folded from them.
 */

import { budgetAnswered, raiseProblems } from '../budget/raise.js'
import { editsHidden, mergeAnswered, mergeProblems } from '../handoff/merge.js'
import { heldAnswered } from '../invocation/conclude.js'
import { isObject, type Json } from '../json.js'
import { present } from '../present.js'
import { failure, type Refusal, refuse } from '../problem.js'
import { isReplay } from '../replay/events.js'
import type { DecisionContext } from '../run/decision-context.js'
import type { ResolveInterrupt } from '../run/input.js'
import { answerDueAt, durationBreach } from '../run/limits.js'
import { failAttempt, settleNode } from '../run/node-lifecycle.js'
import { carriesSecret, MASK, secretsOf } from '../run/redaction.js'
import { nodeAt, type RunState, statusOf } from '../run/state.js'
import { gatingIn, questionOf } from '../run/waiting.js'
import { isoTime } from '../time.js'
import { gateAnswered } from '../verification/escalate.js'
import { type Plan, type PlanNode, planNodeAt, planNodeOf } from '../workflow/plan.js'
import type { ApprovalReceived, InterruptResolved } from './events.js'
import { type Interrupt, judgeAnswer, type Resolution } from './interrupt.js'
import type { Asked } from './state.js'

/** What a run asks and nobody has answered yet. */
export type OpenInterrupt = {
  readonly nodeId: string
  readonly asked: Asked
  /** When it is too late to answer; null when there is no limit. */
  readonly dueAt: number | null
  /** Only a bearer key may answer, not a link. */
  readonly keyOnly: boolean
}

export function openInterrupts(plan: Plan, state: RunState): OpenInterrupt[] {
  if (state.phase !== 'active') return []
  return state.open.flatMap(index => {
    const asked = questionOf(nodeAt(state, index))
    if (!asked) return []
    const planNode = planNodeAt(plan, index)
    const dueAt = answerDueAt(planNode, asked)
    const open = { nodeId: planNode.node.id, asked, keyOnly: isKeyOnly(planNode) }
    return [{ ...open, dueAt: Number.isFinite(dueAt) ? dueAt : null }]
  })
}

const isKeyOnly = ({ node }: PlanNode): boolean => node.config.profile === 'openwop-interrupt-auth-required'

type Meant = Pick<ResolveInterrupt, 'nodeId' | 'interruptId' | 'via'>

export const REPLAY_ASKS_NOBODY = refuse('interrupt_not_found', 'a replay asks nobody; answer the run it retells')

/** The interrupt a node has open, or why there is none to answer (any more). */
export const findOpen = (plan: Plan, state: RunState, meant: Meant, at: number): OpenInterrupt | Refusal =>
  isReplay(state) ? REPLAY_ASKS_NOBODY : locate(plan, state, meant, at)

function locate(plan: Plan, state: RunState, { nodeId, interruptId, via }: Meant, at: number): OpenInterrupt | Refusal {
  const index = plan.indexOf.get(nodeId)
  if (index === undefined || state.phase === 'absent' || (state.asks[index] ?? 0) === 0)
    return refuse('interrupt_not_found', `node "${nodeId}" of this run has asked nothing`, { nodeId })
  const stopping = state.phase === 'active' && state.mode.kind === 'stopping'
  const open = openInterrupts(plan, state).find(other => other.nodeId === nodeId)
  if (open === undefined || stopping)
    return closed(state, open !== undefined || nodeAt(state, index).is === 'cancelled', via)
  if (interruptId !== undefined && interruptId !== open.asked.interruptId) return closed(state, false, via)
  if (open.dueAt !== null && at >= open.dueAt) return refuse('interrupt_expired', 'the time to answer is over')
  return open
}

/** An answer from outside: refused, counted, or the end of the waiting. Exactly one answer closes an interrupt. */
export function resolve(context: DecisionContext, input: ResolveInterrupt): Refusal | undefined {
  const open = locate(context.plan, context.state, input, context.at)
  if ('code' in open) return open
  if (context.active.mode.kind === 'paused')
    return refuse('run_paused', 'the run is paused; resume it first, the interrupt stays open', { runStatus: 'paused' })
  if (durationBreach(context.plan, context.active, context.limits, context.at))
    return refuse('interrupt_expired', 'the time of the run is over')
  if (input.via === 'token' && open.keyOnly)
    return refuse('auth_elevation_required', 'this interrupt is answered with a bearer key, not with a link')
  return hearAnswer(context, present(planNodeOf(context.plan, input.nodeId), 'node that asks'), open.asked, input)
}

/** Why an interrupt that is not open can no longer be answered. */
function closed(state: RunState, wasOpen: boolean, via: 'key' | 'token'): Refusal {
  const status = statusOf(state)
  const cancelled = wasOpen && (status === 'cancelled' || status === 'cancelling')
  if (cancelled && isParentsDoing(state))
    return refuse('interrupt_gone', 'the run was cancelled with its parent', { runStatus: status })
  if (cancelled && via === 'key')
    return refuse('interrupt_cancelled', 'the run was cancelled while it waited', { runStatus: status })
  return refuse('interrupt_already_resolved', 'the interrupt is closed; nothing waits for this answer', {
    runStatus: status,
  })
}

const isParentsDoing = (state: RunState): boolean =>
  (state.phase === 'ended' && state.outcome.status === 'cancelled' && state.outcome.reason === 'parent-cancelled') ||
  (state.phase === 'active' && state.mode.kind === 'stopping' && 'parentRunId' in state.mode.stop)

function hearAnswer(
  context: DecisionContext,
  planNode: PlanNode,
  asked: Asked,
  input: ResolveInterrupt,
): Refusal | undefined {
  const { value, by, voter = by, shownHash, claimedHash } = input
  if (claimedHash !== undefined && claimedHash !== shownHash)
    return refuse('interrupt_changed', 'shownHash is not the hash of what this interrupt shows; look at it again', {
      shownHash,
    })
  const judgement = judgeAnswer(asked, asked.votes, { value, by, voter, at: isoTime(context.at) })
  if (judgement.is === 'refused') return judgement.refusal
  const nodeId = planNode.node.id
  const { interruptId } = asked
  const problems = judgement.is === 'closed' ? answerProblems(context, planNode, asked, judgement.value) : []
  if (problems.length > 0) return refuse('validation_error', problems.join('; '), { problems })
  if (judgement.vote) {
    const payload = { nodeId, interruptId, ...judgement.vote, by }
    context.emit({ type: 'assay.interrupt.voted', nodeId, payload })
  }
  if (judgement.is === 'closed') {
    close(context, planNode, asked, { value: judgement.value, by: judgement.by, timedOut: false }, shownHash)
  } else if (!judgement.vote && isObject(value) && value.action === 'ask') {
    const question = judgement.question === undefined ? {} : { question: judgement.question }
    context.emit({ type: 'assay.interrupt.asked', nodeId, payload: { nodeId, interruptId, by, ...question } })
  }
  return undefined
}

/** What is wrong with an answer that would close the question, for whoever asked it. */
function answerProblems(context: DecisionContext, planNode: PlanNode, asked: Asked, value: Json): string[] {
  if (asked.isBudget) return raiseProblems(context.active, asked, value)
  const node = nodeAt(context.active, planNode.index)
  if (gatingIn(node)) return []
  return [...(planNode.type.answerProblems?.(asked, value) ?? []), ...mergeProblems(node, value)]
}

/** Nobody answered in time: an approval counts as refused, anything else fails its node. Never the other way round. */
export function timeOut(context: DecisionContext, planNode: PlanNode, asked: Asked): void {
  const approval = asked.kind === 'approval' || asked.kind === 'low-confidence'
  close(context, planNode, asked, { value: approval ? { action: 'reject' } : null, by: 'timeout', timedOut: true })
}

function close(
  context: DecisionContext,
  planNode: PlanNode,
  asked: Asked,
  { value, by, timedOut }: Pick<Resolution, 'value' | 'by' | 'timedOut'>,
  shownHash?: string,
): void {
  const nodeId = planNode.node.id
  const { interruptId, kind, data } = asked
  const before = nodeAt(context.active, planNode.index)
  const judged = kind === 'approval' || kind === 'low-confidence'
  const rejected = judged && isObject(value) && value.action === 'reject'
  const masked =
    carriesSecret(value, secretsOf(context.active)) ||
    editsHidden(context, planNode, value) ||
    (asked.rest !== undefined && isObject(value) && value.editedArtifactData !== undefined)
  const payload: InterruptResolved = {
    nodeId,
    interruptId,
    kind,
    resumeValue: masked ? MASK : value,
    resolvedAt: isoTime(context.at),
    resolvedBy: by,
    ...(rejected ? { outcome: 'rejected' } : timedOut ? { outcome: 'timed-out' } : {}),
    ...(timedOut ? { reason: 'timeout' } : {}),
    ...(shownHash === undefined ? {} : { shownHash }),
  }
  const resolved = context.emit({
    type: 'interrupt.resolved',
    nodeId,
    payload,
    ...(masked ? { secret: { resumeValue: value } } : {}),
  })
  const told = masked && isObject(value) ? { action: value.action ?? null } : value
  emitLegacyAnswer(context, nodeId, kind, told, timedOut ? undefined : by, resolved)
  context.emit({ type: 'node.resumed', nodeId, payload: { nodeId, interruptId }, cause: resolved })
  if (timedOut && !rejected) {
    const error = failure('interrupt_timeout', 'nobody answered in time', { retryable: false })
    return failAttempt(context, planNode, error, resolved)
  }
  const resolution = { kind, data, value, by, timedOut }
  // Whoever waits for workers or for a gate may be kept by its budget as well.
  if (before.is === 'waiting' && before.halted?.asked)
    return budgetAnswered(context, planNode, before.halted, resolution, resolved)
  const gating = gatingIn(before)
  if (gating) return gateAnswered(context, planNode, gating, resolution, resolved)
  if (before.is === 'waiting' && before.on === 'workers') return mergeAnswered(context, planNode, before, value)
  if (before.is === 'waiting' && before.on === 'agent') return heldAnswered(context, planNode, resolution, resolved)
  settleNode(context, planNode, { kind: 'interrupt' }, { kind: 'resolved', resolution }, resolved)
}

function emitLegacyAnswer(
  context: DecisionContext,
  nodeId: string,
  kind: Interrupt['kind'],
  value: Json,
  by: string | undefined,
  cause: number,
): void {
  const said = isObject(value) ? value : {}
  if (kind === 'clarification' && by !== undefined) {
    const payload = { nodeId, answers: said.answers ?? {}, answeredBy: by }
    context.emit({ type: 'clarification.resolved', nodeId, payload, cause })
  }
  if (kind !== 'approval') return
  const { feedback, refineFeedback, editedArtifactData } = said
  const payload: ApprovalReceived = {
    nodeId,
    action: by === undefined ? 'timeout' : (said.action as ApprovalReceived['action']),
    ...(by === undefined ? {} : { decidedBy: by }),
    decidedAt: isoTime(context.at),
    ...(feedback === undefined ? {} : { feedback }),
    ...(refineFeedback === undefined ? {} : { refineFeedback }),
    ...(editedArtifactData === undefined ? {} : { editedArtifactData }),
  }
  context.emit({ type: 'approval.received', nodeId, payload, cause })
}
