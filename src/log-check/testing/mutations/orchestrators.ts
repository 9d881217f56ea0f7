import {
  after,
  all,
  before,
  changed,
  type DraftEvent,
  insert,
  lost,
  type Mutation,
  move,
  mutation,
  nextOf,
  nodeOf,
  ofType,
  repeat,
  runMutation,
  type Spot,
  setsField,
  uncaused,
} from '../draft.js'

export const decides = ofType('runOrchestrator.decided')
const isLead = ({ run, event }: Spot): boolean => nodeOf(run, event.nodeId)?.typeId === 'core.orchestrator.supervisor'
const outputsOf = (event: DraftEvent) => event.payload.outputs as Record<string, unknown>
export const decisionOf = (event: DraftEvent) => event.payload.decision as Record<string, unknown>
const ofKind =
  (...kinds: string[]) =>
  (spot: Spot): boolean =>
    decides(spot) && kinds.includes(String(decisionOf(spot.event).kind))
/** Nobody was asked about the decision. */
const atOnce = (spot: Spot): boolean => decides(spot) && nextOf(spot)?.type === 'node.completed'
const completes =
  (...routes: string[]) =>
  (spot: Spot): boolean =>
    ofType('node.completed')(spot) && isLead(spot) && routes.includes(String(outputsOf(spot.event).route))
const asks = (spot: Spot): boolean =>
  ofType('interrupt.requested')(spot) && isLead(spot) && spot.event.payload.kind !== 'low-confidence'
/** Asked because of the decision itself. */
const asksFor = (spot: Spot): boolean => asks(spot) && spot.run.events[spot.at - 1]?.type === 'runOrchestrator.decided'
const decidedBefore = (spot: Spot): DraftEvent | undefined =>
  before(spot, event => event.type === 'runOrchestrator.decided')

function redecide(event: DraftEvent, decision: unknown): void {
  event.payload.decision = decision
  delete event.secret
}

const start = (spot: Spot, id: string, at: number): DraftEvent =>
  insert(spot.run, at, 'node.started', id, { nodeId: id, typeId: nodeOf(spot.run, id)?.typeId, attempt: 0 })

const BAD_DECISIONS: readonly (readonly [string, unknown])[] = [
  ['an unknown kind', { kind: 'ponder' }],
  ['a vendor’s kind', { kind: 'vendor.acme.ponder' }],
  ['no workers', { kind: 'next-worker' }],
  ['an empty list of workers', { kind: 'next-worker', nextWorkerIds: [] }],
  ['a worker without a name', { kind: 'next-worker', nextWorkerIds: [''] }],
  ['a field of another kind', { kind: 'next-worker', nextWorkerIds: ['child'], reason: 'why not' }],
  ['an empty reason', { kind: 'terminate', reason: '' }],
  ['a criterion that says more', { kind: 'terminate', successCriteria: [{ key: 'k', met: true, why: 'so' }] }],
  ['too much confidence', { kind: 'terminate', confidence: 1.5 }],
  ['a question to a user that asks nothing', { kind: 'ask-user' }],
  ['confidence in a question to a user', { kind: 'ask-user', prompt: 'Which?', confidence: 1 }],
  ['a question without an id', { kind: 'clarify', questions: [{ question: 'Which?' }] }],
  ['an escalation to workers', { kind: 'escalate', nextWorkerIds: ['child'] }],
]

