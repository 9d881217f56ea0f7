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
  mutation,
  ofType,
  repeat,
  type Spot,
  setsField,
  typeOf,
  uncaused,
} from '../draft.js'

/** A step of handing work out. */
export const toldPhase =
  (...phases: string[]) =>
  ({ event }: Spot): boolean =>
    event.type === 'core.workflowChain.event' && (phases.length === 0 || phases.includes(String(event.payload.phase)))

export const byDispatch = ({ run, event }: Spot): boolean => typeOf(run, event.nodeId) === 'core.dispatch'
export const bySub = ({ run, event }: Spot): boolean => typeOf(run, event.nodeId) === 'core.subWorkflow'
const isRetold = (spot: Spot): boolean => !isOwn(spot) || spot.run.row.fork?.mode === 'replay'
const FAILURES = ['dispatch.failed', 'child.failed', 'child.cancelled']
const ENDS = ['child.completed', 'child.failed', 'child.cancelled']
const decided = ({ type }: DraftEvent): boolean => type === 'runOrchestrator.decided'
const unasked = ({ run, event }: Spot): boolean =>
  !run.events.some(other => other.type === 'interrupt.requested' && other.nodeId === event.nodeId)
/** The node completes with this worker among its own. */
export const completesLater = (spot: Spot): boolean => {
  const next = after(spot, ({ type, nodeId }) => nodeId === spot.event.nodeId && ENDED.includes(type))
  return next?.type === 'node.completed'
}
const ENDED = ['node.started', 'node.completed', 'node.failed', 'node.cancelled']

