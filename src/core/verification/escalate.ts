import { ask } from '../interrupt/ask.js'
import type { Interrupt, Resolution } from '../interrupt/interrupt.js'
import { isObject, type Json, type JsonObject } from '../json.js'
import type { DecisionContext } from '../run/decision-context.js'
import { nodeAt } from '../run/state.js'
import { gatingIn } from '../run/waiting.js'
import type { PlanNode } from '../workflow/plan.js'
import { attemptsOf, shownResult, slotOf, subjectOf, usedOf } from './attempt.js'
import { previousOf } from './feedback.js'
import { GATE_QUESTION } from './record.js'
import { settleTrial } from './release.js'
import { canRework, maySendBack, rejectResult, requestRework } from './rework.js'
import { boundGateAt, type VerificationAttempt } from './state.js'
import { judgedIn, passLabel, tallyVotes, wholeOf } from './tally.js'
import { uncheckedIn } from './unchecked.js'
import { tellVerdict } from './verdict.js'

/** Why a person is asked: nobody could judge, the attempts are used up, or a pass alone is not enough. */
export type EscalationReason = 'unsettled' | 'exhausted' | 'unlicensed' | 'unsure' | 'unseen' | 'unchecked'

const TITLES: { readonly [Reason in EscalationReason]: string } = {
  unsettled: 'Nobody could judge this result. Merge it all the same?',
  exhausted: 'This result has not passed its gate. Merge it all the same?',
  unlicensed: 'This result has passed. Its verifiers have no licence yet: merge it?',
  unsure: 'This result has passed, and its verifiers are not sure. Merge it?',
  unseen: 'This result has passed, and holds what its verifiers could not see. Merge it?',
  unchecked: 'Not all that this result is held to could be checked. Merge it all the same?',
}

/** R-DWS-36, R-SEC-1, `on_fail: escalate`, `auto_commit: licensed`: fail closed, and say what it is about. */
export function requestApproval(
  context: DecisionContext,
  planNode: PlanNode,
  reason: EscalationReason,
  /** The record of what could not be checked, where there is no verdict. */
  record: { readonly resultArtifactId?: string } = {},
): void {
  const node = nodeAt(context.active, planNode.index)
  const subject = subjectOf(node)
  const gating = gatingIn(node)
  if (!gating || !subject) return
  if (subject.point === 'none') return settleTrial(context, planNode)
  const bound = boundGateAt(context.active, gating.gate)
  const { gate } = bound
  const { max_attempts, answer_timeout_ms, approvers, required_approvals, second_person } = gate.gate_behaviour
  const { principal: starter } = context.active.started.owner
  const nodeId = planNode.node.id
  // The one in question may be among them.
  const made = attemptsOf(context.active, slotOf(gate.gate_id, nodeId, subject)).slice(0, gating.attempt - 1)
  const mayRefine =
    usedOf(made) < max_attempts && canRework(context.plan, nodeId, gate, subject) && maySendBack(context, gate, subject)
  const found = tallyVotes(bound, gating)
  const findings = typeof found === 'string' ? [] : wholeOf(bound, gating, found).findings
  const unchecked = uncheckedIn(gate, gating)
  const data = {
    artifactId: gating.target,
    artifactType: GATE_QUESTION,
    title: TITLES[reason],
    artifactData: shownResult(context.active, planNode, subject),
    gateId: gate.gate_id,
    attempt: gating.attempt,
    reason,
    ...record,
    findings: findings as unknown as Json,
    ...(unchecked.length === 0 ? {} : { unchecked: unchecked as unknown as Json }),
    actions: ['accept', 'reject', ...(mayRefine ? ['refine'] : [])],
    ...(approvers === undefined ? {} : { approversList: approvers }),
    ...(required_approvals === undefined ? {} : { requiredApprovals: required_approvals }),
    ...(second_person && starter !== undefined ? { mayNotAccept: [starter] } : {}),
  } as JsonObject
  const interrupt: Interrupt = {
    kind: 'approval',
    data,
    withheld: ['artifactData', 'findings'],
    ...(answer_timeout_ms === undefined ? {} : { timeoutMs: answer_timeout_ms }),
  }
  ask(context, planNode, interrupt, context.active.next - 1)
}

/** Nobody answered in time, so nobody's word stands in the place of the verifiers'. */
const NO_ANSWER = { keys: ['no-answer'], isHosts: true as const }

/** A person has said what becomes of a result. Who it was comes from their credential. */
export function gateAnswered(
  context: DecisionContext,
  planNode: PlanNode,
  gating: VerificationAttempt,
  { value, data, by, timedOut }: Resolution,
  cause: number,
): void {
  const said = isObject(value) ? value : {}
  const why = said.feedback ?? said.refineFeedback
  const reason = data.reason as EscalationReason
  const person = { asked: reason, ...(timedOut ? {} : { by, ...(why === undefined ? {} : { why }) }) }
  const bound = boundGateAt(context.active, gating.gate)
  const found = tallyVotes(bound, gating)
  if (said.action === 'accept') return accepted(context, planNode, gating, reason, person)
  const override = timedOut
    ? { ...NO_ANSWER, asked: reason }
    : { ...person, keys: ['human-override'], isOverride: true as const }
  const subject = subjectOf(nodeAt(context.active, planNode.index))
  if (said.action === 'refine' && subject && maySendBack(context, bound.gate, subject)) {
    tellVerdict(context, planNode, gating, 'revise', override)
    const feedback = {
      gateId: bound.gate.gate_id,
      attempt: gating.attempt,
      dimensions: judgedIn(gating),
      findings: [],
      previous: previousOf(shownResult(context.active, planNode, subject), subject),
      ...(why === undefined ? {} : { note: why }),
    }
    return requestRework(context, planNode, feedback, cause)
  }
  // The verifiers have said so already. Where the run's bound was reached meanwhile, it is the host's word.
  const word = said.action === 'refine' ? { isHosts: true as const } : override
  if (reason !== 'exhausted') tellVerdict(context, planNode, gating, 'fail', word)
  const failed = typeof found === 'string' || found.verdict !== 'fail' ? judgedIn(gating) : found.failed
  rejectResult(context, planNode, failed, cause)
}

/**
 * A person lets a result pass: in the verifiers' place, or after them. What they have passed in full stays verified; what
 * they could not see all of is the person's word.
 */
function accepted(
  context: DecisionContext,
  planNode: PlanNode,
  gating: VerificationAttempt,
  reason: EscalationReason,
  person: { readonly by?: string; readonly why?: Json },
): void {
  const bound = boundGateAt(context.active, gating.gate)
  const found = tallyVotes(bound, gating)
  const isOverride = reason === 'unsettled' || reason === 'unchecked' || reason === 'exhausted'
  const isConfirmed = !isOverride && reason !== 'unseen' && typeof found !== 'string'
  const label = isConfirmed ? passLabel(bound.gate, gating, wholeOf(bound, gating, found)) : 'accepted'
  const keys = [isOverride ? 'human-override' : isConfirmed ? 'human-confirmed' : 'human-accepted']
  tellVerdict(context, planNode, gating, 'pass', { ...person, keys, label, ...(isOverride ? { isOverride } : {}) })
}
