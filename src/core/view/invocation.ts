import type { KnownEvent, KnownOf } from './public-event.js'
import { type InvocationView, nodeOf, type ViewDraft } from './run-view.js'

/** An agent at work in a node: who, with which model, and how far. */

export function foldInvocation({ nodes }: ViewDraft, event: KnownEvent): void {
  const { nodeId } = event
  if (nodeId === undefined) return
  const before = nodeOf({ nodes }, nodeId)
  if (event.type === 'agent.invocation.started') {
    const { isUncertain: _, ...node } = before
    nodes.set(nodeId, { ...node, invocation: begun(event) })
    return
  }
  if (before.invocation === undefined) return
  if (event.type === 'agent.invocation.completed') {
    const { invocation: _, asked, ...others } = before
    // Whoever was asked about the agent's doubt has nothing to answer any more.
    nodes.set(nodeId, asked === undefined || asked.kind === 'low-confidence' ? others : { ...others, asked })
    return
  }
  const after = stepped(before.invocation, event)
  if (after !== before.invocation) nodes.set(nodeId, { ...before, invocation: after })
}

function begun({ payload }: KnownOf<'agent.invocation.started'>): InvocationView {
  const { invocationId = '', agentId = '', resolvedProvider = '', resolvedModel = '' } = payload
  return {
    invocationId,
    agentId,
    provider: resolvedProvider,
    model: resolvedModel,
    phase: 'between',
    modelCalls: 0,
  }
}

function stepped(before: InvocationView, event: KnownEvent): InvocationView {
  switch (event.type) {
    case 'assay.model.requested':
      return { ...before, phase: 'thinking', modelCalls: event.payload.call ?? before.modelCalls + 1 }
    case 'assay.model.lost':
      // The same call is made again: its number is not used up.
      return { ...before, phase: 'between', modelCalls: before.modelCalls - 1 }
    case 'agent.toolCalled':
      return { ...before, phase: 'using-tool' }
    case 'provider.usage':
    case 'envelope.retry.attempted':
    case 'agent.toolReturned':
      return { ...before, phase: 'between' }
    default:
      return before
  }
}
