import {
  after,
  all,
  before,
  changed,
  type DraftEvent,
  insert,
  isOwn,
  lost,
  type Mutation,
  move,
  mutation,
  nextOf,
  ofType,
  repeat,
  runMutation,
  type Spot,
  setsField,
  typeOf,
  uncaused,
} from '../draft.js'
import { isLive } from './invocations.js'
import { decides, decisionOf } from './orchestrators.js'

const escalates = ofType('core.workflowChain.confidence-escalated')
const isEscalation = ({ type }: DraftEvent): boolean => type === 'core.workflowChain.confidence-escalated'
const isDecision = ({ type }: DraftEvent): boolean => type === 'runOrchestrator.decided'
const confidenceOf = (event: DraftEvent): number => Number(event.payload.confidence)
const decidedBefore = (spot: Spot): DraftEvent => before(spot, isDecision) as DraftEvent
const isRetold = (spot: Spot): boolean => !isOwn(spot) || spot.run.row.fork?.mode === 'replay'
/** Workflows may ask such a question without an agent. */
const holds = (spot: Spot): boolean =>
  ofType('node.suspended')(spot) &&
  spot.event.payload.reason === 'low-confidence' &&
  typeOf(spot.run, spot.event.nodeId) !== 'core.interrupt'
/** An agent at work may have a threshold of its own. */
const holdsByRun = (spot: Spot): boolean => holds(spot) && !isLive(spot) && !spot.run.row.fork
const givenThreshold = ({ run }: Spot): unknown =>
  (run.events[0]?.payload.configurable as Record<string, unknown> | undefined)?.escalationThreshold
const holdsGiven = (spot: Spot): boolean =>
  holds(spot) && isLive(spot) && !spot.run.row.fork && givenThreshold(spot) !== undefined
const asksBecause = (spot: Spot): boolean =>
  ofType('interrupt.requested')(spot) && isEscalation(spot.run.events[spot.at - 1] as DraftEvent)
const asksToRatify = (spot: Spot): boolean =>
  ofType('interrupt.requested')(spot) &&
  spot.event.payload.kind === 'low-confidence' &&
  spot.run.events[spot.at - 1]?.type === 'agent.decided'
const completes = ofType('node.completed')

function redecide(event: DraftEvent, change: (decision: Record<string, unknown>) => void): void {
  delete event.secret
  event.payload.decision = { ...decisionOf(event) }
  change(decisionOf(event))
}

