import { createParser } from 'eventsource-parser'
import type { Egress } from '../egress/egress.js'
import type { Clock } from '../engine/ports/clock.js'
import { sleep } from '../timing/sleep.js'

/**
 * Follows runs of peers by their event streams, for the sake of speed alone: an event says "look again" and nothing else (P7),
 * so nothing of it is kept but the id to go on from. Whoever wants to follow a run says so again and again; a run that nobody
 * has asked for lately is let go.
 */

/** Asked for at least every 30 s while it is wanted. */
const WANTED_MS = 90_000
const MOST_PER_PEER = 200
/** Hosts say something every 30 s at least; a connection without a byte for longer is dead. */
const IDLE_MS = 40_000
/** One connection, however much it brings and however long. */
const MOST_BYTES = 16 * 1024 * 1024
const CONNECTION_MS = 60 * 60_000
const FIRST_PAUSE_MS = 250
const LONGEST_PAUSE_MS = 10_000
/** However fast events come, nobody need look more often. */
const NEWS_MS = 250
const LONGEST_ID = 128
const LONGEST_LINE = 1024 * 1024

/** Events after which it is worth looking. */
const TELLING = /^(run\.|interrupt\.|assay\.child\.status$|node\.(suspended|resumed)$)/

type Deps = {
  readonly egress: Pick<Egress, 'open'>
  readonly clock: Clock
  readonly keyOf: (peer: string) => Promise<string | undefined>
}

type Followed = {
  readonly peer: string
  readonly url: URL
  readonly stop: AbortController
  news: () => void
  wantedUntil: number
  lastId: string | undefined
  toldAt: number
  /** Takes back what is to be told later. */
  later: (() => void) | undefined
}

export class RunStreams {
  readonly #runs = new Map<string, Followed>()

  constructor(private readonly deps: Deps) {}

  follow(peer: string, url: URL, news: () => void): void {
    const wantedUntil = this.deps.clock.monotonic() + WANTED_MS
    const known = this.#runs.get(url.href)
    if (known) {
      Object.assign(known, { news, wantedUntil })
      return
    }
    const ofPeer = [...this.#runs.values()].filter(run => run.peer === peer).length
    if (ofPeer >= MOST_PER_PEER) return
    const run: Followed = {
      peer,
      url,
      news,
      wantedUntil,
      stop: new AbortController(),
      lastId: undefined,
      toldAt: Number.NEGATIVE_INFINITY,
      later: undefined,
    }
    this.#runs.set(url.href, run)
    void this.#tend(run)
  }

  leave(url: URL): void {
    const run = this.#runs.get(url.href)
    if (run) this.#forget(run)
  }

  close(): void {
    for (const run of this.#runs.values()) this.#forget(run)
  }

  #forget(run: Followed): void {
    run.later?.()
    run.stop.abort()
    this.#runs.delete(run.url.href)
  }

  /** Connects again and again, for as long as it is wanted and the run goes on. */
  async #tend(run: Followed): Promise<void> {
    const { clock } = this.deps
    let wait = FIRST_PAUSE_MS
    while (!run.stop.signal.aborted && run.wantedUntil > clock.monotonic()) {
      const outcome = await this.#connect(run)
      if (outcome === 'heard') {
        wait = FIRST_PAUSE_MS
        // Whoever hangs up may be gone: that is found out by asking, and at once.
        this.#tell(run)
      } else wait = outcome === 'over' ? LONGEST_PAUSE_MS : Math.min(wait * 2, LONGEST_PAUSE_MS)
      await sleep(clock, wait, run.stop.signal)
    }
    if (this.#runs.get(run.url.href) === run) this.#forget(run)
  }

  /** One connection. `heard`: it was open; `over`: it told of the run's end, which whoever looks finds out for himself. */
  async #connect(run: Followed): Promise<'heard' | 'silent' | 'over'> {
    const key = await this.deps.keyOf(run.peer)
    if (key === undefined) return 'silent'
    const answer = await this.deps.egress.open({
      method: 'GET',
      url: run.url.href,
      headers: {
        accept: 'text/event-stream',
        authorization: `Bearer ${key}`,
        ...(run.lastId === undefined ? {} : { 'last-event-id': run.lastId }),
      },
      timeoutMs: CONNECTION_MS,
      maxResponseBytes: MOST_BYTES,
      idleMs: IDLE_MS,
      signal: run.stop.signal,
      trusted: true,
    })
    if (!answer.ok) return 'silent'
    if (answer.status !== 200) {
      for await (const _ of answer.body) break
      return 'silent'
    }
    // While it was not connected, anything may have happened.
    this.#tell(run)
    let ended = false
    let unreadable = false
    const parser = createParser({
      onEvent: ({ id, event = '' }) => {
        if (id !== undefined && id.length <= LONGEST_ID && /^[\x21-\x7e]+$/.test(id)) run.lastId = id
        if (/^run\.(completed|failed|cancelled)$/.test(event)) ended = true
        if (event === '' || TELLING.test(event)) this.#tell(run)
      },
      onError: () => {
        unreadable = true
      },
      maxBufferSize: LONGEST_LINE,
    })
    try {
      const decoder = new TextDecoder()
      for await (const chunk of answer.body) {
        parser.feed(decoder.decode(chunk, { stream: true }))
        if (ended || unreadable) break
      }
    } catch {
      // However it broke off: it is opened again, and what was missed is looked up.
      return 'heard'
    }
    return ended ? 'over' : 'heard'
  }

  #tell(run: Followed): void {
    const { clock } = this.deps
    if (run.later !== undefined || run.stop.signal.aborted) return
    const wait = Math.max(0, run.toldAt + NEWS_MS - clock.monotonic())
    const tell = () => {
      run.later = undefined
      run.toldAt = clock.monotonic()
      run.news()
    }
    if (wait === 0) tell()
    else run.later = clock.after(wait, tell)
  }
}
