import type { JsonObject } from '../json.js'
import type { AgentSaid, Write } from '../workflow/node-type.js'
import type { OrchestratorDecision } from './decision.js'
import type { AgentFact } from '../invocation/events.js'
import { carriesSecret, maskWithin, secretsOf } from '../run/redaction.js'
import type { DecisionContext } from '../run/decision-context.js'

/** R-ORCH-2, R-ORCH-4: a decision is in the log before anything follows from it. */
export function recordDecision(
  context: DecisionContext,
  nodeId: string,
  { agentId, decision, iteration }: Extract<Write, { kind: 'decided' }>,
  cause: number,
): number {
  const shown = shownDecision(context, decision)
  return context.emit({
    type: 'runOrchestrator.decided',
    nodeId,
    payload: { agentId, decision: shown, iteration },
    cause,
    ...(shown === decision ? {} : { secret: { decision } }),
  })
}

/** R-CONF-4: told before anybody is asked about it. */
export function recordDoubt(
  context: DecisionContext,
  nodeId: string,
  { doubt }: Extract<Write, { kind: 'escalated' }>,
  cause: number,
): number {
  const payload = {
    parentRunId: context.runId,
    ...doubt,
    originalDecision: shownDecision(context, doubt.originalDecision),
  }
  return context.emit({ type: 'core.workflowChain.confidence-escalated', nodeId, payload, cause })
}

/** What a decision is made of by itself; only what it says in words can quote a secret. */
const STRUCTURE = new Set(['kind', 'nextWorkerIds', 'confidence'])

function shownDecision(context: DecisionContext, decision: OrchestratorDecision): OrchestratorDecision {
  const secrets = secretsOf(context.active)
  if (!carriesSecret(decision as JsonObject, secrets)) return decision
  const fields = Object.entries(decision as JsonObject).map(([name, value]) => [
    name,
    STRUCTURE.has(name) ? value : maskWithin(value, secrets),
  ])
  return Object.fromEntries(fields) as OrchestratorDecision
}

/** R-EVENT-2, R-EVENT-6: a tool's return is due to its call and carries its id; no secret of the run is told. */
export function recordAgentEvent(
  context: DecisionContext,
  nodeId: string,
  { type, payload }: AgentSaid,
  cause: number,
): number {
  const told = maskWithin(payload as JsonObject, secretsOf(context.active)) as JsonObject
  const tell = (callId: string | undefined, due: number): number =>
    context.emit({
      type,
      nodeId,
      payload: callId === undefined ? told : { ...told, callId },
      cause: due,
    } as unknown as AgentFact)
  if (type === 'agent.toolReturned') return tell(`call-${context.active.next - 1}`, context.active.next - 1)
  return tell(type === 'agent.toolCalled' ? `call-${context.active.next}` : undefined, cause)
}
