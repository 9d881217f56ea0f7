import type { Json, JsonObject } from '../json.js'
import type { AgentSaid, Write } from '../node-type.js'
import type { AgentFact } from './event.js'
import { maskWithin, secretsOf } from './masking.js'
import type { Turn } from './turn.js'

/** R-ORCH-2, R-ORCH-4: a decision is in the log before anything follows from it. */
export function tellDecision(
  turn: Turn,
  nodeId: string,
  { agentId, decision, iteration }: Extract<Write, { kind: 'decided' }>,
  cause: number,
): number {
  const shown = masked(turn, decision as JsonObject) as typeof decision
  return turn.emit({
    type: 'runOrchestrator.decided',
    nodeId,
    payload: { agentId, decision: shown, iteration },
    cause,
    ...(shown === decision ? {} : { secret: { decision } }),
  })
}

/** R-EVENT-2, R-EVENT-6: a tool's return is due to its call and carries its id; no secret of the run is told. */
export function tellOfAgent(turn: Turn, nodeId: string, { type, payload }: AgentSaid, cause: number): number {
  const told = masked(turn, payload as JsonObject) as JsonObject
  const tell = (callId: string | undefined, due: number): number =>
    turn.emit({
      type,
      nodeId,
      payload: callId === undefined ? told : { ...told, callId },
      cause: due,
    } as unknown as AgentFact)
  if (type === 'agent.toolReturned') return tell(`call-${turn.active.next - 1}`, turn.active.next - 1)
  return tell(type === 'agent.toolCalled' ? `call-${turn.active.next}` : undefined, cause)
}

const masked = (turn: Turn, value: Json): Json => maskWithin(value, secretsOf(turn.active))
