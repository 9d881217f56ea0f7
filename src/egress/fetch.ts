import type { Egress, EgressStream, StreamRequest } from './egress.js'
import { EgressInterrupted } from './stream.js'

export type FetchOptions = Pick<StreamRequest, 'timeoutMs' | 'maxResponseBytes' | 'idleMs'> & {
  /**
   * A URL that the operator has configured: requests to its origin may go to this machine and its network. Requests to
   * any other place, such as one that a server has named, are judged like everybody's.
   */
  readonly trustedUrl?: string
}

export type Fetch = (input: string | URL | Request, init?: RequestInit) => Promise<Response>

/**
 * `fetch` for libraries that bring their own client, through the one way out. What they ask for beyond a method,
 * headers, a body of text or bytes and a signal (redirects, credentials, caching) is not done.
 */
export function fetchThrough(egress: Pick<Egress, 'open'>, { trustedUrl, ...limits }: FetchOptions): Fetch {
  const trustedOrigin = trustedUrl === undefined ? undefined : new URL(trustedUrl).origin
  const send: Fetch = async (input, init = {}) => {
    if (input instanceof Request) {
      const body = input.body === null ? undefined : { body: new Uint8Array(await input.arrayBuffer()) }
      return send(input.url, { method: input.method, headers: input.headers, signal: input.signal, ...body, ...init })
    }
    const url = String(input)
    const { method = 'GET', signal } = init
    const answer = await egress.open({
      ...limits,
      method,
      url,
      headers: Object.fromEntries(new Headers(init.headers)),
      ...bodyOf(init.body),
      ...(signal ? { signal } : undefined),
      trusted: trustedOrigin !== undefined && URL.canParse(url) && new URL(url).origin === trustedOrigin,
    })
    if (answer.ok) return responseOf(answer)
    // As `fetch` does it: callers look for the reason that they have given themselves.
    if (signal?.aborted) throw signal.reason
    throw new EgressInterrupted(answer)
  }
  return send
}

function bodyOf(body: RequestInit['body'] | undefined): { body?: Buffer | string } {
  if (body === undefined || body === null) return {}
  if (typeof body === 'string') return { body }
  if (body instanceof Uint8Array) return { body: Buffer.from(body.buffer, body.byteOffset, body.byteLength) }
  throw new TypeError('only text and bytes can be sent')
}

/** Statuses that a `Response` refuses to have a body with. */
const WITHOUT_BODY: ReadonlySet<number> = new Set([204, 205, 304])

function responseOf({ status, headers, body }: EgressStream): Response {
  const given = Object.entries(headers).flatMap(([name, value]) =>
    (Array.isArray(value) ? value : [value]).flatMap(one =>
      one === undefined ? [] : [[name, String(one)] as [string, string]],
    ),
  )
  const source = body[Symbol.asyncIterator]()
  const empty = WITHOUT_BODY.has(status)
  // Nobody will read it, so nobody else would let the connection go.
  if (empty) void source.return?.()
  const stream = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await source.next()
        if (next.done) controller.close()
        else controller.enqueue(next.value)
      },
      async cancel() {
        await source.return?.()
      },
    },
    { highWaterMark: 0 },
  )
  return new Response(empty ? null : stream, { status, headers: given })
}
