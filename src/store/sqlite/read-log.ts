import { countWithin } from '../page-size.js'
import type { SqlRow } from './driver.js'
import type { Reader } from './reader.js'
import { SQL } from './statements.js'

const EVENTS = { own: SQL.events.own, shared: SQL.events.shared }
const SIZES = { own: SQL.events.ownSizes, shared: SQL.events.sharedSizes }

/**
 * A run's own events, and before them those it shares as a fork (S9). They are looked for only when the own ones do not
 * begin where they should, so that the usual read is one query. `limit` -1 is none.
 */
export function readLog(reader: Reader, runId: string, from: number, limit: number, maxBytes?: number): SqlRow[] {
  if (maxBytes === undefined) return read(reader, EVENTS, runId, from, limit)
  const sizes = read(reader, SIZES, runId, from, limit).map(({ bytes }) => bytes as number)
  return read(reader, EVENTS, runId, from, countWithin(sizes, maxBytes))
}

function read(reader: Reader, sql: typeof EVENTS, runId: string, from: number, limit: number): SqlRow[] {
  const own = reader.all(sql.own, runId, from, limit)
  if (own[0]?.seq === from) return own
  const log = [...reader.all(sql.shared, runId, from, limit), ...own]
  return limit < 0 ? log : log.slice(0, limit)
}
