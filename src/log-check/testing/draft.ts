import type { CheckInput } from '../checked.js'
import { type Choose, pick } from './choice.js'

/** A legal log that may be broken in place. */
export type Draft = {
  complete: boolean
  limits?: { maxNodeExecutions?: number; maxLoopIterations?: number; confidenceFloor?: number }
  runs: DraftRun[]
}

export type DraftRun = {
  runId: string
  tenant: string
  definition: DraftDefinition
  events: DraftEvent[]
  invocations: { id: string; nodeId: string; ordinal: string; provider: string }[]
  views?: { poll: DraftEvent[] }
  snapshot: { variables: Record<string, unknown>; channels: Record<string, unknown> }
  row: {
    status: string
    length: number
    parentRunId: string | null
    parentNodeId: string | null
    endedAt: number | null
    wakeAt: number | null
    fork: DraftFork | null
    head: string
  }
}

type DraftDefinition = {
  nodes: {
    id: string
    typeId: string
    config: Record<string, unknown>
    settings?: { maxRetries?: number; timeoutMs?: number }
  }[]
  edges: { sourceNodeId: string; targetNodeId: string; triggerRule?: string }[]
  channels: Record<string, Record<string, unknown>>
  settings: { maxRetries?: number }
}

export type DraftFork = { sourceRunId: string; fromSeq: number; mode: 'replay' | 'branch'; sourceLength: number }

export type DraftEvent = {
  sequence: number
  eventId: string
  type: string
  nodeId: string | null
  payload: Record<string, unknown>
  secret?: Record<string, unknown>
  causationId: string | null
  at: number
  epoch?: number
  link: {
    payload: string
    secret: string | null
    cause: number | null
    input: string | null
    salt: string | null
    hash: string
  }
}

/** One way to break a log, and the rule that must notice. `apply` answers false when the log offers no place for it. */
export type Mutation = {
  readonly rule: string
  readonly title: string
  apply(draft: Draft, choose: Choose): boolean
}

export type Spot = { readonly run: DraftRun; readonly event: DraftEvent; readonly at: number }

/** Nothing in it is shared: what is changed in one run stays as it was in another. */
export const draftOf = (input: CheckInput): Draft => JSON.parse(JSON.stringify(input)) as Draft

export const spots = (draft: Draft, fits: (spot: Spot) => boolean): Spot[] =>
  draft.runs.flatMap(run => run.events.map((event, at) => ({ run, event, at })).filter(fits))

/** A mutation of one event: picks among those that fit. */
export const mutation = (
  rule: string,
  title: string,
  fits: (spot: Spot, draft: Draft) => boolean,
  change: (spot: Spot, draft: Draft, choose: Choose) => void,
): Mutation => ({
  rule,
  title,
  apply(draft, choose) {
    const candidates = spots(draft, spot => fits(spot, draft))
    if (candidates.length === 0) return false
    change(pick(choose, candidates), draft, choose)
    return true
  },
})

/** A mutation of one run. */
export const runMutation = (
  rule: string,
  title: string,
  fits: (run: DraftRun, draft: Draft) => boolean,
  change: (run: DraftRun, draft: Draft, choose: Choose) => void,
): Mutation => ({
  rule,
  title,
  apply(draft, choose) {
    const candidates = draft.runs.filter(run => fits(run, draft))
    if (candidates.length === 0) return false
    change(pick(choose, candidates), draft, choose)
    return true
  },
})

export const ofType =
  (...types: string[]) =>
  ({ event }: Spot): boolean =>
    types.includes(event.type)

/** Takes an event out and closes the gap, so that only what the event said is missing. */
export function remove(run: DraftRun, event: DraftEvent): void {
  run.events.splice(run.events.indexOf(event), 1)
  for (const other of run.events) if (other.causationId === event.eventId) other.causationId = null
  renumber(run)
}

let inserted = 0

/** Puts an event in before place `at`, numbered and timed to fit. */
export function insert(run: DraftRun, at: number, type: string, nodeId: string | null, payload: object): DraftEvent {
  const before = run.events[Math.max(0, at - 1)] as DraftEvent
  const event = { ...before, eventId: `extra_${inserted++}`, type, nodeId, payload: { ...payload }, causationId: null }
  run.events.splice(at, 0, event)
  renumber(run)
  return event
}

