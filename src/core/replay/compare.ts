import { isObject, type Json, sameJson } from '../json.js'

type Said = { readonly type: string; readonly nodeId?: string | undefined; readonly payload: unknown }

/** Fields of a payload that name the log or its clock rather than what happened (contract core §2.1 :diff). */
export const ENVELOPE: ReadonlySet<string> = new Set([
  'eventId',
  'runId',
  'parentRunId',
  'causationId',
  'causationHostId',
  'foreignParent',
  'correlationId',
  'timestamp',
  'traceparent',
  'tracestate',
  'writtenAt',
  'requestedAt',
  'resolvedAt',
  'decidedAt',
])

/** A payload as two runs can be compared by it: an event of the run itself counts by its place in the log. */
export const comparable = (payload: Json): Json =>
  isObject(payload)
    ? Object.fromEntries(
        Object.entries(payload).flatMap(([name, value]) => (ENVELOPE.has(name) ? [] : [[name, placed(name, value)]])),
      )
    : payload

const placed = (name: string, value: Json): Json =>
  (name === 'target' || name === 'targetRef') && typeof value === 'string'
    ? value.replace(/^[^:]+(?=:\d+$)/, '')
    : value

/** Whether two events, of two runs, say the same. */
export const sameEvent = (a: Said, b: Said): boolean =>
  a.type === b.type && a.nodeId === b.nodeId && sameJson(comparable(plain(a.payload)), comparable(plain(b.payload)))

/** A payload in the making may hold undefined fields, which a log never does. */
const plain = (payload: unknown): Json => JSON.parse(JSON.stringify(payload)) as Json
