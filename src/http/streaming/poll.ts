import { isTerminal, type RunStatus } from '../../core/run/events.js'
import type { InspectedRun } from '../../engine/api.js'
import type { StoredEvent } from '../../engine/ports/event-log.js'
import { renderEvent } from '../../wire/render.js'
import type { Edge } from '../deps.js'

export type Events = Iterable<StoredEvent> | AsyncIterable<StoredEvent>

/** What comes after the end of what there is, once it comes; an empty list when `signal` aborts first. */
export async function newEvents(
  { engine }: Pick<Edge, 'engine'>,
  view: InspectedRun,
  after: number,
  signal: AbortSignal,
): Promise<readonly StoredEvent[]> {
  const { tenant, runId } = view
  const from = after + 1
  // Not past the end: a follower that starts beyond it might never see the run end.
  const source = await engine.follow(tenant, runId, Math.min(from, lengthOf(view)), signal)
  if (source === undefined) return []
  for await (const batch of source) {
    const newer = batch.filter(event => event.sequence >= from)
    if (newer.length > 0) return newer
    if (batch.some(event => isTerminal(event.type))) return []
  }
  return []
}

export const lengthOf = (view: InspectedRun): number => (view.state.phase === 'absent' ? 0 : view.state.next)
export const isOver = (view: InspectedRun): boolean => view.state.phase === 'ended'

type Rendering = Pick<Edge, 'engineVersion'>

/** A log as JSON, event by event. */
export async function* logPieces({ engineVersion }: Rendering, { runId }: Pick<InspectedRun, 'runId'>, events: Events) {
  let before = '{"events":['
  for await (const event of events) {
    yield before + renderEvent(runId, event, { engineVersion })
    before = ','
  }
  yield before === ',' ? ']}' : `${before}]}`
}

/** The union of the two documented bodies (contract core ⚠C1). */
export async function* pollPieces({ engineVersion }: Rendering, view: InspectedRun, events: Events) {
  let before = `{"runId":"${view.runId}","events":[`
  let last: StoredEvent | undefined
  for await (const event of events) {
    yield before + renderEvent(view.runId, event, { engineVersion })
    before = ','
    last = event
  }
  const ending = last && isTerminal(last.type) ? (last.type.slice('run.'.length) as RunStatus) : undefined
  const over = ending !== undefined || isOver(view)
  const lastSeq = last?.sequence ?? lengthOf(view) - 1
  yield `${last === undefined ? before : ''}],"isComplete":${over},"lastEventSeq":${lastSeq},"runStatus":"${ending ?? view.status}","isTerminal":${over}}`
}
