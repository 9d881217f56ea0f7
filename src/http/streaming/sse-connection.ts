import type { ServerResponse } from 'node:http'
import type { Clock } from '../../engine/ports/clock.js'
import type { TurnTaking } from '../../timing/turns.js'

export type SseLimits = {
  readonly maxBufferBytes: number
  readonly stallMs: number
  readonly turnBytes: number
}

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  connection: 'keep-alive',
}

/**
 * One SSE response. What is written waits here until the reader's turn comes; a turn takes at most `turnBytes`, and between
 * two turns come those of the other readers and whatever else the host has to do. Holds at most about `maxBufferBytes` that the reader has not taken; then the writer waits, and a
 * reader that takes nothing for `stallMs` is cut off. It resumes from the log with Last-Event-ID, so nothing is lost.
 */
export class SseConnection {
  readonly #aborted = new AbortController()
  /** What the reader's turns have not come to yet. */
  #waiting: Buffer[] = []
  #sending: Promise<void> = Promise.resolve()
  #isWithinFrame = false

  constructor(
    private readonly raw: ServerResponse,
    private readonly clock: Clock,
    private readonly limits: SseLimits,
    private readonly turns: TurnTaking,
    /** Whose reader it is. */
    private readonly tenant: string,
  ) {
    // Who left before there was anything to write is not told of a second time.
    if (raw.destroyed) this.#aborted.abort()
    else raw.once('close', () => this.#aborted.abort())
  }

  /** Aborts when the connection is gone or given up. */
  get signal(): AbortSignal {
    return this.#aborted.signal
  }

  open(): void {
    this.raw.writeHead(200, HEADERS)
    this.raw.flushHeaders()
  }

  /** Bytes that a turn of this reader is used for. */
  get turnBytes(): number {
    return this.limits.turnBytes
  }

  /** Hands over whole frames, in order. */
  write(text: string): void {
    if (this.signal.aborted) return
    this.#waiting.push(Buffer.from(text))
    if (this.#waiting.length === 1) this.#sending = this.#send()
  }

  /** Resolves when all that was written is with the socket, and the socket has room for more. */
  sent(): Promise<void> {
    return this.#sending
  }

  /** Hands over one frame that is long, in pieces: what a turn is for is rendered when what came before has been taken. */
  async sendPieces(pieces: Iterable<string>): Promise<void> {
    this.#isWithinFrame = true
    let part = ''
    for (const piece of pieces) {
      part += piece
      if (part.length < this.turnBytes) continue
      this.write(part)
      part = ''
      await this.sent()
      if (this.signal.aborted) return
    }
    this.write(part)
    await this.sent()
    this.#isWithinFrame = false
  }

  /** Never within a frame: not while something waits for its turn. */
  ping(): void {
    if (!this.#isWithinFrame && this.#waiting.length === 0 && !this.raw.writableNeedDrain)
      this.raw.write(':keepalive\n\n')
  }

  /** Ends in good order what was sent so far: the rest is read again from the log. */
  end(): void {
    this.#aborted.abort()
    this.raw.end()
  }

  /** Turn by turn, until nothing waits or the reader is gone. */
  async #send(): Promise<void> {
    for (let first = this.#waiting[0]; first !== undefined; first = this.#waiting[0]) {
      for (let at = 0; at < first.length; at += this.turnBytes) {
        await this.turns.next(this.tenant)
        if (this.signal.aborted) return this.#drop()
        this.raw.write(first.subarray(at, at + this.turnBytes))
        await this.#room()
      }
      this.#waiting.shift()
    }
  }

  #drop(): void {
    this.#waiting = []
  }

  /** Resolves when there is room for more; at once unless the buffer is full. */
  async #room(): Promise<void> {
    if (!this.raw.writableNeedDrain || this.raw.writableLength <= this.limits.maxBufferBytes) return
    await new Promise<void>(resolve => {
      const giveUp = this.clock.after(this.limits.stallMs, () => {
        this.raw.destroy()
        done()
      })
      const done = () => {
        giveUp()
        this.raw.off('drain', done)
        this.raw.off('close', done)
        resolve()
      }
      this.raw.once('drain', done)
      this.raw.once('close', done)
    })
  }
}
