import {
  has,
  insert,
  isEnd,
  last,
  type Mutation,
  move,
  mutation,
  nextOf,
  nodeOf,
  ofType,
  previousOf,
  remove,
  runMutation,
  type DraftRun,
  type Spot,
} from './draft.js'

const settles = ofType('node.completed', 'node.failed')
const starts = ofType('node.started')

export const LIFE_MUTATIONS: readonly Mutation[] = [
  mutation('L5b', 'a pause while paused', ofType('run.paused'), ({ run, event, at }) => {
    insert(run, at + 1, 'run.paused', null, event.payload)
  }),
  mutation('L5b', 'a resume without a pause', ofType('run.paused'), ({ run, event }) => remove(run, event)),
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
    spot => ofType('assay.stop.requested')(spot) && isEnd(last(spot.run)),
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
    spot => ofType('assay.stop.requested')(spot) && spot.event.payload.outcome === 'failed' && isEnd(last(spot.run)),
    ({ event }) => {
      event.payload.error = { code: 'other', message: 'other' }
    },
  ),
  mutation(
    'L5f',
    'a draining pause over a running node',
    spot => ofType('run.paused')(spot) && runningAt(spot),
    ({ event }) => {
      event.payload.drainPolicy = 'drain-current-node'
    },
  ),
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
  mutation('L7', 'a child dispatched before its node starts', ofType('node.dispatched'), spot => {
    const started = spot.run.events.findLast(
      (event, at) => at < spot.at && event.nodeId === spot.event.nodeId && event.type === 'node.started',
    )
    if (started !== undefined) move(spot.run, spot.event, spot.run.events.indexOf(started))
  }),
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
    event.payload.nodeId = run.definition.nodes.find(node => node.id !== event.nodeId)?.id
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
    spot => ofType('node.skipped')(spot) && last(spot.run).type === 'run.completed',
    ({ run, event }) => remove(run, event),
  ),
  mutation(
    'L7e',
    'a node left running in a completed run',
    spot => ofType('node.completed')(spot) && last(spot.run).type === 'run.completed' && nextOf(spot) === undefined,
    ({ run, event }) => remove(run, event),
  ),
  mutation(
    'L7e',
    'an untolerated failure in a completed run',
    spot =>
      ofType('node.completed')(spot) &&
      last(spot.run).type === 'run.completed' &&
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
    spot => ofType('node.completed')(spot) && !has(spot.run, 'cap.breached') && nodeOf(spot.run, 'loop') === undefined,
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
    spot => ofType('node.completed')(spot) && nodeOf(spot.run, 'loop') === undefined,
    ({ run, event, at }) => {
      insert(run, at + 1, 'node.skipped', event.nodeId, { nodeId: event.nodeId, reason: 'again' })
    },
  ),
  runMutation(
    'L26',
    'a breach with observed equal to limit',
    run => has(run, 'cap.breached'),
    run => {
      const breach = breachOf(run)
      breach.payload.observed = breach.payload.limit
    },
  ),
  runMutation(
    'L26',
    'a breach told twice',
    run => has(run, 'cap.breached'),
    run => {
      insert(run, run.events.length - 2, 'cap.breached', null, breachOf(run).payload)
    },
  ),
  runMutation(
    'L26',
    'a breach that does not end the run',
    run => has(run, 'cap.breached'),
    run => remove(run, last(run)),
  ),
  runMutation(
    'L26',
    'an event between breach and failure',
    run => has(run, 'cap.breached'),
    run => {
      insert(run, run.events.length - 1, 'log.appended', null, { level: 'info', message: 'between' })
    },
  ),
  runMutation(
    'L26',
    'a breach that fails the run with another code',
    run => has(run, 'cap.breached'),
    run => {
      last(run).payload.error = ERROR
    },
  ),
  runMutation(
    'L26',
    'a bound crossed by more than one',
    run => has(run, 'cap.breached') && breachOf(run).payload.kind === 'node-executions',
    run => {
      breachOf(run).payload.observed = Number(breachOf(run).payload.observed) + 1
    },
  ),
  runMutation(
    'L26',
    'a breach that ends in completion',
    run => has(run, 'cap.breached'),
    run => {
      last(run).type = 'run.completed'
    },
  ),
  runMutation(
    'L26a',
    'more executions than recursionLimit',
    run => executions(run) > 1,
    run => {
      Object.assign(run.events[0]?.payload ?? {}, { configurable: { recursionLimit: executions(run) - 1 } })
    },
  ),
  runMutation(
    'L26a',
    'more executions than the host allows',
    run => executions(run) > 1,
    (run, draft) => {
      draft.limits = { maxNodeExecutions: executions(run) - 1 }
    },
  ),
  runMutation(
    'L26a',
    'the over-limit node started after all',
    run => has(run, 'cap.breached') && breachOf(run).payload.kind === 'node-executions',
    run => {
      const id = String(breachOf(run).payload.nodeId)
      const at = run.events.findIndex(event => event.type === 'assay.stop.requested')
      insert(run, at, 'node.started', id, { nodeId: id, typeId: nodeOf(run, id)?.typeId, attempt: 0 })
    },
  ),
  runMutation(
    'L26b',
    'a breach of a higher limit than was asked for',
    run => has(run, 'cap.breached') && breachOf(run).payload.kind === 'node-executions',
    run => {
      const breach = breachOf(run).payload
      breach.limit = Number(breach.limit) + 5
      breach.observed = Number(breach.observed) + 5
    },
  ),
]

const ERROR = { code: 'effect_failed', message: 'it did not work' }

const executions = (run: DraftRun): number => run.events.filter(event => event.type === 'node.started').length

const breachOf = (run: DraftRun) => run.events.find(event => event.type === 'cap.breached') ?? last(run)

/** Place of the pause that ended before this event, or -1. */
const pausedAt = ({ run, at }: Spot): number =>
  run.events.findLastIndex((event, place) => place < at && event.type === 'run.paused')

const startsAfter = ({ run, at }: Spot): boolean =>
  run.events.some((event, place) => place > at && event.type === 'node.started')

/** Some node, not waiting for a child, is running here. */
const runningAt = ({ run, at }: Spot): boolean =>
  run.definition.nodes.some(node => {
    const events = run.events.slice(0, at).filter(event => event.nodeId === node.id && event.type.startsWith('node.'))
    return events.at(-1)?.type === 'node.started' && node.typeId !== 'core.subWorkflow'
  })

const restarted = (spot: Spot): boolean =>
  Number(spot.event.payload.attempt) > 0 && previousOf(spot)?.type === 'node.started'

const firstStart = (spot: Spot): boolean => previousOf(spot) === undefined

const inbound = ({ run, event }: Spot) =>
  run.definition.edges.filter(edge => edge.targetNodeId === event.nodeId && edge.targetNodeId !== 'loop')

/** A source of this node whose latest event before the spot is of the type. */
const settledSource = (spot: Spot, type: string) =>
  inbound(spot).find(edge => {
    const told = spot.run.events
      .slice(0, spot.at)
      .filter(event => event.nodeId === edge.sourceNodeId && event.type.startsWith('node.'))
    return told.at(-1)?.type === type
  })

const leaf = ({ run, event }: Spot): boolean => !run.definition.edges.some(edge => edge.sourceNodeId === event.nodeId)