export const HANDOFF_MUTATIONS: readonly Mutation[] = [
  mutation('L21g', 'work that is begun twice by one worker', toldPhase('dispatch.succeeded'), ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  mutation('L21g', 'a failed child that is harvested', toldPhase(...FAILURES), ({ run, event, at }) => {
    const { workerId, parentRunId, childRunId } = event.payload
    const harvest = { phase: 'output.harvested', workerId, parentRunId, childRunId, harvestedKeys: [] }
    insert(run, at + 1, event.type, event.nodeId, harvest).causationId = event.eventId
  }),
  mutation('L21g', 'a child that ends twice', toldPhase(...ENDS), ({ run, event, at }) => {
    repeat(run, event, at + 1)
  }),
  lost('L21g', 'a child that ends without having been started', all(toldPhase('dispatch.succeeded'), endIsTold)),
  lost('L21g', 'work that was never begun', all(toldPhase('dispatch.began'), goesOn)),
  changed('L21g', 'a step that goes back', toldPhase(...ENDS), event => {
    event.payload.phase = 'dispatch.succeeded'
  }),
  setsField('L21g', 'another worker that goes on', toldPhase('dispatch.succeeded', ...ENDS), 'workerId', 'stranger'),
  changed('L21g', 'another node that goes on', all(toldPhase('dispatch.succeeded', ...ENDS), byDispatch), event => {
    event.nodeId = 'lead'
  }),
  setsField(
    'L21g',
    'work of another run',
    all(toldPhase(), spot => !isRetold(spot)),
    'parentRunId',
    'run_other',
  ),
  ...['dispatch.succeeded', 'dispatch.failed', ...ENDS, 'output.harvested'].map(phase =>
    uncaused('L21h', `${phase} that nothing causes`, toldPhase(phase)),
  ),
  uncaused('L21h', 'work that no decision causes', all(toldPhase('dispatch.began'), byDispatch)),
  uncaused('L21h', 'a sub-workflow that its node does not cause', all(toldPhase('dispatch.began'), bySub)),
  mutation(
    'L21h',
    'work caused by its node instead of the decision',
    all(toldPhase('dispatch.began'), byDispatch),
    spot => {
      spot.event.causationId =
        before(spot, ({ type, nodeId }) => type === 'node.started' && nodeId === spot.event.nodeId)?.eventId ?? null
    },
  ),
  mutation(
    'L21h',
    'work caused by an earlier decision',
    all(toldPhase('dispatch.began'), byDispatch, spot => spot.run.events.slice(0, spot.at).filter(decided).length > 1),
    ({ run, event }) => {
      event.causationId = run.events.find(decided)?.eventId ?? null
    },
  ),
  mutation('L21h', 'a child’s end caused by the beginning', toldPhase(...ENDS), spot => {
    const began = before(spot, ({ payload }) => payload.phase === 'dispatch.began')
    spot.event.causationId = began?.eventId ?? null
  }),
  ...['dispatch.succeeded', ...ENDS, 'output.harvested'].map(phase =>
    changed('L21i', `${phase} without its child`, toldPhase(phase), event => {
      delete event.payload.childRunId
    }),
  ),
  setsField(
    'L21i',
    'a child before it was started',
    toldPhase('dispatch.began', 'dispatch.failed'),
    'childRunId',
    'run_other',
  ),
  setsField('L21i', 'another child than was started', toldPhase(...ENDS), 'childRunId', 'run_other'),
  ...FAILURES.map(phase =>
    changed('L21i', `${phase} without an error`, toldPhase(phase), event => {
      delete event.payload.error
    }),
  ),
  setsField('L21i', 'a success with an error', toldPhase('dispatch.succeeded', 'child.completed'), 'error', {
    code: 'no',
    message: 'no',
  }),
  setsField('L21i', 'a harvest before the end', toldPhase('dispatch.succeeded'), 'harvestedKeys', []),
  changed('L21i', 'a harvest of nobody knows what', toldPhase('output.harvested'), event => {
    delete event.payload.harvestedKeys
  }),
  changed('L21j', 'work that a node without work hands out', all(toldPhase('dispatch.began'), byDispatch), event => {
    event.nodeId = 'lead'
  }),
  mutation('L21j', 'a step after its node has settled', completesHandout, spot => {
    const last = before(spot, ({ type, nodeId }) => type === CHAIN && nodeId === spot.event.nodeId)
    if (last !== undefined) repeat(spot.run, last, spot.at + 1)
  }),
  ...['node.dispatched', 'agent.handoff', 'variable.changed', 'node.completed'].map(type =>
    uncaused('L21k', `${type} of a dispatch that no decision causes`, all(ofType(type), byDispatch, unasked)),
  ),
  ...['node.dispatched', 'variable.changed', 'node.completed'].map(type =>
    uncaused('L21k', `${type} of a sub-workflow that its start does not cause`, all(ofType(type), bySub, unasked)),
  ),
  mutation('L5d', 'work begun after the stop', ofType('assay.stop.requested'), ({ run, at }) => {
    const payload = { phase: 'dispatch.began', workerId: 'child', parentRunId: run.runId }
    insert(run, at + 1, CHAIN, run.definition.nodes[0]?.id ?? null, payload)
  }),
  mutation('L5d', 'a harvest after the stop', ofType('assay.stop.requested'), ({ run, at }) => {
    const payload = { phase: 'output.harvested', workerId: 'child', parentRunId: run.runId, childRunId: 'run_2' }
    insert(run, at + 1, CHAIN, run.definition.nodes[0]?.id ?? null, { ...payload, harvestedKeys: [] })
  }),
]

const CHAIN = 'core.workflowChain.event'

function endIsTold(spot: Spot): boolean {
  const { childRunId } = spot.event.payload
  return (
    after(spot, ({ payload }) => payload.childRunId === childRunId && ENDS.includes(String(payload.phase))) !==
    undefined
  )
}

function goesOn(spot: Spot): boolean {
  return after(spot, ({ type, causationId }) => type === CHAIN && causationId === spot.event.eventId) !== undefined
}

function completesHandout(spot: Spot): boolean {
  return ofType('node.completed')(spot) && (byDispatch(spot) || bySub(spot))
}
