import { isTerminal } from '../../core/run/events.js'
import { STREAM_ENDED } from '../../core/standing/stream.js'
import { sleep } from '../../timing/sleep.js'
import type { Clock } from '../ports/clock.js'
import type { StoredEvent } from '../ports/event-log.js'
import type { Store } from '../ports/store.js'

const PAGE = 500
/** A page is read, and given to its reader, in one go: it must not be large, however large events are. */
const PAGE_BYTES = 256 * 1024
/** How long a follower may miss what another host wrote, should every hint be lost. */
const POLL_MS = 1_000
const MAX_BUFFERED = 1_000
/** And no more than so much of them: a reader that takes nothing keeps no events in memory, however large they are. */
const MAX_BUFFERED_CHARACTERS = 1024 * 1024

/** Nothing comes after it in the log of a run, or of a standing stream. */
export const endsLog = (type: string): boolean => isTerminal(type) || type === STREAM_ENDED

/** Followers of logs: each reads the log, then takes what is appended straight from the commit that made it. */
export class Followers {
  readonly #byRun = new Map<string, Set<Follower>>()

  constructor(
    private readonly store: Store,
    private readonly clock: Clock,
  ) {}

  /** How many there are, of all runs. */
  get size(): number {
    let size = 0
    for (const group of this.#byRun.values()) size += group.size
    return size
  }

  /** New events of a run, as they were just made durable. */
  publish(runId: string, events: readonly StoredEvent[]): void {
    for (const follower of this.#byRun.get(runId) ?? []) follower.offer(events)
  }

  /** Something may be new; the log knows. */
  hint(runId: string): void {
    for (const follower of this.#byRun.get(runId) ?? []) follower.wake()
  }

  /** The log from `from` on, in order, without gap or repetition; ends after the terminal event. */
  async *follow(runId: string, from: number, signal: AbortSignal): AsyncGenerator<readonly StoredEvent[]> {
    const follower = new Follower(this.clock)
    const group = this.#byRun.get(runId) ?? new Set()
    this.#byRun.set(runId, group.add(follower))
    const stop = () => follower.wake()
    signal.addEventListener('abort', stop)
    try {
      let next = from
      while (!signal.aborted) {
        const events = follower.takeFrom(next) ?? (await this.store.readEvents(runId, next, PAGE, PAGE_BYTES))
        const last = events.at(-1)
        if (last) {
          yield events
          next = last.sequence + 1
          if (endsLog(last.type)) return
        } else {
          await follower.pause(POLL_MS)
        }
      }
    } finally {
      signal.removeEventListener('abort', stop)
      group.delete(follower)
      if (group.size === 0 && this.#byRun.get(runId) === group) this.#byRun.delete(runId)
    }
  }
}

class Follower {
  #buffer: StoredEvent[] = []
  #characters = 0
  #poked = false
  #resume: () => void = () => undefined

  constructor(private readonly clock: Clock) {}

  /** A reader that falls behind keeps nothing here and reads the log instead. */
  offer(events: readonly StoredEvent[]): void {
    for (const { payload, secret } of events) this.#characters += payload.length + (secret?.length ?? 0)
    if (this.#buffer.length + events.length > MAX_BUFFERED || this.#characters > MAX_BUFFERED_CHARACTERS) this.#empty()
    else this.#buffer.push(...events)
    this.wake()
  }

  wake(): void {
    this.#poked = true
    this.#resume()
  }

  /** What was offered, as far as it continues at `next` without a gap; beyond a gap only the log can tell. */
  takeFrom(next: number): StoredEvent[] | undefined {
    const events: StoredEvent[] = []
    for (const event of this.#buffer) if (event.sequence === next + events.length) events.push(event)
    this.#empty()
    return events.length > 0 ? events : undefined
  }

  #empty(): void {
    this.#buffer = []
    this.#characters = 0
  }

  async pause(ms: number): Promise<void> {
    if (!this.#poked) {
      const waking = new AbortController()
      this.#resume = () => waking.abort()
      await sleep(this.clock, ms, waking.signal)
      this.#resume = () => undefined
    }
    this.#poked = false
  }
}

/** Of a run that has ended, for whoever has heard all of it. */
export const nothingToFollow = (): AsyncIterable<readonly StoredEvent[]> => ({
  [Symbol.asyncIterator]: () => ({ next: async () => ({ done: true, value: undefined }) }),
})
