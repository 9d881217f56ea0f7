import type http from 'node:http'
import type { Clock } from '../engine/ports/clock.js'
import type { EgressCode, EgressFailure, EgressStream, StreamRequest } from './egress.js'
import { LOST, openExchange, watchExchange } from './exchange.js'
import type { Target } from './target.js'

/** The rest of an answer will not come. Its code is that of the failure, and its message tells no more (G5). */
export class EgressInterrupted extends Error {
  override readonly name = 'EgressInterrupted'
  readonly code: EgressCode
  constructor({ code, message }: Omit<EgressFailure, 'ok'>) {
    super(message)
    this.code = code
  }
}

/** What a stream is under until its last byte: see `egress.ts`. */
export type Deadline = { readonly signal: AbortSignal; readonly disarm: () => void }

/** One request as in `exchange`, whose answer is handed on as it comes; nothing is kept of it. */
export function openStream(
  target: Target,
  addresses: readonly string[],
  request: StreamRequest,
  deadline: Deadline,
  clock: Clock,
  ca: string | undefined,
): Promise<EgressStream | EgressFailure> {
  return new Promise(resolve => {
    const outgoing = openExchange(target, addresses, request, ca)
    let answered = false
    const fail = (failure: EgressFailure) => {
      // From then on the body tells; to destroy the request would also throw away what has come and is not yet read.
      if (answered) return
      resolve(failure)
      outgoing.destroy()
      deadline.disarm()
    }
    const giveUp = () => fail({ ok: false, ...(deadline.signal.reason as Omit<EgressFailure, 'ok'>) })
    if (deadline.signal.aborted) giveUp()
    deadline.signal.addEventListener('abort', giveUp, { once: true })
    watchExchange(outgoing, target, fail)
    outgoing.on('response', response => {
      answered = true
      deadline.signal.removeEventListener('abort', giveUp)
      const { statusCode: status = 0, headers } = response
      resolve({ ok: true, status, headers, body: bodyOf(response, request, deadline, clock) })
    })
    outgoing.end(request.body)
  })
}

function bodyOf(
  response: http.IncomingMessage,
  { maxResponseBytes, idleMs }: StreamRequest,
  deadline: Deadline,
  clock: Clock,
): AsyncIterable<Buffer> {
  let why: Omit<EgressFailure, 'ok'> = LOST
  const cut = (failure: Omit<EgressFailure, 'ok'>) => {
    why = failure
    response.destroy(new EgressInterrupted(failure))
  }
  const expire = () => cut(deadline.signal.reason as Omit<EgressFailure, 'ok'>)
  deadline.signal.addEventListener('abort', expire, { once: true })
  // Without a listener an error would be thrown where nobody is; whoever reads is told of it.
  response.on('error', () => deadline.disarm())
  response.once('close', () => {
    deadline.disarm()
    deadline.signal.removeEventListener('abort', expire)
  })
  const waiting = () => (idleMs === undefined ? () => undefined : clock.after(idleMs, () => cut(IDLE)))
  return releasing(
    chunks(response, maxResponseBytes, waiting, () => new EgressInterrupted(why)),
    response,
  )
}

/** A generator that was never begun does not notice that nobody will; this lets the connection go all the same. */
function releasing(source: AsyncGenerator<Buffer>, response: http.IncomingMessage): AsyncIterableIterator<Buffer> {
  const body: AsyncIterableIterator<Buffer> = {
    next: () => source.next(),
    return() {
      response.destroy()
      return source.return(undefined)
    },
    [Symbol.asyncIterator]: () => body,
  }
  return body
}

/** `waiting` is told when the reader begins to wait for a chunk, and gives what to call when it has one. */
async function* chunks(
  response: http.IncomingMessage,
  limit: number,
  waiting: () => () => void,
  interrupted: () => EgressInterrupted,
): AsyncGenerator<Buffer, void, undefined> {
  const source = response[Symbol.asyncIterator]() as AsyncIterator<Buffer>
  let size = 0
  try {
    for (;;) {
      const arrived = waiting()
      const next = await source.next().finally(arrived)
      if (next.done) break
      size += next.value.length
      if (size > limit) throw new EgressInterrupted(TOO_LARGE)
      yield next.value
    }
  } catch (error) {
    throw error instanceof EgressInterrupted ? error : interrupted()
  } finally {
    response.destroy()
  }
}

const IDLE = { code: 'timeout', message: 'nothing came for too long' } as const
const TOO_LARGE = { code: 'too-large', message: 'the answer is over the size limit' } as const
