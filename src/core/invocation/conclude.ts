import { ask } from '../interrupt/ask.js'
import type { Interrupt, Resolution } from '../interrupt/interrupt.js'
import { writeEntry } from '../journal/decide.js'
import type { Json } from '../json.js'
import { present } from '../present.js'
import type { DecisionContext } from '../run/decision-context.js'
import { failAttempt, settleNode, valueTooLarge } from '../run/node-lifecycle.js'
import { MASK } from '../run/redaction.js'
import type { Active } from '../run/state.js'
import { isTooLarge } from '../run/value-size.js'
import type { OnAgent, OnGate } from '../run/waiting.js'
import { recordAgentEvent } from '../supervisor/decide.js'
import { DEFAULT_THRESHOLD } from '../supervisor/decision.js'
import { ratification, tellOpinion } from '../supervisor/hold.js'
import { blockingGatesAt, isGatedNode, isResultSensitive } from '../verification/attempt.js'
import { notApproved } from '../workflow/nodes/interrupt.js'
import type { PlanNode } from '../workflow/plan.js'
import type { Brief } from './brief.js'
import { closeInvocation, stillWorking } from './lifecycle.js'

/** What the agent has come to; held for a person when it is not sure enough (R-LIVE-13, R-LIVE-14). */
export function decided(
  context: DecisionContext,
  planNode: PlanNode,
  result: Json,
  confidence: number | undefined,
  cause: number,
): void {
  const node = stillWorking(context, planNode)
  const { brief } = node.invocation
  if (isTooLarge(result))
    return failAttempt(context, planNode, valueTooLarge(`the result of agent "${brief.agentId}"`), cause)
  const isSensitive = isResultSensitive(context.active, planNode.node)
  const isUnseen = isSensitive || isForFew(context.active, planNode, node)
  const opinion = {
    agentId: brief.agentId,
    decision: isUnseen ? MASK : result,
    ...(confidence === undefined ? {} : { confidence }),
  }
  const { event } = tellOpinion(opinion) as Extract<ReturnType<typeof tellOpinion>, { kind: 'agent' }>
  const said = recordAgentEvent(context, planNode.node.id, event, cause, isUnseen ? { decision: result } : undefined)
  const threshold = thresholdOf(context.active, brief)
  // An orchestrator's doubt has a floor of its own; a verifier's is the gate's to judge, and must not hold its vote back.
  if (node.wait.role === 'worker' && confidence !== undefined && confidence < threshold) {
    const { timeoutMs } = planNode.node.config
    const interrupt: Interrupt = {
      kind: 'low-confidence',
      data: { agentId: brief.agentId, threshold, observed: confidence, decision: result },
      ...(isSensitive ? { masked: ['decision'] } : isUnseen ? { withheld: ['decision'] } : {}),
      ...(typeof timeoutMs === 'number' ? { timeoutMs } : {}),
    }
    return ask(context, planNode, interrupt, said)
  }
  finish(context, planNode, result, confidence, said)
}

/**
 * R-SEC-1: a vote, and a result that a blocking gate has not let pass, are for whoever may read artifacts. What does pass
 * is told with the node's completion. So nobody who goes by the log, a supervisor with its transcript least of all, goes
 * by what was rejected.
 */
const isForFew = (state: Active, { node: { id } }: PlanNode, { wait }: OnAgent): boolean =>
  wait.role === 'verifier' || blockingGatesAt(state, id, { point: 'node' }).length > 0

/** R-LOWC-4: the run's own, then the agent's, then the usual one. */
const thresholdOf = ({ started }: Active, brief: Brief): number => {
  const ofRun = started.configurable?.escalationThreshold
  return typeof ofRun === 'number' ? ofRun : (brief.threshold ?? DEFAULT_THRESHOLD)
}

/** A person has said whether what an agent was not sure of may stand. */
export function heldAnswered(
  context: DecisionContext,
  planNode: PlanNode,
  resolution: Resolution,
  cause: number,
): void {
  const { value, data, timedOut, by } = resolution
  const kept = ratification(value, data.decision ?? null)
  if (kept === undefined) {
    closeInvocation(context, planNode, 'escalated', cause)
    const step = notApproved(timedOut, by)
    if (step.kind === 'failed') failAttempt(context, planNode, step.error, cause)
    return
  }
  const edited = typeof value === 'object' && value !== null && 'action' in value && value.action === 'edit-accept'
  const result = edited
    ? ((value as { editedArtifactData?: Json }).editedArtifactData ?? null)
    : (data.decision ?? null)
  finish(context, planNode, result, Number(data.observed), cause, edited)
}

/** R-VERIFY-10: where a gate stands before the node, the result waits for it; the bracket stays open (§29 A14). */
function finish(
  context: DecisionContext,
  planNode: PlanNode,
  result: Json,
  confidence: number | undefined,
  cause: number,
  edited = false,
): void {
  const nodeId = planNode.node.id
  const node = stillWorking(context, planNode)
  if (!isGatedNode(context.active, nodeId))
    return concludeWith(context, planNode, node, { result, confidence, cause, edited })
  const sequence = present(node.decided, `decision of the agent in node "${nodeId}"`)
  context.emit({
    type: 'assay.result.staged',
    nodeId,
    payload: { nodeId, point: 'node', targetRef: `${context.runId}:${sequence}` },
    secret: {
      result,
      ...(confidence === undefined ? {} : { confidence }),
      ...(edited ? { edited } : {}),
      subject: sequence,
    },
    cause,
  })
}

/** What an agent has come to. */
type Conclusion = {
  readonly result: Json
  readonly confidence: number | undefined
  readonly cause: number
  readonly edited: boolean
}

/** The invocation is closed, and the node has its result. */
export function concludeWith(
  context: DecisionContext,
  planNode: PlanNode,
  { wait, invocation }: OnAgent | Extract<OnGate, { point: 'node' }>,
  { result, confidence, cause, edited }: Conclusion,
): void {
  const { brief } = present(invocation, `open invocation in node "${planNode.node.id}"`)
  // A conversation remembers what the agent said, and not what a person put in its place.
  if (invocation?.exchange && !edited) writeEntry(context, planNode, invocation.exchange, cause, brief.agentId)
  const closed = closeInvocation(context, planNode, 'completed', cause, {
    // R-LIVE-11: what a person wrote in its place was not held to the schema.
    ...(brief.checksResult && !edited ? { schemaValidated: true } : {}),
    ...(confidence === undefined ? {} : { confidence }),
  })
  const told = { kind: 'agent' as const, agentId: brief.agentId, result }
  settleNode(context, planNode, wait, confidence === undefined ? told : { ...told, confidence }, closed ?? cause)
}
