import { countWithin } from '../page-size.js'
import type { SqlRow } from './driver.js'
import type { Reader } from './reader.js'

const COLUMNS = 'e.seq, e.type, e.node_id, e.payload, e.secret, e.cause, e.at, e.input, e.salt, e.hash, e.erased'

/** Found without reading what they are the sizes of. */
const SIZES = 'octet_length(e.payload) + coalesce(octet_length(e.secret), 0) AS bytes, e.seq'

const ownOf = (columns: string) => `SELECT ${columns} FROM events e WHERE run_id = ? AND seq >= ? ORDER BY seq LIMIT ?`

/** CROSS JOIN: segment by segment, in order, and no further than the limit. */
const sharedOf = (columns: string) => `SELECT ${columns} FROM prefixes p CROSS JOIN events e
   ON e.run_id = p.source_run_id AND e.seq >= max(p.from_seq, ?2) AND e.seq < p.upto
 WHERE p.run_id = ?1 AND p.upto > ?2 ORDER BY p.upto, e.seq LIMIT ?3`

/**
 * A run's own events, and before them those it shares as a fork (S9). They are looked for only when the own ones do not
 * begin where they should, so that the usual read is one query. `limit` -1 is none.
 */
export function readLog(reader: Reader, runId: string, from: number, limit: number, maxBytes?: number): SqlRow[] {
  if (maxBytes === undefined) return read(reader, EVENTS, runId, from, limit)
  const sizes = read(reader, EVENT_SIZES, runId, from, limit).map(({ bytes }) => bytes as number)
  return read(reader, EVENTS, runId, from, countWithin(sizes, maxBytes))
}

const EVENTS = { own: ownOf(COLUMNS), shared: sharedOf(COLUMNS) }
const EVENT_SIZES = { own: ownOf(SIZES), shared: sharedOf(SIZES) }

function read(reader: Reader, sql: typeof EVENTS, runId: string, from: number, limit: number): SqlRow[] {
  const own = reader.all(sql.own, runId, from, limit)
  if (own[0]?.seq === from) return own
  const log = [...reader.all(sql.shared, runId, from, limit), ...own]
  return limit < 0 ? log : log.slice(0, limit)
}

const SNAPSHOT = `SELECT length, state FROM snapshots WHERE run_id = ?1 AND length <= ?2
  UNION ALL
 SELECT s.length, s.state FROM prefixes p JOIN snapshots s
     ON s.run_id = p.source_run_id AND s.length <= min(p.upto, ?2)
  WHERE p.run_id = ?1 AND p.from_seq < ?2 ORDER BY length DESC LIMIT 1`

/** The latest kept state of a run, or of what it shares. */
export const readSnapshot = (reader: Reader, runId: string, upTo: number): SqlRow | undefined =>
  reader.all(SNAPSHOT, runId, upTo)[0]
