import type { JsonObject } from '../json.js'

/**
 * A standing stream is a log beside those of runs: it is chained, claimed and woken like one, has a decider of its own and
 * starts runs. What follows is common to its kinds.
 */

/** By kind: what its rows stand under in the place of a workflow, which no workflow may be called, and how its ids begin. */
const KINDS = {
  goal: { workflowId: 'assay-goal', prefix: 'goal-' },
  schedule: { workflowId: 'assay-schedule', prefix: 'schedule-' },
  commitment: { workflowId: 'assay-commitment', prefix: 'commitment-' },
} as const

export type StreamKindName = keyof typeof KINDS

export const STREAM_WORKFLOWS: readonly string[] = Object.values(KINDS).map(({ workflowId }) => workflowId)

export const streamWorkflow = (kind: StreamKindName): string => KINDS[kind].workflowId

/** `unique` is as ids of runs are, so that streams sort by the time of their creation. */
export const streamId = (kind: StreamKindName, unique: string): string => `${KINDS[kind].prefix}${unique}`

/** The kind of stream that this is the id of; ids of runs are none. */
export const kindOfId = (id: string): StreamKindName | undefined =>
  (Object.keys(KINDS) as StreamKindName[]).find(kind => id.startsWith(KINDS[kind].prefix))

export const isStreamId = (id: string): boolean => kindOfId(id) !== undefined

/**
 * A run begins, in this same commit. The store keeps it in a table of its own (S16): under one role ordinals are dense from
 * 1, no tick has two runs, and no run has two beginnings.
 */
export const RUN_BEGAN = 'assay.stream.run.began'

export type StreamRunBegan = {
  /** `work` contributes; `judge` judges what one that contributed has left. */
  role: 'work' | 'judge'
  ordinal: number
  runId: string
  /** What the run is there for, where that may be there once only: the time of a tick, or what is judged. */
  tick?: string
}

/** The last event of a stream: nothing of it is open, and nothing will be started. */
export const STREAM_ENDED = 'assay.stream.ended'

/** An event as a stream records it. `payload` is free of content; what is not stands in `secret`. */
export type StandingEvent<Type extends string = string, Payload extends object = object, Secret = object> = {
  readonly type: Type
  readonly payload: Payload
  readonly secret?: Secret
}

export type RecordedInStream<Event> = Event & {
  readonly sequence: number
  readonly at: number
  /** What was put to the stream, on the first event it led to. */
  readonly input?: JsonObject
}

/** What every state of a stream has. `ended` once STREAM_ENDED was told. */
export type StreamState =
  | { readonly phase: 'absent' }
  | {
      readonly phase: 'open' | 'ended'
      readonly tenant: string
      /** Sequence the next event will get. */
      readonly next: number
      /** Time of the latest event; the next one is never earlier. */
      readonly lastAt: number
    }
