import {
  dispatches,
  firstEvent,
  has,
  insert,
  isEnd,
  lastEvent,
  type Mutation,
  mutation,
  ofType,
  remove,
  runMutation,
  spots,
} from '../draft.js'

const anywhere = (): boolean => true
const notFirst = ({ at }: { at: number }): boolean => at > 0

export const STRUCTURE_MUTATIONS: readonly Mutation[] = [
  mutation('L1', 'a gap before an event', notFirst, ({ run, at }) => {
    for (const event of run.events.slice(at)) event.sequence += 1
  }),
  mutation('L1', 'a sequence used twice', notFirst, ({ event }) => {
    event.sequence -= 1
  }),
  mutation('L1', 'two events change places', notFirst, ({ run, event, at }) => {
    const before = run.events[at - 1]
    if (before !== undefined) run.events.splice(at - 1, 2, event, before)
  }),
  runMutation('L1', 'a log that begins at 1', anywhere, run => {
    for (const event of run.events) event.sequence += 1
  }),
  mutation(
    'L1',
    'an event lost',
    ({ run, at }) => at > 0 && at + 1 < run.events.length,
    ({ run, at }) => {
      run.events.splice(at, 1)
    },
  ),
  mutation('L2', 'an id used twice in a run', notFirst, ({ run, event }) => {
    event.eventId = firstEvent(run).eventId
  }),
  runMutation(
    'L2',
    'an id used in two runs',
    (run, draft) => run !== draft.runs[0],
    (run, draft) => {
      lastEvent(run).eventId = draft.runs[0]?.events[0]?.eventId ?? ''
    },
  ),
  mutation('L3', 'a cause that does not exist', notFirst, ({ event }) => {
    event.causationId = 'nowhere'
  }),
  mutation(
    'L3',
    'a cause that is later',
    ({ run, at }) => at + 1 < run.events.length,
    ({ run, event }) => {
      event.causationId = lastEvent(run).eventId
    },
  ),
  mutation(
    'L3',
    'a cause in a run of another family',
    ({ run }, draft) => draft.runs.some(other => isSibling(run, other)),
    ({ run, event }, draft) => {
      event.causationId = draft.runs.find(other => isSibling(run, other))?.events[0]?.eventId ?? null
    },
  ),
  mutation(
    'L3c',
    'a cause on another host',
    ({ event }) => event.type === 'agent.decided',
    ({ event }) => {
      event.payload.causationHostId = 'other.example'
    },
  ),
  mutation('L3b', 'an event that never names a host', ofType('node.started'), ({ event }) => {
    event.payload.causationHostId = 'other.example'
  }),
  mutation('L3a', 'an event that causes itself', anywhere, ({ event }) => {
    event.causationId = event.eventId
  }),
  mutation('L3a', 'two events that cause each other', notFirst, ({ run, event }) => {
    event.causationId = firstEvent(run).eventId
    firstEvent(run).causationId = event.eventId
  }),
  mutation('L3a', 'parent and child that cause each other', dispatches, ({ event }, draft) => {
    const start = draft.runs.find(run => run.runId === event.payload.childRunId)?.events[0]
    if (start === undefined) return
    event.causationId = start.eventId
    start.causationId = event.eventId
  }),
  mutation('L6', 'an epoch that goes back', notFirst, ({ run, at }) => {
    for (const [place, event] of run.events.entries()) event.epoch = place < at ? 2 : 1
  }),
  mutation('L8', 'time that goes back', notFirst, ({ event }) => {
    event.at -= 1_000_000
  }),
  mutation('L8', 'a time that is none', anywhere, ({ event }) => {
    event.at = Number.NaN
  }),
  runMutation(
    'L4',
    'two terminal events',
    run => isEnd(lastEvent(run)),
    run => {
      insert(run, run.events.length, lastEvent(run).type, null, lastEvent(run).payload)
    },
  ),
  runMutation(
    'L4',
    'two different terminal events',
    run => isEnd(lastEvent(run)),
    run => {
      const type = lastEvent(run).type === 'run.cancelled' ? 'run.completed' : 'run.cancelled'
      insert(run, run.events.length - 1, type, null, { outputs: {} })
    },
  ),
  runMutation(
    'L4',
    'an ended row without a terminal event',
    run => isEnd(lastEvent(run)),
    run => remove(run, lastEvent(run)),
  ),
  runMutation(
    'L4a',
    'a row of another status',
    run => isEnd(lastEvent(run)),
    run => {
      run.row.status = run.row.status === 'failed' ? 'completed' : 'failed'
    },
  ),
  runMutation(
    'L4a',
    'a row that still runs',
    run => isEnd(lastEvent(run)),
    run => {
      run.row.status = 'running'
    },
  ),
  runMutation(
    'L4a',
    'a row that runs while the log is paused',
    run => run.row.status === 'paused',
    run => {
      run.row.status = 'running'
    },
  ),
  runMutation(
    'L4a',
    'a row that is paused while the log runs',
    run => run.row.status === 'running',
    run => {
      run.row.status = 'paused'
    },
  ),
  runMutation('L4a', 'a row with another length', anywhere, run => {
    run.row.length -= 1
  }),
  runMutation(
    'L4a',
    'a row without an end',
    run => isEnd(lastEvent(run)),
    run => {
      run.row.endedAt = null
    },
  ),
  runMutation(
    'L4a',
    'a row with an end while the log runs',
    run => !isEnd(lastEvent(run)),
    run => {
      run.row.endedAt = lastEvent(run).at
    },
  ),
  runMutation(
    'L4a',
    'an ended run that is still due',
    run => isEnd(lastEvent(run)),
    run => {
      run.row.wakeAt = 0
    },
  ),
  runMutation(
    'L4a',
    'a row with another parent',
    run => run.row.parentRunId !== null,
    run => {
      run.row.parentRunId = null
    },
  ),
  runMutation(
    'L5',
    'a log line after the end',
    run => isEnd(lastEvent(run)),
    run => {
      insert(run, run.events.length, 'log.appended', null, { level: 'info', message: 'late' })
    },
  ),
  runMutation(
    'L5',
    'a node that starts after the end',
    run => isEnd(lastEvent(run)),
    run => {
      const node = run.definition.nodes[0]
      insert(run, run.events.length, 'node.started', node?.id ?? null, {
        nodeId: node?.id,
        typeId: node?.typeId,
        attempt: 0,
      })
    },
  ),
  runMutation(
    'L5a',
    'a log without run.started',
    run => run.events.length > 1,
    run => remove(run, firstEvent(run)),
  ),
  mutation('L5a', 'a run that starts twice', notFirst, ({ run, at }) => {
    insert(run, at, 'run.started', null, firstEvent(run).payload)
  }),
  runMutation('L5a', 'an event before run.started', anywhere, run => {
    insert(run, 0, 'log.appended', null, { level: 'info', message: 'early' })
  }),
  mutation('L32', 'a run.started of another tenant', ofType('run.started'), ({ event }) => {
    event.payload.owner = { tenant: 'mallory' }
  }),
  runMutation(
    'L32',
    'a child of another tenant',
    run => run.row.parentRunId !== null,
    run => {
      run.tenant = 'mallory'
      firstEvent(run).payload.owner = { tenant: 'mallory' }
    },
  ),
  runMutation(
    'L26c',
    'a timeout without a breach',
    run => has(run, 'cap.breached') && codeOf(run) === 'run_timeout',
    (run, draft) => {
      for (const spot of spots(draft, ofType('cap.breached'))) if (spot.run === run) remove(run, spot.event)
    },
  ),
]

type Run = Parameters<typeof firstEvent>[0]

const isSibling = (run: Run, other: Run): boolean =>
  run !== other && run.row.parentRunId !== null && run.row.parentRunId === other.row.parentRunId

const codeOf = (run: Run): unknown => (lastEvent(run).payload.error as { code?: unknown } | undefined)?.code
