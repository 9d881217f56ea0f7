import type { Egress, EgressCode, EgressFailure, EgressStream } from '../../egress/egress.js'
import { EgressInterrupted } from '../../egress/stream.js'
import { refusalInError, type SafetyRefusal } from './safety.js'

/** How far a request has come, seen where it leaves the host: what a library makes of it does not matter. */
export type Seen =
  /** There was no request. */
  | { readonly kind: 'nothing' }
  | { readonly kind: 'failed'; readonly code: EgressCode }
  | { readonly kind: 'status'; readonly status: number; readonly retryAfter?: string; readonly refusal?: SafetyRefusal }
  /** The provider has begun to answer; `code` says why it did not go on. */
  | { readonly kind: 'began'; readonly code?: EgressCode }

/** Between two line ends; what is longer would have to be kept whole, and is no answer of a model. */
const LONGEST_LINE = 8 * 1024 * 1024
const ERROR_BYTES = 64 * 1024

/** A way out for one request: a second one, such as a library may send to go on with an answer, is turned back. */
export function observed(egress: Egress): { readonly way: Pick<Egress, 'open'>; readonly seen: () => Seen } {
  let seen: Seen = { kind: 'nothing' }
  async function open(request: Parameters<Egress['open']>[0]): Promise<EgressStream | EgressFailure> {
    if (seen.kind !== 'nothing') return SECOND
    seen = { kind: 'failed', code: 'aborted' }
    const answer = await egress.open(request)
    if (!answer.ok) {
      seen = { kind: 'failed', code: answer.code }
      return answer
    }
    if (answer.status >= 200 && answer.status < 300) {
      seen = { kind: 'began' }
      const cut = (code: EgressCode) => {
        seen = { kind: 'began', code }
      }
      return { ...answer, body: guarded(answer.body, cut) }
    }
    seen = await refused(answer)
    return { ok: false, code: 'bad-response', message: 'the provider answered with an error' }
  }
  return { way: { open }, seen: () => seen }
}

const SECOND: EgressFailure = { ok: false, code: 'aborted', message: 'one call is one request' }

async function* guarded(body: AsyncIterable<Buffer>, cut: (code: EgressCode) => void): AsyncGenerator<Buffer> {
  let line = 0
  try {
    for await (const chunk of body) {
      const end = chunk.lastIndexOf(10)
      line = end < 0 ? line + chunk.length : chunk.length - end - 1
      if (line > LONGEST_LINE) throw new EgressInterrupted({ code: 'too-large', message: 'a line is too long' })
      yield chunk
    }
  } catch (error) {
    cut(error instanceof EgressInterrupted ? error.code : 'connection-lost')
    throw error
  }
}

async function refused({ status, headers, body }: EgressStream): Promise<Seen> {
  const retryAfter = headers['retry-after']
  const refusal = status >= 400 && status < 500 ? refusalInError(await beginning(body)) : undefined
  // Where nobody reads to the end, somebody must say that nobody will.
  await body[Symbol.asyncIterator]().return?.()
  return {
    kind: 'status',
    status,
    ...(typeof retryAfter === 'string' ? { retryAfter } : undefined),
    ...(refusal === undefined ? undefined : { refusal }),
  }
}

/** The body as JSON when it is short and whole, else undefined: it only ever tells why, and is not kept. */
async function beginning(body: AsyncIterable<Buffer>): Promise<unknown> {
  const chunks: Buffer[] = []
  let size = 0
  try {
    for await (const chunk of body) {
      chunks.push(chunk)
      size += chunk.length
      if (size > ERROR_BYTES) return undefined
    }
    return JSON.parse(Buffer.concat(chunks).toString()) as unknown
  } catch (error) {
    if (error instanceof SyntaxError || error instanceof EgressInterrupted) return undefined
    throw error
  }
}
