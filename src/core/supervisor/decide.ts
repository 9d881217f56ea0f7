/**
 * The orchestrator's loop: turns of one decision each, and what was made of them. The rules of a turn are the node
 * type's (`workflow/nodes/supervisor.ts`); here its decision, its doubt and what its agents did are told, without
 * secrets. `orchestrator` of the state holds all that the next turn goes by:
 *
 * | turn        | entered by                           | left by, to                                                  |
 * |-------------|--------------------------------------|--------------------------------------------------------------|
 * | not begun   | run.started                          | node.started of the supervisor: to deciding                  |
 * | deciding    | node.started of the supervisor       | by rules or script: at once; by a provider: EffectAnswered   |
 * |             |                                      | by an agent: its result (`invocation/decide.ts`)             |
 * | decided     | runOrchestrator.decided              | next-worker: to owed; terminate: to done                     |
 * |             |                                      | clarify, ask-user, escalate, or below the floor: to asking   |
 * | asking      | interrupt.requested                  | interrupt.resolved, which is the `answer`: to again, owed or |
 * |             |                                      | done                                                         |
 * | owed        | its node.completed, route body       | node.started of the dispatch: to handed over                 |
 * | handed over | node.started of the dispatch         | its node.completed, which has the `workers`: to deciding     |
 * | again       | its node.completed, route again      | node.started of the supervisor: to deciding                  |
 * | done        | its node.completed, route done       | assay.rework.began at the run's exit, if it is the phase: to |
 * |             |                                      | deciding                                                     |
 *
 *  I1  A decision is in the log before anything follows from it, and what follows names it as its cause.
 *  I2  One decision a turn, turns numbered from 1; a person's answer about a decision opens no new turn.
 *  I3  A run has one orchestrator: whoever decided first decides always.
 *  I4  The bound on turns is checked before the turn it forbids (`run/limits.ts`). Work that is sent back counts as a
 *      turn.
 *  I5  A decision that names workers is handed over once: a turn that finds one `owed` fails, and so does a dispatch
 *      that finds none.
 *  I6  Below the floor a person looks first; what a person has let pass is not doubted again.
 *  I7  What a gate has not passed is not called a success (`claims.ts`): refused once, with a turn to do better, then
 *      the node fails.
 */

import type { AgentFact } from '../invocation/events.js'
import type { Json, JsonObject } from '../json.js'
import type { DecisionContext } from '../run/decision-context.js'
import { carriesSecret, maskWithin, secretsOf } from '../run/redaction.js'
import type { AgentSaid, Write } from '../workflow/node-type.js'
import type { OrchestratorDecision } from './decision.js'

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
  secret?: { readonly decision: Json },
): number {
  const told = maskWithin(payload as JsonObject, secretsOf(context.active)) as JsonObject
  const tell = (callId: string | undefined, due: number): number =>
    context.emit({
      type,
      nodeId,
      payload: callId === undefined ? told : { ...told, callId },
      cause: due,
      ...(secret ? { secret } : {}),
    } as unknown as AgentFact)
  if (type === 'agent.toolReturned') return tell(`call-${context.active.next - 1}`, context.active.next - 1)
  return tell(type === 'agent.toolCalled' ? `call-${context.active.next}` : undefined, cause)
}
