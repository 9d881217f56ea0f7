import { asKnown, type KnownEvent, type PublicEvent } from './public-event.js'
import type { Activity, ActivityEntry } from './run-view.js'

/**
 * What someone who follows a run is told line by line: decisions, hand-offs, calls of models and tools, attempts at
 * gates, what is written for later, doubts and breaches. What takes its time is one entry that grows until it ends.
 */

/** More than one decision can open at once, so that no open hand-off is forgotten. */
const KEPT = 200

export function foldActivity(activity: Activity, event: PublicEvent): Activity {
  const known = asKnown(event)
  if (known.type === 'core.workflowChain.event' && known.payload.phase !== 'dispatch.began')
    return handedOn(activity, event, known.payload)
  const call = callIn(known)
  if (call?.is === 'begun') return added(activity, { is: 'open', events: [event], key: call.key })
  if (call !== undefined) return ended(activity, event, call)
  const is = markOf(known)
  return is === undefined ? activity : added(activity, { is, events: [event] })
}

const added = ({ entries, count }: Activity, entry: ActivityEntry): Activity => ({
  entries: [...(entries.length < KEPT ? entries : entries.slice(1 - KEPT)), entry],
  count: count + 1,
})

/** The next step of a hand-off names an earlier one as its cause. */
function handedOn(
  activity: Activity,
  event: PublicEvent,
  { phase, childRunId }: { readonly phase?: string; readonly childRunId?: string },
): Activity {
  const { causationId } = event
  if (causationId === undefined) return activity
  return replaced(
    activity,
    ({ events }) => events.some(({ eventId }) => eventId === causationId),
    entry => ({
      ...entry,
      is: STEPS[phase ?? ''] ?? entry.is,
      events: [...entry.events, event],
      ...(childRunId !== undefined && { childRunId }),
    }),
  )
}

const STEPS: { readonly [phase: string]: ActivityEntry['is'] } = {
  'dispatch.succeeded': 'open',
  'dispatch.failed': 'failed',
  'child.completed': 'completed',
  'child.failed': 'failed',
  'child.cancelled': 'cancelled',
}

type Call =
  | { readonly is: 'begun'; readonly key: string }
  | { readonly is: 'ended'; readonly key: string; readonly well: boolean }

/** Calls of models and tools, and attempts at gates; one node makes one call at a time. */
function callIn(event: KnownEvent): Call | undefined {
  const model = `model of ${event.nodeId}`
  switch (event.type) {
    case 'assay.model.requested':
      return { is: 'begun', key: model }
    case 'provider.usage':
      return { is: 'ended', key: model, well: true }
    case 'assay.model.lost':
    case 'agent.invocation.completed':
      // A call that the provider turned away tells of no usage.
      return { is: 'ended', key: model, well: false }
    case 'agent.toolCalled':
      return { is: 'begun', key: `tool call ${event.payload.callId}` }
    case 'agent.toolReturned':
      return { is: 'ended', key: `tool call ${event.payload.callId}`, well: event.payload.status === 'ok' }
    case 'dws.verification.started':
      return { is: 'begun', key: attemptKey(event.payload) }
    case 'dws.verification.verdict_rendered':
      return { is: 'ended', key: attemptKey(event.payload), well: event.payload.dwsVerdict !== 'fail' }
    default:
      return undefined
  }
}

type Attempt = { readonly gateId?: string; readonly attempt?: number; readonly resultHash?: string }

const attemptKey = ({ gateId, attempt, resultHash }: Attempt): string => `gate ${gateId} ${attempt} ${resultHash}`

const ended = (activity: Activity, event: PublicEvent, { key, well }: Extract<Call, { is: 'ended' }>): Activity =>
  replaced(
    activity,
    entry => entry.key === key,
    ({ events }) => ({ is: well ? 'completed' : 'failed', events: [...events, event] }),
  )

function replaced(
  activity: Activity,
  isMeant: (entry: ActivityEntry) => boolean,
  change: (entry: ActivityEntry) => ActivityEntry,
): Activity {
  const { entries } = activity
  if (!entries.some(isMeant)) return activity
  return { ...activity, entries: entries.map(entry => (isMeant(entry) ? change(entry) : entry)) }
}

const DECISIONS: readonly unknown[] = ['next-worker', 'terminate', 'clarify', 'escalate', 'ask-user']

/** How an entry of its own is marked; undefined for what has none. */
function markOf(event: KnownEvent): ActivityEntry['is'] | undefined {
  switch (event.type) {
    case 'core.workflowChain.event':
      return 'open'
    case 'agent.decided':
      // What a supervisor decided is the next thing that the run itself tells.
      return DECISIONS.includes(Object(event.payload.decision).kind) ? undefined : 'decided'
    case 'runOrchestrator.decided':
    case 'assay.rework.began':
      return 'decided'
    case 'cap.breached':
    case 'envelope.refusal':
    case 'model.capability.insufficient':
    case 'replay.divergedAtRefusal':
    case 'assay.result.withheld':
    case 'assay.tool.withheld':
      return 'failed'
    case 'core.workflowChain.confidence-escalated':
    case 'assay.verification.held':
    case 'model.capability.substituted':
      return 'doubted'
    case 'memory.written':
    case 'assay.memory.forgotten':
    case 'assay.file.written':
    case 'assay.file.removed':
      // What was read is told by the call of the tool, or the node, that read it.
      return 'completed'
    case 'agent.verified':
      return VERDICTS[event.payload.verdict ?? ''] ?? 'doubted'
    case 'dws.verification.finding_issued':
      return event.payload.classification === 'blocking' ? 'failed' : 'doubted'
    default:
      return undefined
  }
}

const VERDICTS: { readonly [verdict: string]: ActivityEntry['is'] } = { pass: 'completed', fail: 'failed' }