export const CONFIDENCE_MUTATIONS: readonly Mutation[] = [
  lost(
    'L22',
    'an unsure decision that is not escalated',
    all(
      escalates,
      spot => confidenceOf(spot.event) < 0.5,
      spot => spot.run.events[spot.at + 1] !== undefined,
    ),
  ),
  changed(
    'L22',
    'an unsure decision that is carried out at once',
    spot =>
      decides(spot) &&
      nextOf(spot)?.type === 'node.completed' &&
      ['next-worker', 'terminate'].includes(String(decisionOf(spot.event).kind)) &&
      spot.run.events[spot.at - 1]?.type !== 'node.resumed',
    event => redecide(event, decision => Object.assign(decision, { confidence: 0.1 })),
  ),
  mutation(
    'L22',
    'a decision that is less sure than the host asks for',
    spot =>
      decides(spot) &&
      nextOf(spot)?.type === 'node.completed' &&
      ['next-worker', 'terminate'].includes(String(decisionOf(spot.event).kind)) &&
      Number(decisionOf(spot.event).confidence) === 0.9 &&
      spot.run.events[spot.at - 1]?.type !== 'node.resumed',
    (_spot, draft) => {
      draft.limits = { confidenceFloor: 0.95 }
    },
  ),
  mutation(
    'L22',
    'an escalation after the question',
    spot => asksBecause(spot) && confidenceOf(spot.run.events[spot.at - 1] as DraftEvent) < 0.5,
    spot => move(spot.run, spot.run.events[spot.at - 1] as DraftEvent, spot.at),
  ),
  setsField('L22a', 'an escalation of another confidence', escalates, 'confidence', 0.01),
  changed('L22a', 'an escalation at the floor', escalates, event => {
    event.payload.floor = Math.max(0.5, confidenceOf(event))
    event.payload.confidence = event.payload.floor
  }),
  changed('L22a', 'an escalation for another worker', escalates, event => {
    event.payload.workerId = 'stranger'
  }),
  setsField('L22a', 'an escalation of another decision', escalates, 'originalDecision', {
    kind: 'terminate',
    reason: 'x',
  }),
  setsField(
    'L22a',
    'an escalation in another run',
    all(escalates, spot => !isRetold(spot)),
    'parentRunId',
    'run_other',
  ),
  mutation('L22a', 'an escalation without confidence', escalates, spot => {
    redecide(decidedBefore(spot), decision => {
      delete decision.confidence
    })
  }),
  mutation('L22a', 'an escalation of a question', escalates, spot => {
    decidedBefore(spot).payload.decision = { kind: 'clarify', confidence: spot.event.payload.confidence }
  }),
  changed('L22a', 'an escalation by a node that decides nothing', escalates, event => {
    event.nodeId = 'hand'
  }),
  mutation('L22a', 'an escalation of what a person has ratified', ratified, spot => {
    const { run, event, at } = spot
    redecide(event, decision => Object.assign(decision, { confidence: 0.1 }))
    const { nextWorkerIds = [] } = decisionOf(event) as { nextWorkerIds?: string[] }
    insert(run, at + 1, 'core.workflowChain.confidence-escalated', event.nodeId, {
      parentRunId: run.runId,
      ...(nextWorkerIds[0] === undefined ? {} : { workerId: nextWorkerIds[0] }),
      confidence: 0.1,
      floor: 0.5,
      escalationKind: 'escalate',
      originalDecision: event.payload.decision,
    }).causationId = event.eventId
  }),
  mutation('L22b', 'a decision that is escalated twice', escalates, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  mutation('L22b', 'an escalation before the decision', escalates, spot => {
    move(spot.run, decidedBefore(spot), spot.at)
  }),
  mutation('L22c', 'an escalated decision that nobody answered', answeredEscalation, ({ run, event }) => {
    run.events.splice(run.events.indexOf(event), 1)
  }),
  mutation('L22c', 'an escalated decision of which nobody was asked', answeredEscalation, spot => {
    const request = before(spot, ({ type, nodeId }) => type === 'interrupt.requested' && nodeId === spot.event.nodeId)
    if (request !== undefined) request.type = 'log.appended'
  }),
  uncaused('L22d', 'an escalation that its decision does not cause', escalates),
  uncaused('L22d', 'a question that the escalation does not cause', asksBecause),
  changed(
    'L22d',
    'an escalation of another kind than the question',
    all(escalates, spot => spot.run.events[spot.at + 1]?.type === 'interrupt.requested'),
    event => {
      event.payload.escalationKind = event.payload.escalationKind === 'clarify' ? 'escalate' : 'clarify'
    },
  ),
  mutation('L22d', 'two questions about one escalation', asksBecause, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  lost('L22e', 'an agent that is held before it decided', holdsFirst),
  setsField('L22e', 'another agent that is held', holds, 'agentId', 'host:other'),
  setsField('L22e', 'another confidence than was told', holds, 'observed', 0.01),
  changed('L22e', 'a hold at the threshold', holds, event => {
    event.payload.threshold = event.payload.observed
  }),
  runMutation(
    'L22f',
    'an agent below the threshold that goes on',
    run => !run.row.fork && run.events.some((event, at) => decidedAlone({ run, event, at })),
    run => {
      Object.assign(run.events[0]?.payload.configurable ?? {}, { escalationThreshold: 0.95 })
    },
  ),
  mutation('L22f', 'a hold by another threshold', holdsByRun, ({ run }) => {
    Object.assign(run.events[0]?.payload.configurable ?? {}, { escalationThreshold: 0.75 })
  }),
  mutation(
    'L22i',
    'an agent at work that is held by another threshold than its run was given',
    holdsGiven,
    ({ run }) => {
      Object.assign(run.events[0]?.payload.configurable ?? {}, { escalationThreshold: 0.85 })
    },
  ),
  mutation('L22g', 'a decision that is told before it is ratified', all(asksToRatify, byLead), spot => {
    const { run, at } = spot
    const payload = { agentId: 'acme.lead', decision: { kind: 'terminate' }, iteration: 1 }
    insert(run, at, 'runOrchestrator.decided', spot.event.nodeId, payload)
  }),
  mutation('L22g', 'a decision that is told although it was refused', ratified, spot => {
    const resolved = before(spot, ({ type }) => type === 'interrupt.resolved')
    if (resolved !== undefined) resolved.payload.outcome = 'rejected'
  }),
  mutation('L22g', 'another decision than was ratified', ratified, ({ event }) => {
    redecide(event, decision => Object.assign(decision, { kind: 'terminate', reason: 'never mind' }))
  }),
  changed('L22h', 'a question about another confidence', asksToRatify, event => {
    Object.assign(event.payload.data ?? {}, { observed: 0.01 })
  }),
  lost('L22h', 'a question about a decision that was not made', holdsFirst),
  changed('L22h', 'a hold that does not say why', holds, event => {
    delete event.payload.reason
  }),
]

function ratified(spot: Spot): boolean {
  return decides(spot) && spot.run.events[spot.at - 1]?.type === 'node.resumed'
}

function byLead({ event }: Spot): boolean {
  return event.nodeId === 'lead'
}

/** The answer to an escalation after which the supervisor went on. */
function answeredEscalation(spot: Spot): boolean {
  if (!ofType('interrupt.resolved')(spot) || spot.event.nodeId !== 'lead') return false
  const asked = before(spot, ({ type, nodeId }) => type === 'interrupt.requested' && nodeId === 'lead')
  const cause = spot.run.events[(asked?.sequence ?? 0) - 1]
  const next = after(spot, ({ type, nodeId }) => nodeId === 'lead' && ['node.completed', 'node.failed'].includes(type))
  return cause !== undefined && isEscalation(cause) && next?.type === 'node.completed'
}

/** What an agent decided that is then held. */
function holdsFirst(spot: Spot): boolean {
  const next = spot.run.events[spot.at + 1]
  return (
    ofType('agent.decided')(spot) && next?.type === 'interrupt.requested' && spot.run.events[spot.at + 2] !== undefined
  )
}

function decidedAlone(spot: Spot): boolean {
  return (
    ofType('agent.decided')(spot) &&
    confidenceOf(spot.event) === 0.9 &&
    completes({ ...spot, event: spot.run.events[spot.at + 1] ?? spot.event })
  )
}
