import type { Recorded } from '../../core/run/events.js'
import type { Ids } from '../ports/clock.js'
import type { StoredEvent } from '../ports/event-log.js'
import { chainHash } from './chain.js'
import { upcast } from './upcast.js'

/** Whatever a log is made of. */
export type Encodable = Pick<Recorded, 'sequence' | 'at'> & {
  readonly type: string
  readonly payload: object
  readonly nodeId?: string
  readonly secret?: object
  readonly cause?: number
  readonly foreignCause?: Recorded['foreignCause']
  readonly input?: object
}

/** Rendered once on the way in, each event chained to the one before … */
export function encodeAll(events: readonly Encodable[], head: string, ids: Pick<Ids, 'salt'>): StoredEvent[] {
  let previous = head
  return events.map(event => {
    const link = {
      sequence: event.sequence,
      type: event.type,
      nodeId: event.nodeId ?? null,
      payload: JSON.stringify(event.payload),
      secret: event.secret === undefined ? null : JSON.stringify(event.secret),
      cause: event.cause ?? null,
      foreignCause: event.foreignCause ?? null,
      at: event.at,
      input: event.input === undefined ? null : JSON.stringify(event.input),
      salt: ids.salt(),
      erased: null,
      hash: '',
    }
    link.hash = chainHash(previous, link)
    previous = link.hash
    return link
  })
}

/** … and parsed when a cold run is folded, or when somebody needs a fact of one event. */
export const decode = (runId: string, row: StoredEvent): Recorded =>
  upcast({
    runId,
    sequence: row.sequence,
    type: row.type,
    ...(row.nodeId === null ? {} : { nodeId: row.nodeId }),
    payload: JSON.parse(row.payload),
    ...(row.secret === null ? {} : { secret: JSON.parse(row.secret) }),
    ...(row.cause === null ? {} : { cause: row.cause }),
    ...(row.foreignCause === null ? {} : { foreignCause: row.foreignCause }),
    at: row.at,
    ...(row.input === null ? {} : { input: JSON.parse(row.input) }),
  } as Recorded)
