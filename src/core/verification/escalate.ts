import type { Interrupt } from '../interrupt/interrupt.js'
import type { Json, JsonObject } from '../json.js'
import { ask } from '../interrupt/ask.js'
import { tallyVotes } from './tally.js'
import { attemptsOf, shownResult, slotOf, subjectOf, usedOf } from './attempt.js'
import { settleTrial } from './release.js'
import type { PlanNode } from '../workflow/plan.js'
import { canRework } from './rework.js'
import { boundGateAt, nodeAt } from '../run/state.js'
import type { DecisionContext } from '../run/decision-context.js'
import { gatingIn } from '../run/waiting.js'

/** Why a person is asked: nobody could judge, the attempts are used up, or a pass alone is not enough. */
export type EscalationReason = 'unsettled' | 'exhausted' | 'unlicensed' | 'unsure' | 'unseen'

const TITLES: { readonly [Reason in EscalationReason]: string } = {
  unsettled: 'Nobody could judge this result. Merge it all the same?',
  exhausted: 'This result has not passed its gate. Merge it all the same?',
  unlicensed: 'This result has passed. Its verifiers have no licence yet: merge it?',
  unsure: 'This result has passed, and its verifiers are not sure. Merge it?',
  unseen: 'This result has passed, and holds what its verifiers could not see. Merge it?',
}

/** R-DWS-36, `on_fail: escalate`, `auto_commit: licensed`: fail closed, and say what it is about. */
export function requestApproval(context: DecisionContext, planNode: PlanNode, reason: EscalationReason): void {
  const node = nodeAt(context.active, planNode.index)
  const subject = subjectOf(node)
  const gating = gatingIn(node)
  if (!gating || !subject) return
  if (subject.point === 'none') return settleTrial(context, planNode)
  const bound = boundGateAt(context.active, gating.gate)
  const { gate } = bound
  const { max_attempts, answer_timeout_ms } = gate.gate_behaviour
  const nodeId = planNode.node.id
  // The one in question may be among them.
  const made = attemptsOf(context.active, slotOf(gate.gate_id, nodeId, subject)).slice(0, gating.attempt - 1)
  const mayRefine = usedOf(made) < max_attempts && canRework(context.plan, nodeId, gate, subject)
  const found = tallyVotes(bound, gating)
  const findings = typeof found === 'string' ? [] : found.findings
  const data = {
    artifactId: gating.target,
    artifactType: 'verification',
    title: TITLES[reason],
    artifactData: shownResult(context.active, planNode, subject),
    gateId: gate.gate_id,
    attempt: gating.attempt,
    reason,
    findings: findings as unknown as Json,
    actions: ['accept', 'reject', ...(mayRefine ? ['refine'] : [])],
  } as JsonObject
  const interrupt: Interrupt = {
    kind: 'approval',
    data,
    ...(answer_timeout_ms === undefined ? {} : { timeoutMs: answer_timeout_ms }),
  }
  ask(context, planNode, interrupt, context.active.next - 1)
}
