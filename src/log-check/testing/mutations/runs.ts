import { has, insert, isEnd, lastEvent, type Mutation, move, mutation, ofType, remove, type Spot } from '../draft.js'

const starts = ofType('node.started')

export const RUN_MUTATIONS: readonly Mutation[] = [
  mutation('L5b', 'a pause while paused', ofType('run.paused'), ({ run, event, at }) => {
    insert(run, at + 1, 'run.paused', null, event.payload)
  }),
  mutation(
    'L5b',
    'a resume without a pause',
    spot => ofType('run.paused')(spot) && isResumed(spot),
    ({ run, event }) => remove(run, event),
  ),
  mutation(
    'L5b',
    'a resume at any time',
    ({ run, at }) => at > 0 && !has(run, 'run.paused'),
    ({ run, at }) => {
      insert(run, at, 'run.resumed', null, {})
    },
  ),
  mutation(
    'L5b',
    'a pause without the resume between',
    spot => ofType('run.resumed')(spot),
    ({ run, event, at }) => {
      insert(run, at + 1, 'run.paused', null, { drainPolicy: 'immediate' })
      remove(run, event)
    },
  ),
  mutation(
    'L5c',
    'a node that starts while paused',
    spot => starts(spot) && pausedAt(spot) > 0,
    (spot, _draft) => {
      move(spot.run, spot.event, pausedAt(spot) + 1)
    },
  ),
  mutation(
    'L5c',
    'a pause that no longer ends before a start',
    spot => ofType('run.resumed')(spot) && startsAfter(spot),
    ({ run, event }) => {
      remove(run, event)
    },
  ),
  mutation(
    'L5c',
    'a first start after a pause was asked for',
    spot => starts(spot) && spot.event.payload.attempt === 0,
    ({ run, at }) => {
      insert(run, at, 'assay.pause.requested', null, { drainPolicy: 'drain-current-node' })
    },
  ),
  mutation('L5d', 'a node that starts after the stop', ofType('assay.stop.requested'), ({ run, at }) => {
    const node = run.definition.nodes[0]
    insert(run, at + 1, 'node.started', node?.id ?? null, { nodeId: node?.id, typeId: node?.typeId, attempt: 0 })
  }),
  mutation('L5d', 'a stop before everything', starts, ({ run, at }) => {
    insert(run, at, 'assay.stop.requested', null, { outcome: 'cancelled' })
  }),
  mutation('L5d', 'a retry after the stop', ofType('node.retried'), ({ run, at }) => {
    insert(run, at, 'assay.stop.requested', null, { outcome: 'cancelled' })
  }),
  mutation('L5d', 'a child dispatched after the stop', ofType('node.dispatched'), ({ run, at }) => {
    insert(run, at, 'assay.stop.requested', null, { outcome: 'cancelled' })
  }),
  mutation(
    'L5e',
    'a run that ends otherwise than the stop said',
    spot => ofType('assay.stop.requested')(spot) && isEnd(lastEvent(spot.run)),
    ({ event }) => {
      event.payload.outcome = event.payload.outcome === 'failed' ? 'cancelled' : 'failed'
    },
  ),
  mutation('L5e', 'a run that completes after a stop', ofType('run.completed'), ({ run, at }) => {
    insert(run, at, 'assay.stop.requested', null, { outcome: 'cancelled' })
  }),
  mutation(
    'L5e',
    'a run that fails with another code than the stop said',
    spot =>
      ofType('assay.stop.requested')(spot) && spot.event.payload.outcome === 'failed' && isEnd(lastEvent(spot.run)),
    ({ event }) => {
      event.payload.error = { code: 'other', message: 'other' }
    },
  ),
  mutation(
    'L5f',
    'a draining pause over a running node',
    spot => ofType('run.paused')(spot) && runningAt(spot) && !has(spot.run, 'agent.invocation.started'),
    ({ event }) => {
      event.payload.drainPolicy = 'drain-current-node'
    },
  ),
]

/** A branch of a paused run goes on without a resume. */
const isResumed = ({ run, at }: Spot): boolean =>
  run.events.slice(at).find(event => ['run.resumed', 'assay.run.forked'].includes(event.type))?.type === 'run.resumed'

/** Place of the pause that ended before this event, or -1. */
const pausedAt = ({ run, at }: Spot): number =>
  run.events.findLastIndex((event, place) => place < at && event.type === 'run.paused')

const startsAfter = ({ run, at }: Spot): boolean =>
  run.events.some((event, place) => place > at && event.type === 'node.started')

/** Some node, not waiting for a child, is running here. */
const runningAt = ({ run, at }: Spot): boolean =>
  run.definition.nodes.some(node => {
    const events = run.events.slice(0, at).filter(event => event.nodeId === node.id && event.type.startsWith('node.'))
    return events.at(-1)?.type === 'node.started' && !['core.subWorkflow', 'core.dispatch'].includes(node.typeId)
  })
