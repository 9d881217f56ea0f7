import type { RunEventDoc } from '../../client/wire-shapes.js'

/** An event on the way back from what happened last to what it all began with. */
export type CauseStep = {
  readonly hostId: string
  readonly runId: string
  readonly eventId: string
  readonly type: string
  readonly phase?: string
}

/** A run as its own host tells of it. */
export type ToldRun = {
  readonly events: readonly RunEventDoc[]
  readonly parent: { readonly runId: string; readonly hostId: string } | null
}

type Place = { readonly hostId: string; readonly runId: string; readonly eventId: string | undefined }

/** No chain of causes is longer, whatever hosts say. */
const MOST_STEPS = 10_000

/**
 * From the last event of a run that has a cause, cause by cause: within a log, over to another host where an event names
 * one, and from where a run began to what has started it. It ends where nothing is named any more, or where `runOf` knows
 * of no such run.
 */
export async function causesOf(
  first: { readonly runId: string; readonly hostId: string },
  runOf: (hostId: string, runId: string) => Promise<ToldRun | undefined>,
): Promise<CauseStep[]> {
  const steps: CauseStep[] = []
  const seen = new Set<string>()
  let place: Place | undefined = { ...first, eventId: undefined }
  while (place !== undefined && steps.length < MOST_STEPS) {
    const { hostId, runId, eventId }: Place = place
    const told: ToldRun | undefined = await runOf(hostId, runId)
    const event: RunEventDoc | undefined = told && eventIn(told, eventId)
    if (told === undefined || event === undefined || seen.has(`${hostId} ${event.eventId}`)) break
    seen.add(`${hostId} ${event.eventId}`)
    const { phase } = fieldsOf(event)
    steps.push({
      hostId,
      runId,
      eventId: event.eventId,
      type: event.type,
      ...(typeof phase === 'string' ? { phase } : {}),
    })
    place = event.causationId ? causeOf(event, event.causationId, place) : await startOf(told, place, runOf)
  }
  return steps
}

const eventIn = ({ events }: ToldRun, eventId: string | undefined): RunEventDoc | undefined =>
  eventId === undefined
    ? (events.findLast(({ causationId }) => causationId) ?? events.at(-1))
    : events.find(event => event.eventId === eventId)

/** Hosts name their events by the run and a number; a verdict names the run that it is about as well. */
function causeOf(event: RunEventDoc, eventId: string, { hostId, runId }: Place): Place {
  const { causationHostId, target } = fieldsOf(event)
  const named = eventId.slice(0, Math.max(0, eventId.lastIndexOf(':')))
  if (typeof causationHostId !== 'string') return { hostId, runId: named || runId, eventId }
  const brought = typeof target === 'string' && target.startsWith('peer:') ? target.slice(target.indexOf('/') + 1) : ''
  return { hostId: causationHostId, runId: brought || named, eventId }
}

/** What has started a run, where one has: the event there that names it, or that it names itself. */
async function startOf(
  { events: [began], parent }: ToldRun,
  { hostId, runId }: Place,
  runOf: (hostId: string, runId: string) => Promise<ToldRun | undefined>,
): Promise<Place | undefined> {
  if (parent === null) return undefined
  const { foreignParent } = fieldsOf(began)
  if (parent.hostId !== hostId) {
    const eventId = Object(foreignParent).eventId as unknown
    return typeof eventId === 'string' ? { ...parent, eventId } : undefined
  }
  const there = await runOf(parent.hostId, parent.runId)
  const eventId = there?.events.find(event => fieldsOf(event).childRunId === runId)?.eventId
  return eventId === undefined ? undefined : { ...parent, eventId }
}

const fieldsOf = (event: RunEventDoc | undefined): { readonly [name: string]: unknown } => Object(event?.payload)
