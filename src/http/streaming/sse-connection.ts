import type { ServerResponse } from 'node:http'
import type { Clock } from '../../engine/ports/clock.js'

const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
  connection: 'keep-alive',
}

/**
 * One SSE response. Holds at most about `maxBufferBytes` that the reader has not taken; then the writer waits, and a
 * reader that takes nothing for `stallMs` is cut off. It resumes from the log with Last-Event-ID, so nothing is lost.
 */
export class SseConnection {
  readonly #aborted = new AbortController()

  constructor(
    private readonly raw: ServerResponse,
    private readonly clock: Clock,
    private readonly limits: { readonly maxBufferBytes: number; readonly stallMs: number },
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

  write(text: string): void {
    if (!this.signal.aborted) this.raw.write(text)
  }

  ping(): void {
    if (!this.raw.writableNeedDrain) this.write(':keepalive\n\n')
  }

  /** Ends in good order what was written so far. */
  end(): void {
    this.#aborted.abort()
    this.raw.end()
  }

  /** Resolves when there is room for more; at once unless the buffer is full. */
  async room(): Promise<void> {
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
