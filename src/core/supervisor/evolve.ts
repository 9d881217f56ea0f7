import { resultsOf } from '../handoff/evolve.js'
import { isObject, type Json, type JsonObject } from '../json.js'
import type { Recorded } from '../run/events.js'
import type { Active } from '../run/state.js'
import type { PlanNode } from '../workflow/plan.js'
import type { OrchestratorDecision } from './decision.js'
import type { Orchestrator } from './state.js'

/** Folds an event of the supervisor or of a dispatch into the record of the loop; `state` is as it was before. */
export function evolveOrchestrator(
  { index, type, supervised }: PlanNode,
  { orchestrator, nodes }: Active,
  event: Recorded,
): Orchestrator | undefined {
  if (event.type === 'runOrchestrator.decided') {
    const { agentId, decision, iteration } = event.payload
    const told = event.secret?.decision ?? decision
    const workers = orchestrator?.workers ?? []
    const { refusals } = orchestrator ?? {}
    const again = refusals === undefined ? {} : { refusals }
    return { agentId, iteration, decided: event.sequence, decision: told, owed: false, workers, ...again }
  }
  if (orchestrator === undefined) return undefined
  if (type.role === 'supervisor') return ofSupervisor(orchestrator, event)
  if (event.type === 'node.started' && supervised) return { ...orchestrator, owed: false }
  const before = nodes[index]
  if (event.type !== 'node.completed' || before?.is !== 'waiting') return orchestrator
  return { ...orchestrator, workers: before.on === 'workers' ? resultsOf(before) : [] }
}

/** What is carried out may be what a person made of the decision; what they answer is an input of the next turn. */
function ofSupervisor(orchestrator: Orchestrator, event: Recorded): Orchestrator {
  if (event.type === 'interrupt.resolved')
    return { ...orchestrator, answer: event.secret ? event.secret.resumeValue : event.payload.resumeValue }
  // The work came back from the exit of the workflow: the next turn goes by what was found.
  if (event.type === 'assay.rework.began' && event.secret)
    return { ...orchestrator, answer: { verificationFeedback: event.secret.feedback as unknown as Json } }
  if (event.type !== 'node.completed') return orchestrator
  const { decision, route, refused }: JsonObject = event.secret?.outputs ?? event.payload.outputs
  if (!isObject(decision)) return orchestrator
  const after = { ...orchestrator, decision: decision as OrchestratorDecision & JsonObject, owed: route === 'body' }
  if (refused !== undefined) return { ...after, answer: { refused }, refusals: (orchestrator.refusals ?? 0) + 1 }
  const { refusals: _, ...accepted } = after
  return accepted
}
