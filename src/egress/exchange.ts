import http from 'node:http'
import https from 'node:https'
import net from 'node:net'
import type { EgressAnswer, EgressCode, EgressFailure, EgressRequest } from './egress.js'
import type { Target } from './target.js'

/** How far a request has come, which says what an error means. */
type Phase = 'connect' | 'tls' | 'exchange'

const MAX_HEADER_BYTES = 16 * 1024

/**
 * One request over one new connection to one of `addresses`. Connections are not kept: an idle one may be closed by the
 * other side just as it is used again, and not every request may be repeated. `deadline` aborts with the failure to
 * report as its reason.
 */
export function exchange(
  target: Target,
  addresses: readonly string[],
  request: EgressRequest,
  deadline: AbortSignal,
  ca: string | undefined,
): Promise<EgressAnswer> {
  const { promise, resolve } = pending<EgressAnswer>()
  const outgoing = openExchange(target, addresses, request, ca)
  const settle = (answer: EgressAnswer) => {
    resolve(answer)
    deadline.removeEventListener('abort', giveUp)
    outgoing.destroy()
  }
  const giveUp = () => settle({ ok: false, ...(deadline.reason as Omit<EgressFailure, 'ok'>) })
  if (deadline.aborted) giveUp()
  deadline.addEventListener('abort', giveUp, { once: true })
  outgoing.on('response', response => readAnswer(response, request.maxResponseBytes, settle))
  watchExchange(outgoing, target, settle)
  outgoing.end(request.body)
  return promise
}

/** Tells of the first thing that goes wrong, and perhaps of more that follows from it. */
export function watchExchange(
  outgoing: http.ClientRequest,
  target: Target,
  fail: (failure: EgressFailure) => void,
): void {
  let phase: Phase = 'connect'
  outgoing.on('socket', socket => {
    socket.once('connect', () => {
      phase = target.url.protocol === 'https:' ? 'tls' : 'exchange'
    })
    socket.once('secureConnect', () => {
      phase = 'exchange'
    })
  })
  outgoing.on('error', error => fail(failureOf(phase, error)))
  // A socket that closes without an answer and without an error, such as after an unasked-for upgrade.
  outgoing.on('close', () => fail(LOST))
}

export function openExchange(
  target: Target,
  addresses: readonly string[],
  request: EgressRequest,
  ca?: string,
): http.ClientRequest {
  const { url, host, literal } = target
  const options: https.RequestOptions = {
    method: request.method,
    host,
    port: url.port === '' ? undefined : Number(url.port),
    path: url.pathname + url.search,
    headers: { ...request.headers, host: url.host, 'content-length': Buffer.byteLength(request.body ?? '') },
    agent: false,
    lookup: pinned(addresses),
    maxHeaderSize: MAX_HEADER_BYTES,
    insecureHTTPParser: false,
  }
  if (url.protocol === 'http:') return http.request(options)
  const trust = ca === undefined ? undefined : { ca }
  // Said out loud, because NODE_TLS_REJECT_UNAUTHORIZED would otherwise have a say. An address has no server name.
  return https.request({
    ...options,
    ...trust,
    rejectUnauthorized: true,
    servername: literal === undefined ? host : '',
  })
}

/** In place of a second resolution, which might answer otherwise than the one that was judged (G2). */
const pinned =
  (addresses: readonly string[]): net.LookupFunction =>
  (_hostname, options, done) => {
    const all = addresses.map(address => ({ address, family: net.isIP(address) }))
    const [first] = all
    if (options.all === true) done(null, all)
    else if (first === undefined) done(new Error('no address'), '')
    else done(null, first.address, first.family)
  }

function readAnswer(response: http.IncomingMessage, limit: number, settle: (answer: EgressAnswer) => void): void {
  const chunks: Buffer[] = []
  let size = 0
  const done = (truncated: boolean) => {
    const body = Buffer.concat(chunks).subarray(0, limit)
    settle({ ok: true, status: response.statusCode ?? 0, headers: response.headers, body, truncated })
  }
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk)
    size += chunk.length
    if (size > limit) done(true)
  })
  response.on('end', () => done(false))
  response.on('error', () => settle(LOST))
}

export const LOST: EgressFailure = {
  ok: false,
  code: 'connection-lost',
  message: 'the connection ended before the answer did',
}

const BY_PHASE: { readonly [P in Phase]: readonly [EgressCode, string] } = {
  connect: ['connect-failed', 'no connection could be made'],
  tls: ['tls-failed', 'no trusted TLS connection could be made'],
  exchange: ['connection-lost', LOST.message],
}

function failureOf(phase: Phase, error: NodeJS.ErrnoException): EgressFailure {
  if (error.code?.startsWith('HPE_')) return { ok: false, code: 'bad-response', message: 'the answer is not HTTP' }
  const [code, message] = BY_PHASE[phase]
  return { ok: false, code, message }
}

function pending<T>(): { promise: Promise<T>; resolve: (value: T) => void } {
  let resolve: (value: T) => void = () => undefined
  const promise = new Promise<T>(settled => {
    resolve = settled
  })
  return { promise, resolve }
}
