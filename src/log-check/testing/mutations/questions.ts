import {
  type DraftEvent,
  insert,
  isEnd,
  isOwn,
  lastEvent,
  type Mutation,
  mutation,
  ofType,
  previousOf,
  remove,
  type Spot,
} from '../draft.js'

const requests = ofType('interrupt.requested')
const suspensions = ofType('node.suspended')
const asksAgain = (spot: Spot): boolean => requests(spot) && earlierRequest(spot) !== undefined

/** Sets a field of the event. */
const say = (rule: string, title: string, fits: (spot: Spot) => boolean, field: string, value: unknown): Mutation =>
  mutation(rule, title, fits, ({ event }) => {
    event.payload[field] = value
  })

/** Takes the event out. */
const lose = (rule: string, title: string, fits: (spot: Spot) => boolean): Mutation =>
  mutation(rule, title, fits, ({ run, event }) => remove(run, event))

/** Lets something else happen just before the event. */
const interrupt = (rule: string, title: string, fits: (spot: Spot) => boolean): Mutation =>
  mutation(rule, title, fits, ({ run, at }) => {
    insert(run, at, 'log.appended', null, { level: 'info', message: 'between' })
  })

/** Something a node does, or that happens to it, while it waits for an answer. */
const meanwhile = (type: string, payload: (event: DraftEvent) => object): Mutation =>
  mutation('L28d', `${type} of a node that waits for an answer`, suspensions, ({ run, event, at }) => {
    insert(run, at + 1, type, event.nodeId, { nodeId: event.nodeId, ...payload(event) })
  })

const ERROR = { code: 'effect_failed', message: 'it did not work' }
const GRANT = JSON.stringify({ runId: 'r', interruptId: 'int-2', intent: 'resolve' })
const TOKEN = `${Buffer.from(GRANT).toString('base64url')}.c2lnbmVk`

export const QUESTION_MUTATIONS: readonly Mutation[] = [
  mutation('L28', 'a key that is asked twice', asksAgain, spot => {
    spot.event.payload.key = earlierRequest(spot)?.payload.key
  }),
  mutation('L28', 'an interruptId that is used twice', asksAgain, spot => {
    spot.event.payload.interruptId = earlierRequest(spot)?.payload.interruptId
  }),
  mutation('L28a', 'a key that skips a number', requests, ({ event }) => {
    event.payload.key = `${event.nodeId}:99`
  }),
  say('L28a', 'a key of another node', requests, 'key', 'other:0'),
  say('L28a', 'an interruptId of another place', requests, 'interruptId', 'int-9999'),
  say('L28a', 'a request of another run', spot => requests(spot) && isOwn(spot), 'runId', 'run_other'),
  lose('L28b', 'a request after which nothing is suspended', suspensions),
  lose('L28b', 'a node that is suspended without asking', requests),
  lose('L28b', 'a request without its older spelling', ofType('approval.requested', 'clarification.requested')),
  interrupt('L28b', 'something between request and suspension', suspensions),
  interrupt('L28b', 'something between start and request', requests),
  say('L28b', 'a suspension for another interrupt', suspensions, 'interruptId', 'int-9999'),
  say('L28b', 'a suspension of another kind', suspensions, 'kind', 'other'),
  say('L28b', 'a suspension with another key', suspensions, 'key', 'other:0'),
  say('L28b', 'an older spelling that offers less', ofType('approval.requested'), 'actions', ['accept']),
  say('L28b', 'an older spelling of another artifact', ofType('approval.requested'), 'artifactId', 'other'),
  say('L28b', 'an older spelling that asks something else', ofType('clarification.requested'), 'questions', []),
  meanwhile('node.completed', () => ({ outputs: {} })),
  meanwhile('node.failed', () => ({ error: ERROR, attempts: 1 })),
  meanwhile('node.retried', () => ({ attempt: 1, delayMs: 0, lastError: ERROR })),
  meanwhile('node.started', () => ({ typeId: 'core.interrupt', attempt: 1 })),
  meanwhile('node.resumed', ({ payload }) => ({ interruptId: payload.interruptId })),
  meanwhile('variable.changed', () => ({ name: 'fresh', next: 1 })),
  meanwhile('channel.written', () => ({ channel: 'latest', value: 1, reducer: 'replace', writtenAt: '2026-01-01' })),
  meanwhile('interrupt.requested', ({ payload }) => ({ ...payload, key: 'again', interruptId: 'again' })),
  lose('L28d', 'a node that resumes without an answer', ofType('interrupt.resolved')),
  mutation(
    'L28e',
    'a run that ends while it asks',
    spot =>
      ofType('node.cancelled')(spot) &&
      previousOf(spot)?.type === 'node.suspended' &&
      // Several nodes may wait with what one of them asks.
      previousOf(spot)?.secret === undefined &&
      isEnd(lastEvent(spot.run)),
    ({ run, event }) => remove(run, event),
  ),
  mutation('L4a', 'a row that does not say the run waits', waits, ({ run }) => {
    run.row.status = 'running'
  }),
  mutation('L4a', 'a row that waits for something else', waits, ({ run }) => {
    run.row.status = run.row.status === 'waiting-external' ? 'waiting-input' : 'waiting-external'
  }),
  mutation(
    'L4a',
    'a row that waits for nothing',
    ({ run }) => run.row.status === 'running',
    ({ run }) => {
      run.row.status = 'waiting-input'
    },
  ),
  say('L21f', 'a status of another child', ofType('assay.child.status'), 'childRunId', 'run_other'),
  mutation('L21f', 'a status told twice', ofType('assay.child.status'), ({ run, event, at }) => {
    insert(run, at + 1, event.type, event.nodeId, event.payload)
  }),
  mutation('L21f', 'a status of a node without a child', ofType('assay.child.status'), ({ run, event }) => {
    const dispatched = run.events.filter(other => other.type === 'node.dispatched' && other.nodeId === event.nodeId)
    for (const other of dispatched) remove(run, other)
  }),
  mutation('L28i', 'a token in a payload', anywhere, ({ event }) => {
    event.payload.token = TOKEN
  }),
  mutation('L28i', 'a token inside a text', anywhere, ({ event }) => {
    event.payload.note = { texts: [`answer at https://host/i/${TOKEN}?x=1`] }
  }),
  mutation('L28i', 'a token in what is shown', requests, ({ event }) => {
    event.payload.data = { ...(event.payload.data as object), link: `"${TOKEN}"` }
  }),
]

function anywhere(): boolean {
  return true
}

function waits({ run }: Spot): boolean {
  return run.row.status.startsWith('waiting-')
}

const earlierRequest = ({ run, at }: Spot): DraftEvent | undefined =>
  run.events.slice(0, at).find(event => event.type === 'interrupt.requested')
