import { lookup } from 'node:dns/promises'
import { setMaxListeners } from 'node:events'
import type { Clock } from '../engine/ports/clock.js'
import { isPublicAddress } from './address.js'
import { exchange } from './exchange.js'
import { type Deadline, openStream } from './stream.js'
import { judgeUrl, type Target, type UrlProblem } from './target.js'

/**
 * The one way out of this host.
 *
 *  G1  Nothing is sent to an address that is not public, however it is spelled and whatever a name resolved to before,
 *      but for single requests to a URL that the operator has configured (`trusted`).
 *  G2  A name is resolved once per request; every address is judged, and only those are connected to.
 *  G3  One deadline covers all of it, from the name to the last byte; the answer is cut at a size.
 *  G4  No redirect is followed, nothing is decompressed, no proxy, cookie or credential is taken from the environment.
 *  G5  `send` and `open` never throw: what went wrong is part of the answer, without anything of the URL or the
 *      contents. A body that breaks off throws `EgressInterrupted`, which says as little.
 */
export interface Egress {
  /** Undefined when requests to this URL would be let out now. */
  check(url: string): Promise<UrlProblem | undefined>
  send(request: EgressRequest): Promise<EgressAnswer>
  /** As `send`, but the answer's body is read while it comes. Whoever does not read it to its end must `return` it. */
  open(request: StreamRequest): Promise<EgressStream | EgressFailure>
  /** Cuts everything that is under way and sends nothing more. */
  close(): void
}

export type EgressRequest = {
  readonly method: string
  readonly url: string
  readonly headers: { readonly [name: string]: string }
  readonly body?: Buffer | string
  readonly timeoutMs: number
  /** What is beyond is not read, and the answer says `truncated`. */
  readonly maxResponseBytes: number
  readonly signal?: AbortSignal
}

export type StreamRequest = EgressRequest & {
  /** How long the reader of the body may have to wait for its next chunk. */
  readonly idleMs?: number
  /** The operator has configured this very URL: it may be on this machine or its network, and without TLS. */
  readonly trusted?: boolean
}

export type EgressStream = {
  readonly ok: true
  readonly status: number
  readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
  /** Throws `EgressInterrupted` when the rest does not come, is too large, or comes too late. */
  readonly body: AsyncIterable<Buffer>
}

export type EgressAnswer =
  | {
      readonly ok: true
      readonly status: number
      readonly headers: { readonly [name: string]: string | readonly string[] | undefined }
      /** As it came: not decompressed. */
      readonly body: Buffer
      readonly truncated: boolean
    }
  | EgressFailure

export type EgressFailure = { readonly ok: false; readonly code: EgressCode; readonly message: string }

export type EgressCode =
  | UrlProblem['code']
  | 'timeout'
  | 'aborted'
  | 'connect-failed'
  | 'tls-failed'
  | 'connection-lost'
  | 'bad-response'
  | 'too-large'

/** All addresses of a name; rejects when it has none. */
export type Resolver = (hostname: string) => Promise<readonly string[]>

export type EgressOptions = {
  /**
   * Lets requests out to this machine and its network, also without TLS: for tests and closed networks. Each purpose
   * (webhooks, tools, probes) has a way out of its own and says this for itself.
   */
  readonly allowPrivate: boolean
  readonly clock: Clock
  readonly resolve?: Resolver
  /** Certificate authorities to trust in place of the well-known ones. */
  readonly ca?: string
}

const CHECK_TIMEOUT_MS = 5_000

