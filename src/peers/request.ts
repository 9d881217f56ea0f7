import type { Silence } from '../core/handoff/peer-work.js'
import type { Json } from '../core/json.js'
import { inspectJson, measureJson } from '../core/untrusted-json.js'
import type { Egress, EgressCode } from '../egress/egress.js'
import { EgressInterrupted } from '../egress/stream.js'
import type { Unheard } from '../engine/ports/peers.js'

/** One request, from the name to the last byte of its answer. */
const TIMEOUT_MS = 10_000
const LONGEST_RETRY_AFTER_MS = 60_000

export type PeerRequest = {
  readonly method: 'GET' | 'POST'
  readonly url: URL
  readonly key: string
  readonly headers?: { readonly [name: string]: string }
  readonly body?: string
  readonly maxBytes: number
  readonly signal: AbortSignal
}

export type PeerAnswer =
  | {
      readonly ok: true
      readonly status: number
      /** Undefined where the body is no JSON. */
      readonly body: Json | undefined
      readonly text: string
      readonly retryAfterMs: number | undefined
    }
  /** `sent`: whether any of it may have reached the peer. */
  | { readonly ok: false; readonly reason: Silence; readonly sent: boolean }

/** Asks once; a peer that the operator has named by its address may be on this machine or its network. */
export async function askPeer(egress: Pick<Egress, 'open'>, request: PeerRequest): Promise<PeerAnswer> {
  const { method, url, key, headers, body, maxBytes, signal } = request
  const answer = await egress.open({
    method,
    url: url.href,
    headers: {
      accept: 'application/json',
      authorization: `Bearer ${key}`,
      ...(body === undefined ? {} : { 'content-type': 'application/json' }),
      ...headers,
    },
    ...(body === undefined ? {} : { body }),
    timeoutMs: TIMEOUT_MS,
    maxResponseBytes: maxBytes,
    signal,
    trusted: true,
  })
  if (!answer.ok) return { ok: false, reason: silenceOf(answer.code), sent: !NOTHING_SENT.has(answer.code) }
  const { status } = answer
  const retryAfterMs = retryAfter(answer.headers['retry-after'])
  try {
    const text = await textOf(answer.body)
    return { ok: true, status, body: parsed(text), text, retryAfterMs }
  } catch (error) {
    if (!(error instanceof EgressInterrupted)) throw error
    // A refusal is one, however much is said with it.
    if (status >= 400 && status < 500) return { ok: true, status, body: undefined, text: '', retryAfterMs }
    return { ok: false, reason: silenceOf(error.code), sent: true }
  }
}

/** P3: what an answer that is no use says of the peer. */
export const unheard = (reason: Silence, retryAfterMs?: number): Unheard => ({
  is: 'unheard',
  reason,
  ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
})

export function silenceOfStatus(status: number): Silence {
  if (status === 408 || status === 409 || status === 425 || status === 429 || status === 503) return 'busy'
  return status >= 400 && status < 500 ? 'refused' : 'unusable'
}

/** With these, no byte of the request has left. */
const NOTHING_SENT: ReadonlySet<EgressCode> = new Set([
  'malformed-url',
  'refused-url',
  'blocked-address',
  'unresolvable',
  'connect-failed',
  'tls-failed',
])

function silenceOf(code: EgressCode): Silence {
  switch (code) {
    case 'timeout':
    case 'aborted':
      return 'timeout'
    case 'too-large':
      return 'too_large'
    case 'bad-response':
      return 'unusable'
    default:
      return 'unreachable'
  }
}

async function textOf(body: AsyncIterable<Buffer>): Promise<string> {
  const chunks: Buffer[] = []
  for await (const chunk of body) chunks.push(chunk)
  return Buffer.concat(chunks).toString('utf8')
}

/** As deep, and with as many members, as what this host is sent itself. */
const MOST_DEEP = 64
const MOST_MEMBERS = 100_000

/** Undefined where it is no JSON, or JSON that nobody here would take from anybody. */
function parsed(text: string): Json | undefined {
  const { depth, members } = measureJson(text, MOST_DEEP)
  if (depth > MOST_DEEP || members > MOST_MEMBERS) return undefined
  try {
    const value = JSON.parse(text) as Json
    const found = inspectJson(value, /\\u[dD]/.test(text))
    return found.fault === undefined && found.members === members ? value : undefined
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}

/** Seconds; a date says nothing that a clock of our own could be held against. */
function retryAfter(header: string | readonly string[] | undefined): number | undefined {
  const seconds = typeof header === 'string' && /^\d{1,6}$/.test(header) ? Number(header) : undefined
  return seconds === undefined ? undefined : Math.min(seconds * 1000, LONGEST_RETRY_AFTER_MS)
}
