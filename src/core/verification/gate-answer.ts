import type { Resolution } from '../interrupt/interrupt.js'
import { isObject } from '../json.js'
import { tallyVotes } from './tally.js'
import type { EscalationReason } from './escalate.js'
import type { PlanNode } from '../workflow/plan.js'
import { requestRework, rejectResult } from './rework.js'
import { boundGateAt, type VerificationAttempt } from '../run/state.js'
import type { DecisionContext } from '../run/decision-context.js'
import { tellVerdict } from './verdict.js'

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
  const person = timedOut ? {} : { by, ...(why === undefined ? {} : { why }) }
  if (said.action === 'accept') {
    const isOverride = reason === 'unsettled' || reason === 'exhausted'
    const keys = [isOverride ? 'human-override' : 'human-confirmed']
    tellVerdict(context, planNode, gating, 'pass', { ...person, keys, ...(isOverride ? { isOverride } : {}) })
    return
  }
  const override = timedOut ? NO_ANSWER : { ...person, keys: ['human-override'], isOverride: true as const }
  if (said.action === 'refine') {
    tellVerdict(context, planNode, gating, 'revise', override)
    const { gate } = boundGateAt(context.active, gating.gate)
    const note = why === undefined ? {} : { note: why }
    const feedback = {
      gateId: gate.gate_id,
      attempt: gating.attempt,
      dimensions: gating.dimensions,
      findings: [],
      ...note,
    }
    return requestRework(context, planNode, feedback, cause)
  }
  // The verifiers have said so already.
  if (reason !== 'exhausted') tellVerdict(context, planNode, gating, 'fail', override)
  const found = tallyVotes(boundGateAt(context.active, gating.gate), gating)
  const failed = typeof found === 'string' || found.verdict !== 'fail' ? gating.dimensions : found.failed
  rejectResult(context, planNode, failed, cause)
}