export function createEgress({ allowPrivate, clock, resolve = systemResolver, ca }: EgressOptions): Egress {
  const closing = new AbortController()

  /** The addresses to connect to, all of them judged. */
  async function addressesOf(target: Target, anywhere: boolean): Promise<readonly string[] | UrlProblem> {
    if (target.literal !== undefined) return [target.literal]
    // Why a name has no address is the resolver's affair, and could tell a caller about our network.
    const addresses = await resolve(target.host).catch(() => NOTHING)
    if (addresses.length === 0) return UNRESOLVABLE
    return anywhere || addresses.every(isPublicAddress) ? addresses : BLOCKED
  }

  async function send(request: EgressRequest, deadline: AbortSignal): Promise<EgressAnswer> {
    const verdict = judgeUrl(request.url, allowPrivate)
    if (!verdict.ok) return failed(verdict.problem)
    const addresses = await unlessAborted(addressesOf(verdict.target, allowPrivate), deadline)
    if (addresses === undefined) return failed(deadline.reason)
    if ('code' in addresses) return failed(addresses)
    return exchange(verdict.target, addresses, request, deadline, ca)
  }

  async function open(request: StreamRequest, deadline: Deadline): Promise<EgressStream | EgressFailure> {
    const anywhere = allowPrivate || request.trusted === true
    const verdict = judgeUrl(request.url, anywhere)
    if (!verdict.ok) return failed(verdict.problem)
    const addresses = await unlessAborted(addressesOf(verdict.target, anywhere), deadline.signal)
    if (addresses === undefined) return failed(deadline.signal.reason)
    if ('code' in addresses) return failed(addresses)
    return openStream(verdict.target, addresses, request, deadline, clock, ca)
  }

  return {
    async check(url) {
      const verdict = judgeUrl(url, allowPrivate)
      if (!verdict.ok) return verdict.problem
      // Where every address is welcome there is nothing to find out.
      if (allowPrivate) return undefined
      const found = await withDeadline(clock, CHECK_TIMEOUT_MS, [closing.signal], deadline =>
        unlessAborted(addressesOf(verdict.target, allowPrivate), deadline),
      )
      if (found === undefined) return UNRESOLVABLE
      return 'code' in found ? found : undefined
    },
    send: request =>
      withDeadline(clock, request.timeoutMs, [closing.signal, request.signal], deadline => send(request, deadline)),
    async open(request) {
      const deadline = armed(clock, request.timeoutMs, [closing.signal, request.signal])
      const answer = await open(request, deadline)
      // A stream goes on under its deadline, and disarms it with its last byte.
      if (!answer.ok) deadline.disarm()
      return answer
    },
    close: () => closing.abort(),
  }
}

const UNRESOLVABLE: UrlProblem = { code: 'unresolvable', message: 'its host name cannot be resolved' }
const BLOCKED: UrlProblem = {
  code: 'blocked-address',
  message: 'its host name resolves to an address that is not on the public internet',
}
const TIMEOUT = { code: 'timeout', message: 'there was no complete answer in time' } as const
const ABORTED = { code: 'aborted', message: 'the request was taken back' } as const
const NOTHING: readonly string[] = []

const failed = ({ code, message }: { code: EgressCode; message: string }): EgressFailure => ({
  ok: false,
  code,
  message,
})

const systemResolver: Resolver = async hostname =>
  (await lookup(hostname, { all: true, verbatim: true })).map(({ address }) => address)

/** Runs `work` under a deadline. */
async function withDeadline<T>(
  clock: Clock,
  ms: number,
  signals: readonly (AbortSignal | undefined)[],
  work: (deadline: AbortSignal) => Promise<T>,
): Promise<T> {
  const deadline = armed(clock, ms, signals)
  try {
    return await work(deadline.signal)
  } finally {
    deadline.disarm()
  }
}

/** A signal that aborts, with the failure to report as its reason, when time or patience is over. */
function armed(clock: Clock, ms: number, signals: readonly (AbortSignal | undefined)[]): Deadline {
  const deadline = new AbortController()
  const abort = () => deadline.abort(ABORTED)
  const disarm = clock.after(ms, () => deadline.abort(TIMEOUT))
  for (const signal of signals) {
    if (signal === undefined) continue
    // As many requests as like share a signal, each with a listener of its own that it takes away again.
    setMaxListeners(0, signal)
    if (signal.aborted) abort()
    signal.addEventListener('abort', abort, { once: true })
  }
  return {
    signal: deadline.signal,
    disarm: () => {
      disarm()
      for (const signal of signals) signal?.removeEventListener('abort', abort)
    },
  }
}

/** Resolvers cannot be stopped; what they find too late is not waited for. */
function unlessAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T | undefined> {
  if (signal.aborted) return Promise.resolve(undefined)
  return new Promise((resolve, reject) => {
    const give = () => resolve(undefined)
    signal.addEventListener('abort', give, { once: true })
    work.then(resolve, reject).finally(() => signal.removeEventListener('abort', give))
  })
}
