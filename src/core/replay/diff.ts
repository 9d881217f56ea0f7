import { isObject, type Json, type JsonObject, own, sameJson } from '../json.js'
import { sameEvent } from './compare.js'

/** An event as far as two logs are compared by it. */
export type ComparedEvent = {
  readonly sequence: number
  readonly type: string
  readonly nodeId?: string | undefined
  readonly payload: Json
}

export type EventDiff<Event> =
  | { readonly seq: number; readonly op: 'changed'; readonly a: Event; readonly b: Event }
  | { readonly seq: number; readonly op: 'removed'; readonly a: Event }
  | { readonly seq: number; readonly op: 'added'; readonly b: Event }

/** A log by how long it is; one that has not ended may still become longer. */
export type ComparedLog = { readonly length: number; readonly ended: boolean }

export type LogDiff<Event> = {
  readonly divergedAtSeq: number | null
  readonly eventDiffs: readonly EventDiff<Event>[]
  /** Only a prefix was compared, or not all differences are listed. */
  readonly truncated: boolean
}

/**
 * How two logs differ, event by event (contract core §2.1 :diff). What one log has beyond the end of the other is a
 * difference only when that other has ended: otherwise it may still get there.
 */
export class LogComparison<Event extends ComparedEvent> {
  /** As many events are compared, from the first on. */
  readonly length: number
  readonly #diffs: EventDiff<Event>[] = []
  #truncated: boolean

  /** `fits` says whether one more difference can be listed. */
  constructor(
    a: ComparedLog,
    b: ComparedLog,
    private readonly fits: (diff: EventDiff<Event>, listed: number) => boolean,
  ) {
    this.length = Math.max(a.ended ? b.length : 0, b.ended ? a.length : 0, Math.min(a.length, b.length))
    this.#truncated = !(a.ended && b.ended)
  }

  /** The next events of both, as far as they have any. False when there is nothing more to be found out. */
  compare(seq: number, a: Event | undefined, b: Event | undefined): boolean {
    const diff = diffAt(seq, a, b)
    if (diff === undefined) return true
    if (!this.fits(diff, this.#diffs.length)) {
      this.#truncated = true
      return false
    }
    this.#diffs.push(diff)
    return true
  }

  get found(): LogDiff<Event> {
    return { divergedAtSeq: this.#diffs[0]?.seq ?? null, eventDiffs: this.#diffs, truncated: this.#truncated }
  }
}

function diffAt<Event extends ComparedEvent>(
  seq: number,
  a: Event | undefined,
  b: Event | undefined,
): EventDiff<Event> | undefined {
  if (a === undefined) return b && { seq, op: 'added', b }
  if (b === undefined) return { seq, op: 'removed', a }
  return sameEvent(a, b) ? undefined : { seq, op: 'changed', a, b }
}

/** Where two objects differ, by name: `{a?, b?}` for each value that is not the same in both. */
export function diffValues(a: JsonObject, b: JsonObject): JsonObject {
  const names = [...new Set([...Object.keys(a), ...Object.keys(b)])]
  return Object.fromEntries(
    names.flatMap(name => {
      const [left, right] = [own(a, name), own(b, name)]
      if (sameJson(left, right)) return []
      return [[name, { ...(left === undefined ? {} : { a: left }), ...(right === undefined ? {} : { b: right }) }]]
    }),
  )
}

/** How the states two logs lead to differ: the status, and each variable and channel by name. */
export function diffStates(a: JsonObject, b: JsonObject): JsonObject {
  const status = diffValues({ status: a.status ?? null }, { status: b.status ?? null })
  const parts = ['variables', 'channels'].flatMap(part => {
    const diff = diffValues(valuesOf(a[part]), valuesOf(b[part]))
    return Object.keys(diff).length === 0 ? [] : [[part, diff] as const]
  })
  return { ...status, ...Object.fromEntries(parts) }
}

const valuesOf = (part: Json | undefined): JsonObject => (isObject(part) ? part : {})
