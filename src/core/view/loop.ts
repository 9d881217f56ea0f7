import { isObject, type JsonObject } from '../json.js'
import { MASK } from '../run/redaction.js'
import type { KnownEvent, KnownOf } from './public-event.js'
import type { LoopView, ViewDraft } from './run-view.js'

/** The orchestrator's loop: whose it is, how many turns it has taken, and what is carried out. */

export function foldLoop(draft: ViewDraft, event: KnownEvent): void {
  const { nodeId } = event
  if (nodeId === undefined) return
  if (event.type === 'runOrchestrator.decided') {
    const { agentId = '', iteration = 0, decision } = event.payload
    const told = isObject(decision) ? { decision: decision as JsonObject } : {}
    draft.loop = { nodeId, agentId, iteration, ...told, isAnswered: false }
  } else if (draft.loop?.nodeId === nodeId) draft.loop = answered(draft.loop, event)
}

function answered(loop: LoopView, event: KnownEvent): LoopView {
  if (event.type === 'interrupt.resolved') return { ...loop, isAnswered: true }
  return event.type === 'node.completed' ? carriedOut(loop, event) : loop
}

/** What is carried out may be what a person made of the decision. */
function carriedOut(loop: LoopView, { payload }: KnownOf<'node.completed'>): LoopView {
  const decision = payload.outputs?.decision
  if (isObject(decision)) return { ...loop, decision }
  if (decision !== MASK || !loop.isAnswered) return loop
  const { decision: _, ...others } = loop
  return others
}
