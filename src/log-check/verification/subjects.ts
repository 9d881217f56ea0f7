import type { LoggedEvent, RunLog } from '../checked.js'
import { phaseOf } from '../handoff/chains.js'
import { text } from '../json.js'
import { oncePerRun } from '../node/node-attempts.js'

/** The results that verdicts are about. */

/** The events that brought a result, by the name verdicts know it by. */
const subjects = oncePerRun((run: RunLog): Map<unknown, LoggedEvent[]> => {
  const found = new Map<unknown, LoggedEvent[]>()
  for (const event of run.events) {
    const isBrought = phaseOf(event) === 'child.completed'
    const names = [event.id, isBrought ? event.payload.childRunId : undefined]
    if (event.type === 'agent.toolReturned') names.push(event.payload.callId)
    for (const name of names) if (name !== undefined) found.set(name, [...(found.get(name) ?? []), event])
  }
  return found
})

/** Events before this one that brought the result of that name. A fork names events of its source by their place. */
export function subjectsBefore(run: RunLog, { sequence }: LoggedEvent, target: unknown): LoggedEvent[] {
  const place = run.fork === null && run.ownFrom === 0 ? undefined : text(target)?.match(/:(\d+)$/)?.[1]
  const known = subjects(run).get(target) ?? [run.events[Number(place ?? -1)] ?? []].flat()
  return known.filter(event => event.sequence < sequence)
}
