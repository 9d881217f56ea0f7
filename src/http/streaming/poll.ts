import { isTerminal, type RunStatus } from '../../core/run/events.js'
import type { InspectedRun } from '../../engine/api.js'
import type { StoredEvent } from '../../engine/ports/event-log.js'
import { renderEvent } from '../../wire/render.js'
import { type LogReading, wholeLog } from './paged-log.js'

/**
 * Newer events as soon as there are any; an empty list when `signal` aborts first. Ended runs and runs with something
 * newer answer at once.
 */
export async function pollRun(
  edge: LogReading,
  view: InspectedRun,
  after: number,
  signal: AbortSignal,
): Promise<readonly StoredEvent[]> {
  const { tenant, runId } = view
  const from = after + 1
  if (isOver(view) || lengthOf(view) > from) return wholeLog(edge, view, from)
  // Not past the end: a follower that starts beyond it might never see the run end.
  const source = await edge.engine.follow(tenant, runId, Math.min(from, lengthOf(view)), signal)
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

/** The union of the two documented bodies (contract core ⚠C1). */
export function renderPoll(view: InspectedRun, events: readonly StoredEvent[], engineVersion: string): string {
  const last = events.at(-1)
  const ending = last !== undefined && isTerminal(last.type) ? (last.type.slice('run.'.length) as RunStatus) : undefined
  const status = ending ?? view.status
  const over = ending !== undefined || isOver(view)
  const lastSeq = last?.sequence ?? lengthOf(view) - 1
  const docs = events.map(event => renderEvent(view.runId, event, { engineVersion })).join(',')
  return `{"runId":"${view.runId}","events":[${docs}],"isComplete":${over},"lastEventSeq":${lastSeq},"runStatus":"${status}","isTerminal":${over}}`
}
