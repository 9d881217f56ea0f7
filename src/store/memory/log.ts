import type { Snapshot, StoredEvent } from '../../engine/ports/event-log.js'
import type { Tables } from './tables.js'

/** A fork's own events, with those it shares before them: from fork to source, as far as the range reaches back. */
export function readLog(tables: Tables, runId: string, from: number, limit: number): StoredEvent[] {
  const parts: StoredEvent[][] = []
  let holder = runId
  let upto = from + limit
  for (;;) {
    const fork = tables.runs.get(holder)?.fork ?? null
    const inherited = fork?.fromSeq ?? 0
    const own = tables.events.get(holder) ?? []
    parts.unshift(own.slice(Math.max(from - inherited, 0), Math.max(upto - inherited, 0)))
    if (fork === null || from >= inherited) return parts.flat()
    holder = fork.sourceRunId
    upto = Math.min(upto, inherited)
  }
}

/** The latest of its own, else of what it shares, from fork to source. */
export function readSnapshot(tables: Tables, runId: string, upTo: number): Snapshot | undefined {
  const found = tables.snapshots.get(runId)?.findLast(({ length }) => length <= upTo)
  const fork = tables.runs.get(runId)?.fork ?? null
  if (found || fork === null) return found
  return readSnapshot(tables, fork.sourceRunId, Math.min(upTo, fork.fromSeq))
}