/** Moves an event to place `to`, keeping times and epochs in order. Nothing has a cause any more that could come later. */
export function move(run: DraftRun, event: DraftEvent, to: number): void {
  shift(run, event, to)
  for (const moved of run.events) moved.causationId = null
}

/** Moves an event to place `to`; every event keeps its cause. */
export function shift(run: DraftRun, event: DraftEvent, to: number): void {
  const slots = run.events.map(({ at, epoch }) => ({ at, epoch }))
  run.events.splice(run.events.indexOf(event), 1)
  run.events.splice(to, 0, event)
  run.events.forEach((moved, place) => {
    Object.assign(moved, slots[place])
  })
  renumber(run)
}

function renumber(run: DraftRun): void {
  run.events.forEach((event, place) => {
    event.sequence = place
  })
  run.row.length = run.events.length
}

/** Not shared with the run this one was forked from. */
export const isOwn = ({ run, event }: Spot): boolean => event.sequence >= (run.row.fork?.fromSeq ?? 0)

/** The run hands a node to a child of its own; a replay only tells of its source's. */
export const dispatches = (spot: Spot): boolean =>
  spot.event.type === 'node.dispatched' && isOwn(spot) && spot.run.row.fork?.mode !== 'replay'

export const nodeOf = (run: DraftRun, id: string | null) => run.definition.nodes.find(node => node.id === id)

export const isEnd = (event: DraftEvent | undefined): boolean =>
  ['run.completed', 'run.failed', 'run.cancelled'].includes(event?.type ?? '')

export const has = (run: DraftRun, type: string): boolean => run.events.some(event => event.type === type)

export const firstEvent = (run: DraftRun): DraftEvent => run.events[0] as DraftEvent

export const lastEvent = (run: DraftRun): DraftEvent => run.events.at(-1) as DraftEvent

/** The node event of the same node that comes before or after a spot. */
export const previousOf = ({ run, event, at }: Spot): DraftEvent | undefined =>
  run.events.slice(0, at).findLast(other => other.nodeId === event.nodeId && other.type.startsWith('node.'))

export const nextOf = ({ run, event, at }: Spot): DraftEvent | undefined =>
  run.events.slice(at + 1).find(other => other.nodeId === event.nodeId && other.type.startsWith('node.'))

/** The latest event before a spot that fits. */
export const before = ({ run, at }: Spot, fits: (event: DraftEvent) => boolean): DraftEvent | undefined =>
  run.events.slice(0, at).findLast(fits)

/** The first event after a spot that fits. */
export const after = ({ run, at }: Spot, fits: (event: DraftEvent) => boolean): DraftEvent | undefined =>
  run.events.slice(at + 1).find(fits)

export const all =
  (...tests: ((spot: Spot, draft: Draft) => boolean)[]) =>
  (spot: Spot, draft: Draft): boolean =>
    tests.every(test => test(spot, draft))

export const typeOf = (run: DraftRun, id: string | null): string | undefined => nodeOf(run, id)?.typeId

/** A mutation that changes one event and nothing else. */
export const changed = (
  rule: string,
  title: string,
  fits: (spot: Spot, draft: Draft) => boolean,
  change: (event: DraftEvent) => void,
): Mutation => mutation(rule, title, fits, ({ event }) => change(event))

/** A mutation that sets one field. */
export const setsField = (
  rule: string,
  title: string,
  fits: (spot: Spot, draft: Draft) => boolean,
  field: string,
  value: unknown,
): Mutation => changed(rule, title, fits, event => Object.assign(event.payload, { [field]: value }))

/** A mutation that takes the event out. */
export const lost = (rule: string, title: string, fits: (spot: Spot, draft: Draft) => boolean): Mutation =>
  mutation(rule, title, fits, ({ run, event }) => remove(run, event))

/** A mutation that takes the event's cause away. */
export const uncaused = (rule: string, title: string, fits: (spot: Spot, draft: Draft) => boolean): Mutation =>
  changed(rule, title, fits, event => {
    event.causationId = null
  })

/** A copy of the event at a place, with the same cause. */
export function repeat(run: DraftRun, event: DraftEvent, at: number, more: object = {}): DraftEvent {
  const copy = insert(run, at, event.type, event.nodeId, { ...event.payload, ...more })
  copy.causationId = event.causationId
  return copy
}
