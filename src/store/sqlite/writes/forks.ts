import type { Fork } from '../../../core/replay/events.js'
import type { StreamAppend } from '../../../engine/ports/event-log.js'
import { checkFork } from '../../fork-rules.js'
import type { Connection } from '../connection.js'
import { SQL } from '../statements.js'

/** Throws when the fork cannot be made; returns when it has ended by what it shares. */
export function sharedEnd(db: Connection, { runId, create, events }: StreamAppend): number | null {
  if (!create?.fork) return null
  const { tenant, fork } = create
  const source = db.get(SQL.runs.source, fork.sourceRunId) as Parameters<typeof checkFork>[1]
  return checkFork({ runId, tenant, fork, ownEvents: events.length }, source)
}

export function shareEvents(db: Connection, runId: string, { sourceRunId, fromSeq }: Fork): void {
  db.run(SQL.events.share, runId, sourceRunId, fromSeq)
}

/** Times of the first and the last event that a fork shares. */
export const sharedTimes = (db: Connection, { sourceRunId, fromSeq }: Fork): { first: number; last: number } => ({
  first: timeOf(db, sourceRunId, 0),
  last: timeOf(db, sourceRunId, fromSeq - 1),
})

const timeOf = (db: Connection, runId: string, sequence: number): number =>
  db.get(SQL.events.time, runId, sequence)!.at as number
