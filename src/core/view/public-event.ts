import type { RunEvent } from '../run/events.js'
import { isoTime } from '../time.js'

/** An event as every reader of a run gets it: what `GET /v1/runs/{id}/events` and the stream carry. */
export type PublicEvent = {
  readonly eventId: string
  readonly runId: string
  readonly type: string
  readonly payload?: unknown
  readonly timestamp: string
  readonly sequence: number
  readonly nodeId?: string
  readonly causationId?: string
}

type Public<Fact> = Fact extends { readonly type: infer Type; readonly payload: infer Payload }
  ? Omit<PublicEvent, 'type' | 'payload'> & { readonly type: Type; readonly payload: Partial<Payload> }
  : never

/**
 * The events that this version knows. Of their payloads nothing is taken for granted: the events may come from a host of
 * another version, so whoever folds them asks of every field whether it is there.
 */
export type KnownEvent = Public<RunEvent>
export type KnownOf<Type extends KnownEvent['type']> = Extract<KnownEvent, { type: Type }>

/** Only for a `switch` over `type`: an event of a type that is not known falls through to `default`. */
export const asKnown = (event: PublicEvent): KnownEvent => ({ ...event, payload: event.payload ?? {} }) as KnownEvent

/** A timestamp moved by some milliseconds. */
export const moved = (timestamp: string, ms: number): string => isoTime(Date.parse(timestamp) + ms)
