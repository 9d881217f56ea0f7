import type { Fields, LoggedEvent, RunLog } from '../checked.js'
import { fields, get, isFields, list, number, text } from '../json.js'
import { oncePerRun } from '../node/node-attempts.js'

/** Where a run stands in memory and workspace, as its log tells it (docs/design/journal.md). */

export const SPACES = ['memory', 'workspace'] as const
export type Space = (typeof SPACES)[number]

/** What a run sees and writes in one space: a scope up to a position, its own layers, and what is beneath. */
export type Place = {
  readonly scope: unknown
  readonly upTo: number
  readonly runs: readonly unknown[]
  readonly beneath: readonly unknown[]
}

export type Places = { readonly [Of in Space]?: Place }

/** The events that tell of a write, with what each of them is. */
export const WRITES: { readonly [type: string]: { readonly space: Space; readonly op: 'put' | 'forget' } } = {
  'memory.written': { space: 'memory', op: 'put' },
  'assay.memory.forgotten': { space: 'memory', op: 'forget' },
  'assay.file.written': { space: 'workspace', op: 'put' },
  'assay.file.removed': { space: 'workspace', op: 'forget' },
}

export const READ = 'assay.journal.read'

export const isWrite = ({ type }: LoggedEvent): boolean => Object.hasOwn(WRITES, type)

export const isJournal = (event: LoggedEvent): boolean => isWrite(event) || event.type === READ

export const journalEventsOf = oncePerRun((run: RunLog) => run.events.filter(isJournal))

/** What an event says of the places; undefined where it says nothing, or the log does not show it. */
export function placesToldBy({ raw }: LoggedEvent): Places | undefined {
  const told = get(raw.secret, 'journal')
  if (!isFields(told)) return undefined
  return Object.fromEntries(SPACES.flatMap(space => (isFields(told[space]) ? [[space, placeOf(told[space])]] : [])))
}

const placeOf = (told: Fields): Place => ({
  scope: told.scope,
  upTo: number(told.upTo) ?? Number.NaN,
  runs: list(told.runs),
  beneath: list(told.beneath),
})

/** Of a turn of an orchestrator that is an agent: how far its scopes had come. */
export const anchorsOf = ({ type, raw }: LoggedEvent): Fields | undefined =>
  type === 'agent.invocation.started' && isFields(get(raw.secret, 'anchors'))
    ? fields(get(raw.secret, 'anchors'))
    : undefined

/** The places of a run just before each of its events, and after the last. */
export const placesBefore = oncePerRun((run: RunLog): readonly Places[] => {
  let places: Places = {}
  const before = run.events.map(event => {
    const now = places
    places = after(now, event)
    return now
  })
  return [...before, places]
})

function after(places: Places, event: LoggedEvent): Places {
  const told = placesToldBy(event)
  if (told !== undefined) return told
  const anchors = anchorsOf(event)
  if (anchors === undefined) return places
  return Object.fromEntries(
    SPACES.flatMap(space => {
      const place = places[space]
      return place ? [[space, { ...place, upTo: Math.max(place.upTo, number(anchors[space]) ?? 0) }]] : []
    }),
  )
}

/** What a node sees that begins at an event: the topmost reach, and what is beneath. */
export const viewAt = ({ scope, upTo, runs, beneath }: Place, runId: string, before: number, at: number): unknown[] => [
  { scope, upTo, runs: [{ runId, before }, ...runs], at },
  ...beneath,
]

const BEGINS: readonly string[] = ['node.started', 'assay.rework.began']
const ENDS: readonly string[] = ['node.completed', 'node.failed', 'node.retried', 'node.cancelled', 'node.skipped']

/** The start under which the node of an event works: its own, or that of the work that a gate sent back to it. */
export const startOfWork = oncePerRun((run: RunLog): ReadonlyMap<LoggedEvent, LoggedEvent> => {
  const starts = new Map<LoggedEvent, LoggedEvent>()
  const working = new Map<string, LoggedEvent>()
  for (const event of run.events) {
    const { node, type, payload } = event
    if (node === undefined) continue
    const start = working.get(node)
    if (start !== undefined) starts.set(event, start)
    if (BEGINS.includes(type) && (type === 'node.started' || payload.point === 'node')) working.set(node, event)
    if (ENDS.includes(type)) working.delete(node)
  }
  return starts
})

/** Runs that judge have no place anywhere. */
export const judges = ({ started }: RunLog): boolean => JUDGING.includes(text(started.workflowId) ?? '')

const JUDGING: readonly string[] = ['assay-verifier', 'assay-judge']
