import {
  before,
  has,
  insert,
  lastEvent,
  type Mutation,
  move,
  mutation,
  nextOf,
  nodeOf,
  ofType,
  previousOf,
  remove,
  type Spot,
} from '../draft.js'

const settles = ofType('node.completed', 'node.failed')
const starts = ofType('node.started')

export const NODE_MUTATIONS: readonly Mutation[] = [
  mutation(
    'L7',
    'a settled node that never started',
    spot => starts(spot) && settles({ ...spot, event: nextOf(spot) ?? spot.event }),
    ({ run, event }) => remove(run, event),
  ),
  mutation('L7', 'a node that settles twice', settles, ({ run, event, at }) => {
    insert(run, at + 1, event.type, event.nodeId, event.payload)
  }),
  mutation('L7', 'a node that completes and fails', ofType('node.completed'), ({ run, event, at }) => {
    insert(run, at + 1, 'node.failed', event.nodeId, { nodeId: event.nodeId, error: ERROR, attempts: 1 })
  }),
  mutation('L7', 'a node that starts twice', starts, ({ run, event, at }) => {
    insert(run, at + 1, 'node.started', event.nodeId, { ...event.payload, attempt: Number(event.payload.attempt) + 1 })
  }),
  mutation('L7', 'a node that completes while it waits for a retry', ofType('node.retried'), ({ run, event, at }) => {
    insert(run, at + 1, 'node.completed', event.nodeId, { nodeId: event.nodeId, outputs: {} })
  }),
  mutation(
    'L7',
    'a node that completes after an immediate pause without starting again',
    spot =>
      starts(spot) &&
      restarted(spot) &&
      nodeOf(spot.run, spot.event.nodeId)?.typeId !== 'core.subWorkflow' &&
      settles({ ...spot, event: nextOf(spot) ?? spot.event }),
    ({ run, event }) => remove(run, event),
  ),
  mutation(
    'L7',
    'a child dispatched before its node starts',
    spot => ofType('node.dispatched')(spot) && startOf(spot)?.payload.attempt === 0,
    spot => {
      const started = startOf(spot)
      if (started !== undefined) move(spot.run, spot.event, spot.run.events.indexOf(started))
    },
  ),
  mutation('L7', 'a running node that is skipped', starts, ({ run, event, at }) => {
    insert(run, at + 1, 'node.skipped', event.nodeId, { nodeId: event.nodeId, reason: 'why not' })
  }),
  mutation(
    'L7',
    'a node cancelled that never started',
    spot => starts(spot) && previousOf(spot) === undefined,
    ({ run, event, at }) => {
      insert(run, at, 'node.cancelled', event.nodeId, { nodeId: event.nodeId, reason: 'why not' })
    },
  ),
  mutation('L7', 'a retry of a completed node', ofType('node.completed'), ({ run, event, at }) => {
    insert(run, at + 1, 'node.retried', event.nodeId, {
      nodeId: event.nodeId,
      attempt: 1,
      delayMs: 0,
      lastError: ERROR,
    })
  }),
  mutation('L7a', 'a node the workflow does not have', starts, ({ event }) => {
    event.nodeId = 'ghost'
    event.payload.nodeId = 'ghost'
  }),
  mutation(
    'L7a',
    'a node event without a node',
    spot => starts(spot) || settles(spot),
    ({ event }) => {
      event.nodeId = null
    },
  ),
  mutation('L7a', 'an envelope and a payload that disagree', settles, ({ run, event }) => {
    event.payload.nodeId = run.definition.nodes.find(node => node.id !== event.nodeId)?.id ?? 'other'
  }),
  mutation('L7a', 'a node of another type', starts, ({ event }) => {
    event.payload.typeId = 'core.other'
  }),
  mutation(
    'L7a',
    'a failed node the workflow does not have',
    ({ event }) => event.payload.failedNodeId !== undefined,
    ({ event }) => {
      event.payload.failedNodeId = 'ghost'
    },
  ),
  mutation(
    'L7a',
    'a variable changed by an unknown node',
    ofType('variable.changed', 'channel.written'),
    ({ event }) => {
      event.nodeId = 'ghost'
      event.payload.nodeId = 'ghost'
    },
  ),
  mutation(
    'L7b',
    'a first attempt that is not 0',
    spot => starts(spot) && spot.event.payload.attempt === 0,
    ({ event }) => {
      event.payload.attempt = 1
    },
  ),
  mutation('L7b', 'a retry that skips an attempt', ofType('node.retried'), ({ event }) => {
    event.payload.attempt = Number(event.payload.attempt) + 1
  }),
  mutation(
    'L7b',
    'a second attempt with the number of the first',
    spot => starts(spot) && Number(spot.event.payload.attempt) > 0,
    ({ event }) => {
      event.payload.attempt = Number(event.payload.attempt) - 1
    },
  ),
  mutation(
    'L7b',
    'a second round that goes on counting',
    spot => starts(spot) && previousOf(spot)?.type === 'node.completed',
    ({ event }) => {
      event.payload.attempt = 1
    },
  ),
  mutation('L7b', 'a failure that counts too many attempts', ofType('node.failed'), ({ event }) => {
    event.payload.attempts = 99
  }),
  mutation(
    'L7b',
    'a failure that counts too few attempts',
    spot =>
      ofType('node.failed')(spot) &&
      Number(spot.event.payload.attempts) > 1 &&
      previousOf(spot)?.type === 'node.started' &&
      !has(spot.run, 'run.paused'),
    ({ event }) => {
      event.payload.attempts = 1
    },
  ),
  mutation('L7c', 'a retry the node’s settings do not allow', ofType('node.retried'), ({ run, event }) => {
    const node = nodeOf(run, event.nodeId)
    if (node !== undefined) node.settings = { maxRetries: 0 }
  }),
  mutation('L7c', 'a retry the workflow’s settings do not allow', ofType('node.retried'), ({ run, event }) => {
    delete nodeOf(run, event.nodeId)?.settings
    run.definition.settings = {}
  }),
  mutation(
    'L7c',
    'one retry too many',
    spot => ofType('node.retried')(spot) && nextOf(spot)?.type === 'node.started',
    spot => {
      const { run, event, at } = spot
      for (let extra = 1; extra <= 3; extra++) {
        const attempt = Number(event.payload.attempt) + extra - 1
        const place = at + 2 * (extra - 1) + 1
        insert(run, place, 'node.started', event.nodeId, {
          nodeId: event.nodeId,
          typeId: nodeOf(run, event.nodeId)?.typeId,
          attempt,
        })
        insert(run, place + 1, 'node.retried', event.nodeId, { ...event.payload, attempt: attempt + 1 })
      }
    },
  ),
  mutation(
    'L7d',
    'a node that starts before its source has settled',
    spot =>
      starts(spot) &&
      spot.at > 1 &&
      firstStart(spot) &&
      spot.event.nodeId !== 'lead' &&
      spot.run.definition.edges.some(edge => edge.targetNodeId === spot.event.nodeId),
    ({ run, event }) => move(run, event, 1),
  ),
  mutation(
    'L7d',
    'a body node that starts before its loop’s round',
    spot => starts(spot) && spot.event.nodeId === 'b0' && !firstStart(spot),
    ({ run, event }) => {
      const loop = run.events.findLast(
        other => other.nodeId === 'loop' && other.type === 'node.started' && other.sequence < event.sequence,
      )
      if (loop !== undefined) move(run, event, loop.sequence)
    },
  ),
  mutation(
    'L7d',
    'a node that starts although its source failed',
    spot => starts(spot) && firstStart(spot) && settledSource(spot, 'node.failed') !== undefined,
    spot => {
      for (const edge of spot.run.definition.edges)
        if (edge.targetNodeId === spot.event.nodeId) edge.triggerRule = 'all_success'
    },
  ),
  mutation(
    'L7d',
    'a node that starts although no source failed',
    spot =>
      starts(spot) && firstStart(spot) && inbound(spot).length > 0 && settledSource(spot, 'node.failed') === undefined,
    spot => {
      for (const edge of inbound(spot)) edge.triggerRule = 'any_failed'
    },
  ),
  mutation(
    'L7d',
    'a node that starts although no source succeeded',
    spot =>
      starts(spot) &&
      firstStart(spot) &&
      inbound(spot).length > 0 &&
      settledSource(spot, 'node.completed') === undefined,
    spot => {
      for (const edge of inbound(spot)) edge.triggerRule = 'any_success'
    },
  ),
  mutation(
    'L7e',
    'a node left undone in a completed run',
    spot => ofType('node.skipped')(spot) && lastEvent(spot.run).type === 'run.completed',
    ({ run, event }) => remove(run, event),
  ),
  mutation(
    'L7e',
    'a node left running in a completed run',
    spot =>
      ofType('node.completed')(spot) && lastEvent(spot.run).type === 'run.completed' && nextOf(spot) === undefined,
    ({ run, event }) => remove(run, event),
  ),
  mutation(
    'L7e',
    'an untolerated failure in a completed run',
    spot =>
      ofType('node.completed')(spot) &&
      lastEvent(spot.run).type === 'run.completed' &&
      nextOf(spot) === undefined &&
      leaf(spot),
    spot => {
      const { event } = spot
      event.type = 'node.failed'
      event.payload = { nodeId: event.nodeId, error: ERROR, attempts: Number(previousOf(spot)?.payload.attempt) + 1 }
    },
  ),
  mutation(
    'L7f',
    'a node outside any cycle that runs again',
    spot =>
      ofType('node.completed')(spot) &&
      !has(spot.run, 'cap.breached') &&
      ['loop', 'lead'].every(id => nodeOf(spot.run, id) === undefined),
    ({ run, event, at }) => {
      insert(run, at + 1, 'node.started', event.nodeId, {
        nodeId: event.nodeId,
        typeId: nodeOf(run, event.nodeId)?.typeId,
        attempt: 0,
      })
      insert(run, at + 2, 'node.completed', event.nodeId, { nodeId: event.nodeId, outputs: {} })
    },
  ),
  mutation(
    'L7f',
    'rounds of a workflow without a cycle',
    spot => starts(spot) && spot.event.nodeId === 'loop' && previousOf(spot)?.type === 'node.completed',
    ({ run }) => {
      run.definition.edges = run.definition.edges.filter(
        edge => edge.targetNodeId !== 'loop' || edge.sourceNodeId === 'pre',
      )
    },
  ),
  mutation(
    'L7f',
    'a node skipped after it has completed',
    spot => ofType('node.completed')(spot) && ['loop', 'lead'].every(id => nodeOf(spot.run, id) === undefined),
    ({ run, event, at }) => {
      insert(run, at + 1, 'node.skipped', event.nodeId, { nodeId: event.nodeId, reason: 'again' })
    },
  ),
]

const ERROR = { code: 'effect_failed', message: 'it did not work' }

const startOf = (spot: Spot) =>
  before(spot, ({ type, nodeId }) => type === 'node.started' && nodeId === spot.event.nodeId)

const restarted = (spot: Spot): boolean =>
  Number(spot.event.payload.attempt) > 0 && previousOf(spot)?.type === 'node.started'

const firstStart = (spot: Spot): boolean => previousOf(spot) === undefined

const inbound = ({ run, event }: Spot) =>
  run.definition.edges.filter(
    edge => edge.targetNodeId === event.nodeId && !['loop', 'lead'].includes(edge.targetNodeId),
  )

/** A source of this node whose latest event before the spot is of the type. */
const settledSource = (spot: Spot, type: string) =>
  inbound(spot).find(edge => {
    const told = spot.run.events
      .slice(0, spot.at)
      .filter(event => event.nodeId === edge.sourceNodeId && event.type.startsWith('node.'))
    return told.at(-1)?.type === type
  })

const leaf = ({ run, event }: Spot): boolean => !run.definition.edges.some(edge => edge.sourceNodeId === event.nodeId)