export const ORCHESTRATOR_MUTATIONS: readonly Mutation[] = [
  mutation('L20', 'a turn that decides twice', decides, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  lost('L20', 'a turn that decides nothing', atOnce),
  changed('L20', 'a decision of a node that is no supervisor', decides, event => {
    event.nodeId = 'hand'
  }),
  mutation('L20', 'a decision after its turn', completes('body', 'again', 'done'), spot => {
    const decided = decidedBefore(spot)
    if (decided !== undefined) repeat(spot.run, decided, spot.at + 1)
  }),
  changed('L20a', 'an iteration that is skipped', decides, event => {
    event.payload.iteration = Number(event.payload.iteration) + 1
  }),
  changed(
    'L20a',
    'an iteration that does not rise',
    spot => decides(spot) && spot.event.payload.iteration !== 1,
    event => {
      event.payload.iteration = Number(event.payload.iteration) - 1
    },
  ),
  setsField(
    'L20b',
    'another orchestrator',
    spot => decides(spot) && decidedBefore(spot) !== undefined,
    'agentId',
    'host:x',
  ),
  runMutation(
    'L20c',
    'an orchestrator the node does not name',
    run => run.events.some(event => event.type === 'runOrchestrator.decided'),
    run => {
      for (const event of run.events)
        if (event.type === 'runOrchestrator.decided') event.payload.agentId = 'host:orchestrator:other'
    },
  ),
  ...BAD_DECISIONS.map(([title, decision]) =>
    changed('L20d', `a decision with ${title}`, decides, event => redecide(event, decision)),
  ),
  mutation('L20e', 'a decision after the termination', completes('done'), spot => {
    const decided = decidedBefore(spot)
    if (decided !== undefined) repeat(spot.run, decided, spot.at + 1)
  }),
  changed(
    'L20e',
    'turns after a termination that was carried out',
    spot =>
      atOnce(spot) &&
      ofKind('next-worker')(spot) &&
      after(spot, event => event.type === 'runOrchestrator.decided') !== undefined,
    event => redecide(event, { kind: 'terminate' }),
  ),
  mutation('L20f', 'a question before its decision', asks, spot => {
    const decided = decidedBefore(spot)
    if (decided !== undefined) move(spot.run, decided, spot.at)
  }),
  setsField('L20f', 'an approval to clarify', all(asksFor, isClarifying), 'kind', 'approval'),
  setsField(
    'L20f',
    'a clarification to escalate',
    all(asksFor, spot => !isClarifying(spot)),
    'kind',
    'clarification',
  ),
  mutation('L20f', 'a question about work that was handed out', asksFor, spot => {
    const decided = decidedBefore(spot)
    if (decided !== undefined) redecide(decided, { kind: 'next-worker', nextWorkerIds: ['child'] })
  }),
  changed('L20f', 'a clarification of which nobody is asked', atOnce, event => redecide(event, { kind: 'clarify' })),
  uncaused('L20f', 'a question that no decision causes', asksFor),
  mutation('L20f', 'two questions about one decision', asksFor, ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  uncaused('L20g', 'a decision that nothing causes', decides),
  mutation(
    'L20g',
    'a ratified decision that its turn causes',
    spot => decides(spot) && previousIs(spot, 'node.resumed'),
    spot => {
      spot.event.causationId = before(spot, ({ type, nodeId }) => isStart(type, nodeId, spot))?.eventId ?? null
    },
  ),
  uncaused('L20g', 'a turn that does not end by its decision', spot => completedAtOnce(spot)),
  changed('L20g', 'a turn that ends another iteration', completes('body', 'again', 'done'), event => {
    outputsOf(event).iteration = 99
  }),
  changed('L20g', 'a turn that ends with another decision', completes('body', 'again', 'done'), event => {
    outputsOf(event).decision = { kind: 'terminate', reason: 'another' }
  }),
  changed('L20g', 'work that is handed out and left', completes('body'), event => {
    outputsOf(event).route = 'done'
  }),
  changed('L20g', 'a termination that goes on', completes('done'), event => {
    outputsOf(event).route = 'again'
  }),
  changed('L20g', 'a refusal that is carried out', completes('again'), event => {
    outputsOf(event).route = 'body'
  }),
  changed('L20g', 'a turn that leads nowhere', completes('body', 'again', 'done'), event => {
    delete outputsOf(event).route
  }),
  mutation('L20h', 'a loop that runs without work', completes('again'), spot => {
    start(spot, 'hand', spot.at + 1)
  }),
  mutation('L20h', 'a loop that runs after it was left', completes('done'), spot => {
    start(spot, 'hand', spot.at + 1)
  }),
  mutation('L20h', 'a loop that runs twice in a turn', handsOut, spot => {
    start(spot, 'hand', spot.at + 1)
  }),
  mutation('L20h', 'a turn while the loop runs', handsOut, spot => {
    start(spot, 'lead', spot.at)
  }),
  mutation('L20h', 'a turn after the last', completes('done'), spot => {
    start(spot, 'lead', spot.at + 1)
  }),
  mutation(
    'L20h',
    'what comes after the loop while it goes on',
    spot => completes('body', 'again')(spot) && nodeOf(spot.run, 'after') !== undefined,
    spot => {
      start(spot, 'after', spot.at + 1)
    },
  ),
]

function isClarifying(spot: Spot): boolean {
  const decided = decidedBefore(spot)
  return decided !== undefined && decisionOf(decided).kind !== 'escalate'
}

const previousIs = ({ run, at }: Spot, type: string): boolean => run.events[at - 1]?.type === type

const isStart = (type: string, nodeId: string | null, spot: Spot): boolean =>
  type === 'node.started' && nodeId === spot.event.nodeId

function completedAtOnce(spot: Spot): boolean {
  const held = spot.run.events[spot.at - 2]?.type === 'node.resumed'
  return completes('body', 'done')(spot) && previousIs(spot, 'runOrchestrator.decided') && !held
}

function handsOut(spot: Spot): boolean {
  return ofType('node.completed')(spot) && spot.event.nodeId === 'hand'
}
