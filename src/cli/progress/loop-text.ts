import type { Fields, WireError } from '../../client/wire-shapes.js'
import type { PublicEvent } from '../../core/view/public-event.js'
import type { ActivityEntry } from '../../core/view/run-view.js'
import { agentOutcome, agentText, confidenceText } from './agent-text.js'
import { gateOutcome, gateText } from './gate-text.js'
import { journalText } from './journal-text.js'

/**
 * The orchestrator's loop, agents at work and results at gates, as a person follows them: a line per decision, per
 * hand-off, per call of a model or tool, per attempt and verdict, per entry or file written, per doubt and per breach.
 */

/** The line of one entry: what opened it, and step by step what has come of it. */
export const entryText = ({ events: [first, ...steps] }: ActivityEntry): string =>
  [openingText(first), ...steps.map(laterText)].join(' → ')

function openingText(event: PublicEvent): string {
  if (event.type === 'assay.model.requested') return `${event.nodeId}: model call ${payloadOf(event).call}`
  return loopText(event) ?? event.type
}

function laterText(event: PublicEvent): string {
  return event.type === 'core.workflowChain.event' ? stepText(payloadOf(event)) : (outcomeText(event) ?? '')
}

const outcomeText = (event: PublicEvent): string | undefined => agentOutcome(event) ?? gateOutcome(event)

type Payload = { readonly [name: string]: unknown }

const payloadOf = ({ payload }: PublicEvent): Payload => (payload ?? {}) as Payload

/** What an event of the loop, of an agent, of a gate or of the journal says, in one line; undefined for all others. */
export function loopText(event: PublicEvent): string | undefined {
  const payload = payloadOf(event)
  switch (event.type) {
    case 'runOrchestrator.decided':
      return turnText(payload)
    case 'core.workflowChain.confidence-escalated':
      return doubtText(payload)
    case 'core.workflowChain.event':
      return `${payload.workerId} ${stepText(payload)}${payload.phase === 'dispatch.succeeded' ? ` as run ${payload.childRunId}` : ''}`
    case 'cap.breached':
      return breachText(payload)
    default:
      return agentText(event) ?? gateText(event) ?? journalText(event)
  }
}

function stepText({ phase, harvestedKeys, error }: Payload): string {
  const why = error === undefined ? '' : `: ${(error as WireError).code}: ${(error as WireError).message}`
  switch (phase) {
    case 'dispatch.began':
      return 'began'
    case 'dispatch.succeeded':
      return 'started'
    case 'dispatch.failed':
      return `did not start${why}`
    case 'output.harvested':
      return `harvested ${(harvestedKeys as readonly string[] | undefined)?.join(', ') || 'nothing'}`
    default:
      return `${String(phase).replace('child.', '')}${why}`
  }
}

const turnText = ({ iteration, decision }: Payload): string => `turn ${iteration}: ${decisionText(Object(decision))}`

/** What was decided, in a few words. */
export function decisionText(decision: Fields): string {
  const { kind, nextWorkerIds, reason, title, prompt, questions } = decision
  const workers = Array.isArray(nextWorkerIds) ? nextWorkerIds.join(', ') : undefined
  const asked = Array.isArray(questions) ? questions.map(one => one?.question).join(' ') : undefined
  const said = workers ?? title ?? reason ?? prompt ?? asked
  return `${kind}${said === undefined ? '' : ` ${said}`}${confidenceText(decision)}`
}

const doubtText = ({ confidence, floor }: Payload): string =>
  `confidence ${confidence} is below ${floor}: a person decides first`

const breachText = ({ kind, limit, observed }: Payload): string => `${kind}: ${observed} is over the limit of ${limit}`
