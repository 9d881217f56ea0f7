import type { RunEvent } from '../run/events.js'

/** An event of another host, as that host knows it. */
export type ForeignEvent = { readonly hostId: string; readonly eventId: string }

/** The run of another host that has started this one, and the hand-off that it was. */
export type ForeignParent = ForeignEvent & {
  readonly runId: string
  readonly cause: 'core.dispatch' | 'core.subWorkflow'
  /** Where that host says what it can, made of what this host is configured with. */
  readonly wellKnownUrl: string
}

/** R-XHOST-4: events that can name the host of their cause, where that is another one. */
export const NAME_A_HOST: readonly RunEvent['type'][] = [
  'core.workflowChain.event',
  'core.workflowChain.confidence-escalated',
  'agent.reasoned',
  'agent.toolCalled',
  'agent.toolReturned',
  'agent.handoff',
  'agent.decided',
  'agent.verified',
  'runOrchestrator.decided',
  'prompt.composed',
  'agent.promptResolved',
]

/** R-XHOST-2: the same event, due to one of another host in place of its cause here. */
export const dueToForeign = ({ hostId, eventId }: ForeignEvent, event: RunEvent): RunEvent => {
  const { cause: _, ...others } = event
  return {
    ...others,
    payload: { ...(event.payload as object), causationHostId: hostId },
    foreignCause: eventId,
  } as RunEvent
}
