import { StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { Egress } from '../../../egress/egress.js'
import { fetchThrough } from '../../../egress/fetch.js'
import { EgressInterrupted } from '../../../egress/stream.js'
import type { Clock } from '../../../engine/ports/clock.js'
import type { Channel, FollowedCall } from './channel.js'

/** How long one listening connection is kept before it is made anew, and what may come over it meanwhile. */
const LISTEN_MS = 30 * 60_000
const LISTEN_BYTES = 1024 * 1024
/** A server may ask to be called again sooner, but does not get it. */
const RELISTEN_MS = 1_000

/** Sent with a call, and known here by it. */
export const CALL_HEADER = 'idempotency-key'

export type HttpOptions = {
  readonly url: string
  /** Asked for at every request, so that a secret that was changed is used at once. */
  readonly headers: () => Promise<{ readonly [name: string]: string }>
  readonly egress: Egress
  readonly clock: Clock
  /** The longest that any call may take. */
  readonly timeoutMs: number
  readonly maxMessageBytes: number
}

/** A server at a URL that the operator configured; requests go to that URL and nowhere else (G4). */
export function httpChannel({ url, headers, egress, clock, timeoutMs, maxMessageBytes }: HttpOptions): Channel {
  const target = new URL(url)
  const calls = new Map<string, FollowedCall>()
  const ask = fetchThrough(egress, { trustedUrl: url, timeoutMs, maxResponseBytes: maxMessageBytes })
  const listen = fetchThrough(egress, { trustedUrl: url, timeoutMs: LISTEN_MS, maxResponseBytes: LISTEN_BYTES })

  async function exchange(input: string | URL, init: RequestInit = {}): Promise<Response> {
    if (String(input) !== target.href) throw new TypeError('requests go to the configured URL only')
    const sent = new Headers(init.headers)
    const call = calls.get(sent.get(CALL_HEADER) ?? '')
    for (const [name, value] of Object.entries(await headers())) sent.set(name, value)
    const response = await (init.method === 'GET' ? listen : ask)(target.href, { ...init, headers: sent })
    return call === undefined ? response : watched(response, call)
  }

  const transport = new StreamableHTTPClientTransport(target, {
    fetch: exchange,
    reconnectionOptions: {
      initialReconnectionDelay: RELISTEN_MS,
      maxReconnectionDelay: 60_000,
      reconnectionDelayGrowFactor: 2,
      maxRetries: 5,
    },
    reconnectionScheduler: (again, delay) => clock.after(Math.max(delay, RELISTEN_MS), again),
  })
  const send = transport.send.bind(transport)
  // The protocol's older revisions neither close the connection of a call that was taken back, nor notice when it ends
  // without an answer.
  transport.send = (message, options) => {
    const call = calls.get(options?.headers?.[CALL_HEADER] ?? '')
    if (call === undefined) return send(message, options)
    const { signal, lost } = call
    return send(message, {
      ...options,
      requestSignal: signal,
      onRequestStreamEnd: () => lost('tool_connection_lost'),
    })
  }

  return {
    transport,
    follow(id, call) {
      calls.set(id, call)
      return () => calls.delete(id)
    },
    broke: () => undefined,
    leave: () => transport.terminateSession(),
  }
}

/** The same response, whose call learns why its body broke off. */
function watched(response: Response, { lost }: FollowedCall): Response {
  const { body, status, headers } = response
  if (body === null) return response
  return new Response(ReadableStream.from(told(body, lost)), { status, headers })
}

async function* told(body: ReadableStream<Uint8Array>, lost: FollowedCall['lost']): AsyncGenerator<Uint8Array> {
  try {
    yield* body
  } catch (error) {
    const tooLarge = error instanceof EgressInterrupted && error.code === 'too-large'
    lost(tooLarge ? 'tool_result_too_large' : 'tool_connection_lost')
    throw error
  }
}
