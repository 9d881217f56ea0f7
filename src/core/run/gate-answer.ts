import type { Interrupt, Resolution } from '../interrupt.js'
import { isObject, type Json, type JsonObject } from '../json.js'
import { ask } from './ask.js'
import { attemptsOf, shownResult, slotOf, subjectOf, usedOf } from './gating.js'
import type { PlanNode } from './plan.js'
import { tellVerdict } from './render.js'
import { canRework, sendBack, withhold } from './rework.js'
import { settleTrial } from './merge-point.js'
import { standingOf } from './verify.js'
import type { Gating, NodeState } from './state.js'
import type { Turn } from './turn.js'

/** Why a person is asked: nobody could judge, the attempts are used up, or a pass alone is not enough. */
export type Doubt = 'unsettled' | 'exhausted' | 'unlicensed' | 'unsure' | 'unseen'

const TITLES: { readonly [Reason in Doubt]: string } = {
  unsettled: 'Nobody could judge this result. Merge it all the same?',
  exhausted: 'This result has not passed its gate. Merge it all the same?',
  unlicensed: 'This result has passed. Its verifiers have no licence yet: merge it?',
  unsure: 'This result has passed, and its verifiers are not sure. Merge it?',
  unseen: 'This result has passed, and holds what its verifiers could not see. Merge it?',
}

/** R-DWS-36, `on_fail: escalate`, `auto_commit: licensed`: fail closed, and say what it is about. */
export function askWhatToDo(turn: Turn, planNode: PlanNode, reason: Doubt): void {
  const node = turn.active.nodes[planNode.index]!
  const subject = subjectOf(node)
  if (node.is !== 'waiting' || !node.gating || !subject) return
  if (subject.point === 'none') return settleTrial(turn, planNode)
  const { gating } = node
  const { gate } = turn.active.gates![gating.gate]!
  const { max_attempts, answer_timeout_ms } = gate.gate_behaviour
  const nodeId = planNode.node.id
  // The one in question may be among them.
  const made = attemptsOf(turn.active, slotOf(gate.gate_id, nodeId, subject)).slice(0, gating.attempt - 1)
  const mayRefine = usedOf(made) < max_attempts && canRework(turn.plan, nodeId, gate, subject)
  const found = standingOf(turn.active.gates![gating.gate]!, gating)
  const findings = typeof found === 'string' ? [] : found.findings
  const data = {
    artifactId: gating.target,
    artifactType: 'verification',
    title: TITLES[reason],
    artifactData: shownResult(turn.active, planNode, subject),
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
  ask(turn, planNode, interrupt, turn.active.next - 1)
}

/** Nobody answered in time, so nobody's word stands in the place of the verifiers'. */
const NO_ANSWER = { keys: ['no-answer'], isHosts: true as const }

/** The gate that a person is asked about, if it is one. */
export const gatingIn = (node: NodeState): Gating | undefined => (node.is === 'waiting' ? node.gating : undefined)

/** A person has said what becomes of a result. Who it was comes from their credential. */
export function gateAnswered(
  turn: Turn,
  planNode: PlanNode,
  gating: Gating,
  { value, data, by, timedOut }: Resolution,
  cause: number,
): void {
  const said = isObject(value) ? value : {}
  const why = said.feedback ?? said.refineFeedback
  const reason = data.reason as Doubt
  const person = timedOut ? {} : { by, ...(why === undefined ? {} : { why }) }
  if (said.action === 'accept') {
    const isOverride = reason === 'unsettled' || reason === 'exhausted'
    const keys = [isOverride ? 'human-override' : 'human-confirmed']
    tellVerdict(turn, planNode, gating, 'pass', { ...person, keys, ...(isOverride ? { isOverride } : {}) })
    return
  }
  const override = timedOut ? NO_ANSWER : { ...person, keys: ['human-override'], isOverride: true as const }
  if (said.action === 'refine') {
    tellVerdict(turn, planNode, gating, 'revise', override)
    const { gate } = turn.active.gates![gating.gate]!
    const note = why === undefined ? {} : { note: why }
    const feedback = {
      gateId: gate.gate_id,
      attempt: gating.attempt,
      dimensions: gating.dimensions,
      findings: [],
      ...note,
    }
    return sendBack(turn, planNode, feedback, cause)
  }
  // The verifiers have said so already.
  if (reason !== 'exhausted') tellVerdict(turn, planNode, gating, 'fail', override)
  const found = standingOf(turn.active.gates![gating.gate]!, gating)
  const failed = typeof found === 'string' || found.verdict !== 'fail' ? gating.dimensions : found.failed
  withhold(turn, planNode, failed, cause)
}
