import type { StoredEvent } from '../engine/ports/event-log.js'
import { CHAIN_START, storedHash } from '../engine/log/chain.js'

/** What somebody vouches for: the run's row, or a signed checkpoint. */
export type Expected = { readonly length: number; readonly head: string }

export type LogAnomaly = {
  readonly kind: 'event-changed' | 'event-missing' | 'event-extra' | 'head-mismatch'
  /** Unknown when the whole log was written anew: then only its end differs from what was vouched for. */
  readonly sequence?: number
}

/** How far a log has been followed, so that long ones can be read in pages. */
export type Walk = {
  /** The sequence that must come next. */
  readonly next: number
  readonly head: string
  /** Events at the beginning that are older than the chain and have no hash. */
  readonly older: number
  /**
   * What `head` would be if the events without a hash had lost it: all of them, or only the last. When what follows
   * fits one of these, the hashes were taken away, and that is where the log was changed.
   */
  readonly ifAllLost: string
  readonly ifLastLost: string
  /** Events whose content was erased. */
  readonly erased: number
  /** Those of them of which only the links that follow tell. */
  readonly unproven: number
}

export const WALK_START: Walk = {
  next: 0,
  head: CHAIN_START,
  older: 0,
  ifAllLost: CHAIN_START,
  ifLastLost: CHAIN_START,
  erased: 0,
  unproven: 0,
}

/** The first thing that is wrong with a whole log. */
export function verifyLog(events: readonly StoredEvent[], expected: Expected): LogAnomaly | undefined {
  const walked = walkOn(WALK_START, events, expected.length)
  return isAnomaly(walked) ? walked : atEnd(walked, expected)
}

/** Goes over the next events of a log that must not be longer than `length`. */
export function walkOn(from: Walk, events: readonly StoredEvent[], length: number): Walk | LogAnomaly {
  let walk = from
  for (const event of events) {
    const step = walkOver(walk, event, length)
    if (isAnomaly(step)) return step
    walk = step
  }
  return walk
}

/** What is wrong once there are no more events. */
export function atEnd(walk: Walk, { length, head }: Expected): LogAnomaly | undefined {
  if (walk.next < length) return { kind: 'event-missing', sequence: walk.next }
  if (walk.head === head) return undefined
  const sequence = lostHash(walk, previous => previous === head)
  return sequence === undefined ? { kind: 'head-mismatch' } : { kind: 'event-changed', sequence }
}

export const isAnomaly = (step: Walk | LogAnomaly): step is LogAnomaly => 'kind' in step

function walkOver(walk: Walk, event: StoredEvent, length: number): Walk | LogAnomaly {
  const { sequence } = event
  if (walk.next >= length || sequence < walk.next) return { kind: 'event-extra', sequence }
  if (sequence > walk.next) return { kind: 'event-missing', sequence: walk.next }
  if (event.hash === '' && walk.older === walk.next) return walkOverOlder(walk, event)
  const hash = storedHash(walk.head, event)
  if (hash === undefined || hash === event.hash) return { ...stepOver(walk, event, hash), head: event.hash }
  const lost = lostHash(walk, previous => storedHash(previous, event) === event.hash)
  return { kind: 'event-changed', sequence: lost ?? sequence }
}

const walkOverOlder = (walk: Walk, event: StoredEvent): Walk => ({
  ...stepOver(walk, event, CHAIN_START),
  head: CHAIN_START,
  older: walk.older + 1,
  ifAllLost: storedHash(walk.ifAllLost, event) ?? CHAIN_START,
  ifLastLost: storedHash(CHAIN_START, event) ?? CHAIN_START,
})

const stepOver = (walk: Walk, { erased }: StoredEvent, hash: string | undefined): Walk => ({
  ...walk,
  next: walk.next + 1,
  erased: walk.erased + Number(erased !== null),
  unproven: walk.unproven + Number(hash === undefined),
})

/** The first event whose hash was taken away, if what comes after the events without one shows that. */
function lostHash(walk: Walk, fits: (previous: string) => boolean): number | undefined {
  if (walk.older === 0 || walk.older !== walk.next) return undefined
  if (fits(walk.ifLastLost)) return walk.older - 1
  return fits(walk.ifAllLost) ? 0 : undefined
}
