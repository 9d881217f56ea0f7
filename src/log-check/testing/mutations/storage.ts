import {
  type DraftEvent,
  type DraftRun,
  insert,
  lastEvent,
  type Mutation,
  mutation,
  remove,
  runMutation,
  type Spot,
} from '../draft.js'

const isChained = ({ event }: Spot): boolean => event.link.hash !== ''
const isInside = ({ run, at }: Spot): boolean => (run.events[at + 1]?.link.hash ?? '') !== ''

/** Changes what a hash covers. */
const tampered = (what: string, change: (event: DraftEvent) => void): Mutation =>
  mutation('L33', `another ${what} under the same hash`, isChained, ({ event }) => change(event))

/** Changes the log as it was read elsewhere. */
const misread = (title: string, change: (read: DraftEvent[]) => void): Mutation =>
  runMutation(
    'L11',
    title,
    run => run.events.length > 1,
    run => {
      const poll = structuredClone(run.events)
      change(poll)
      run.views = { poll }
    },
  )

const firstOf = (read: DraftEvent[]): DraftEvent => read[0] as DraftEvent

export const STORAGE_MUTATIONS: readonly Mutation[] = [
  tampered('payload', event => {
    event.link.payload = event.link.payload.replace('{', '{ ')
  }),
  tampered('secret', event => {
    event.link.secret = '{"more":1}'
  }),
  tampered('cause', event => {
    event.link.cause = 99
  }),
  tampered('input', event => {
    event.link.input = '{"type":"CancelRun"}'
  }),
  tampered('salt', event => {
    event.link.salt = 'pepper'
  }),
  mutation('L33', 'a salt taken away', isChained, ({ event }) => {
    event.link.salt = null
  }),
  tampered('time', event => {
    event.at += 1
  }),
  tampered('type', event => {
    event.type = 'assay.other'
  }),
  tampered('node', event => {
    event.nodeId = 'other'
  }),
  mutation('L33', 'a hash of its own', isChained, ({ event }) => {
    event.link.hash = 'A'.repeat(43)
  }),
  mutation(
    'L33',
    'an event without a hash inside the chain',
    ({ run, at }) => (run.events[at - 1]?.link.hash ?? '') !== '',
    ({ event }) => {
      event.link.hash = ''
    },
  ),
  mutation(
    'L33',
    'an event taken out of the chain',
    spot => isChained(spot) && isInside(spot),
    ({ run, event }) => {
      remove(run, event)
    },
  ),
  mutation('L33', 'an event put into the chain', isChained, ({ run, at }) => {
    insert(run, at + 1, 'log.appended', null, { level: 'info', message: 'slipped in' })
  }),
  runMutation('L33a', 'a head of another log', hasHead, run => {
    run.row.head = 'A'.repeat(43)
  }),
  runMutation('L33a', 'a log without its end', hasHead, run => remove(run, lastEvent(run))),
  misread('an event that a reader never saw', read => {
    read.pop()
  }),
  misread('an event that only a reader saw', read => {
    read.push({ ...firstOf(read), sequence: read.length })
  }),
  misread('an event that a reader saw otherwise', read => {
    firstOf(read).payload.more = true
  }),
  misread('an event that a reader saw under another id', read => {
    firstOf(read).eventId = 'other'
  }),
  misread('two events that a reader saw in another order', read => {
    read.reverse()
  }),
]

function hasHead(run: DraftRun): boolean {
  return lastEvent(run).link.hash !== ''
}
