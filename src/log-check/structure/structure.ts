import { eachRun, type Log, type LoggedEvent, type Rule, type RunLog } from '../checked.js'
import { isPeerRun } from '../handoff/peer-names.js'

/** The envelope: order, identity, cause, time and fence of every event, whatever it says. */
export const structureRules: readonly Rule[] = [
  {
    id: 'L1',
    title: 'The sequence of a run is 0, 1, 2 … without gap or repetition',
    source: 'core §5.3',
    checks: eachRun((run, say) => {
      run.events.forEach((event, place) => {
        if (event.sequence !== place) say(`event ${place} of the log has sequence ${event.sequence}`, event)
      })
    }),
  },
  {
    id: 'L2',
    title: 'An event id is used once in the whole store',
    source: 'core §5.3',
    checks(log, report) {
      const seen = new Set<string>()
      for (const run of log.runs) {
        for (const event of run.events) {
          if (seen.has(event.id)) report(run, `event id ${event.id} is used twice`, event)
          seen.add(event.id)
        }
      }
    },
  },
  {
    id: 'L3',
    title: 'A cause is a strictly earlier event of the same run, or an event of its parent or child',
    source: 'core §5.3',
    checks(log, report) {
      const places = placesOf(log)
      for (const run of log.runs) {
        const elsewhere = mayLieElsewhere(log, run)
        for (const event of run.events) {
          const problem = causeProblem(places, elsewhere, run, event)
          if (problem !== undefined) report(run, problem, event)
        }
      }
    },
  },
  {
    id: 'L3a',
    title: 'No event is, through others, its own cause',
    source: 'core §5.3',
    checks(log, report) {
      for (const { run, event } of cycles(placesOf(log))) report(run, `event ${event.id} causes itself`, event)
    },
  },
  {
    id: 'L3b',
    title: 'Only some events name the host of their cause, and they have one',
    source: 'agents §8, §29 A11',
    checks: eachRun((run, say) => {
      for (const event of run.events) {
        if (event.payload.causationHostId === undefined) continue
        if (!NAME_A_HOST.includes(event.type)) say(`${event.type} names the host of its cause`, event)
        if ((event.raw.causationId ?? null) === null) say('the host of a cause that is not there', event)
      }
    }),
  },
  {
    id: 'L6',
    title: 'The epoch under which events are written never goes back',
    source: 'ports S3, S8',
    checks: eachRun((run, say) => {
      let highest = Number.NEGATIVE_INFINITY
      for (const event of run.events) {
        const epoch = event.raw.epoch ?? highest
        if (epoch < highest) say(`epoch ${epoch} after epoch ${highest}`, event)
        highest = Math.max(highest, epoch)
      }
    }),
  },
  {
    id: 'L8',
    title: 'Time never goes back within a run',
    source: 'core §5.3',
    checks: eachRun((run, say) => {
      let latest = Number.NEGATIVE_INFINITY
      for (const event of run.events) {
        if (!Number.isFinite(event.at)) say('the time is not a time', event)
        else if (event.at < latest) say(`time goes back by ${latest - event.at} ms`, event)
        else latest = event.at
      }
    }),
  },
]

/** agents R-XHOST-4 */
export const NAME_A_HOST: readonly string[] = [
  'core.workflowChain.event',
  'core.workflowChain.confidence-escalated',
  'agent.reasoned',
  'agent.toolCalled',
  'agent.toolReturned',
  'agent.handoff',
  'agent.decided',
  'agent.verified',
  'runOrchestrator.decided',
  'prompt.composed',
  'agent.promptResolved',
]

type Place = { readonly run: RunLog; readonly event: LoggedEvent }

function placesOf(log: Log): Map<string, Place> {
  const places = new Map<string, Place>()
  for (const run of log.runs) for (const event of run.events) places.set(event.id, { run, event })
  return places
}

function causeProblem(
  places: Map<string, Place>,
  elsewhere: boolean,
  run: RunLog,
  event: LoggedEvent,
): string | undefined {
  const causeId = event.raw.causationId ?? undefined
  if (causeId === undefined || event.payload.causationHostId !== undefined) return undefined
  const cause = places.get(causeId)
  if (cause === undefined) return elsewhere ? undefined : `cause ${causeId} does not exist`
  if (cause.run === run) {
    return cause.event.sequence < event.sequence ? undefined : `cause ${causeId} is not earlier in the log`
  }
  const related = cause.run.parentRunId === run.run.runId || run.parentRunId === cause.run.run.runId
  return related ? undefined : `cause ${causeId} belongs to run ${cause.run.run.runId}, neither parent nor child`
}

/** True when a relative of the run was not given, so that its events cannot be looked up. */
function mayLieElsewhere(log: Log, run: RunLog): boolean {
  if (log.input.complete === true) return false
  if (run.parentRunId !== undefined && !log.byId.has(run.parentRunId)) return true
  return run.events.some(
    ({ type, payload }) =>
      type === 'node.dispatched' && !isPeerRun(payload.childRunId) && !log.byId.has(String(payload.childRunId)),
  )
}

/** Each event has at most one cause, so following causes either ends or closes a ring. One event per ring is returned. */
function cycles(places: Map<string, Place>): Place[] {
  const found: Place[] = []
  const visitedIn = new Map<string, number>()
  let round = 0
  for (const start of places.values()) {
    round += 1
    let place: Place | undefined = start
    while (place !== undefined && !visitedIn.has(place.event.id)) {
      visitedIn.set(place.event.id, round)
      const causeId: string | null = place.event.raw.causationId ?? null
      place = causeId === null ? undefined : places.get(causeId)
    }
    if (place !== undefined && visitedIn.get(place.event.id) === round) found.push(place)
  }
  return found
}
