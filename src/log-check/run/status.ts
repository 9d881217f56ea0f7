import type { LoggedEvent, RunLog } from '../checked.js'
import { type Question, walkQuestions } from '../interrupt/questions.js'
import { type NodeTrack, walk } from '../walk.js'

/** The statuses the log permits. Other hosts may show a run as running while it waits, so `exact` is for Assay's own. */
export function statusesOf(run: RunLog, end: LoggedEvent | undefined, exact: boolean): string[] {
  if (end !== undefined) return [end.type.slice('run.'.length)]
  if (run.events.length === 0) return ['pending']
  const { run: track, nodes } = walk(run)
  if (track.stop !== undefined) return track.stop.payload.outcome === 'cancelled' ? ['cancelling'] : ['running']
  if (track.paused) return ['paused']
  if (!exact) return ['running', ...WAITING]
  const asked = inOrder(run, walkQuestions(run)).map(([, question]) => [waitingFor(question)])
  const mirrored = inOrder(run, nodes)
    .map(([, node]) => mirroredBy(node))
    .filter(statuses => statuses.length > 0)
  const waits = asked.length > 0 ? asked : mirrored
  if (waits.length === 0) return ['running']
  // Any of several children of one node may give it its status.
  return (run.graph === undefined ? waits : waits.slice(0, 1)).flat()
}

const WAITING: readonly string[] = ['waiting-approval', 'waiting-input', 'waiting-external']

/** core §7.2 */
const STATUS_OF: ReadonlyMap<string, string> = new Map([
  ['approval', 'waiting-approval'],
  ['low-confidence', 'waiting-approval'],
  ['clarification', 'waiting-input'],
  ['custom', 'waiting-input'],
  ['external-event', 'waiting-external'],
])

const waitingFor = ({ kind }: Question): string => STATUS_OF.get(kind ?? '') ?? 'waiting-input'

const mirroredBy = ({ phase, childStatuses }: Readonly<NodeTrack>): string[] =>
  ['running', 'interrupted'].includes(phase)
    ? [...childStatuses.values()].filter(status => status.startsWith('waiting-'))
    : []

/** The first node of the definition that waits gives the run its status. */
function inOrder<T>(run: RunLog, byNode: ReadonlyMap<string, T>): [string, T][] {
  const places = new Map([...(run.graph?.nodes.keys() ?? [])].map((id, place) => [id, place]))
  return [...byNode].sort(([a], [b]) => (places.get(a) ?? 0) - (places.get(b) ?? 0))
}
