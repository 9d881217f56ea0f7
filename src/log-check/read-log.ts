import type { CheckedEvent, CheckedLink, CheckedRun, CheckInput } from './checked.js'
import { get, number, text } from './json.js'

/**
 * Logs as any host of the protocol shows them: a list of RunEventDoc, or an object with one under `events` (an answer
 * of the poll endpoint, a debug bundle). What is missing or of the wrong kind stays visible to the rules.
 */
export function fromWire(json: unknown): CheckInput {
  const docs = Array.isArray(json) ? json : get(json, 'events')
  if (!Array.isArray(docs)) throw new TypeError('a log is a list of events, or an object with a list under "events"')
  const byRun = new Map<string, CheckedEvent[]>()
  for (const doc of docs) {
    const runId = text(get(doc, 'runId')) ?? ''
    const events = byRun.get(runId)
    if (events === undefined) byRun.set(runId, [readDoc(doc)])
    else events.push(readDoc(doc))
  }
  return { runs: [...byRun].map(([runId, events]): CheckedRun => ({ runId, events })) }
}

const readDoc = (doc: unknown): CheckedEvent => ({
  sequence: number(get(doc, 'sequence')) ?? Number.NaN,
  eventId: text(get(doc, 'eventId')) ?? '',
  type: text(get(doc, 'type')) ?? '',
  nodeId: text(get(doc, 'nodeId')) ?? null,
  payload: get(doc, 'payload'),
  causationId: text(get(doc, 'causationId')) ?? null,
  at: Date.parse(text(get(doc, 'timestamp')) ?? ''),
})

/** An event as a store's row holds it: JSON as text, the cause as a sequence of the same run. */
export type EventRow = {
  readonly sequence: number
  readonly type: string
  readonly nodeId: string | null
  readonly payload: string
  readonly secret: string | null
  readonly cause: number | null
  readonly foreignCause?: string | null
  readonly at: number
  readonly epoch?: number
  readonly input?: string | null
  readonly salt?: string | null
  readonly hash?: string
}

export const fromRows = (runId: string, rows: readonly EventRow[]): CheckedEvent[] =>
  rows.map(row => ({
    sequence: row.sequence,
    eventId: `${runId}:${row.sequence}`,
    type: row.type,
    nodeId: row.nodeId,
    payload: parse(row.payload),
    ...(row.secret === null ? {} : { secret: parse(row.secret) }),
    causationId: row.cause === null ? (row.foreignCause ?? null) : `${runId}:${row.cause}`,
    at: row.at,
    ...(row.epoch === undefined ? {} : { epoch: row.epoch }),
    ...(row.hash === undefined ? {} : { link: linkOf(row, row.hash) }),
  }))

const linkOf = ({ payload, secret, cause, foreignCause, input, salt }: EventRow, hash: string): CheckedLink => ({
  payload,
  secret,
  cause,
  ...(foreignCause == null ? {} : { foreignCause }),
  input: input ?? null,
  salt: salt ?? null,
  hash,
})

/** Text that is not JSON becomes an absent payload, which is a finding; a checker must not stop at the first bad row. */
function parse(json: string): unknown {
  try {
    return JSON.parse(json)
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
