import type { Json, JsonObject } from '../core/json.js'
import { isNamed } from '../core/names.js'
import { PROBLEMS, refuse } from '../core/problem.js'
import { sha256OfJson } from '../digest.js'
import type { Answer, InspectedRun } from '../engine/api.js'
import type { Clock } from '../engine/ports/clock.js'
import type { RememberedResponse, ResponseKey, ResponseStore } from '../engine/ports/remembered-responses.js'
import { type HttpAnswer, problem } from './http-answer.js'

/**
 * Layer 1 idempotency (contract core §4.1).
 *
 *  I1  The record is (tenant of the credential, operation, key); the digest covers body and path parameters.
 *  I2  An effect and the response to remember are one commit, or that response is claimed before the effect begins.
 *  I3  Final answers — 2xx, and 4xx that would not change — are replayed verbatim. 400 validation_error, 401, 403,
 *      429 and 5xx are never remembered: the same key tries again.
 *  I4  Of duplicates in this process one executes and the others wait for it; across processes the store decides.
 */

/** The part of the store that remembered responses live in. */
export type KeptResponses = Omit<ResponseStore, 'purgeResponses'>

export type KeyedRequest = ResponseKey & { readonly digest: string }

const REPLAY_HEADER = 'openwop-idempotent-replay'

export const isIdempotencyKey = (text: string): boolean => isNamed('idempotencyKey', text)

export const requestDigest = (body: Json | undefined, params: JsonObject): string =>
  sha256OfJson({ body: body ?? null, params })

export class Idempotency {
  readonly #busy = new Map<string, Promise<void>>()

  constructor(
    private readonly responses: KeptResponses,
    private readonly clock: Clock,
    private readonly owner: string,
    private readonly leaseMs: number,
  ) {}

  /** For an operation that is one engine commit: the response travels with it. */
  async commit<T = InspectedRun>(
    keyed: KeyedRequest | undefined,
    attempt: (response: ((value: T) => RememberedResponse) | undefined) => Promise<Answer<T>>,
    render: (value: T) => HttpAnswer,
  ): Promise<HttpAnswer> {
    if (keyed === undefined) return settled(await attempt(undefined), render)
    return this.#alone(keyed, async () => {
      const earlier = await this.responses.getResponse(keyed)
      if (earlier !== undefined) return this.#recall(keyed, earlier)
      let remembered: HttpAnswer | undefined
      const answer = await attempt(view => {
        remembered = render(view)
        return this.#response(keyed, 'completed', remembered)
      })
      if (answer.ok) return remembered ?? render(answer.value)
      if ('replay' in answer) return this.#recall(keyed, answer.replay)
      const refused = problem(answer.refusal)
      return isFinal(refused) ? this.lease(keyed, async () => refused, true) : refused
    })
  }

  /** For everything else: claim, execute, finish. A claim whose holder died is taken over when its lease ends. */
  lease(keyed: KeyedRequest, execute: () => Promise<HttpAnswer>, alone = false): Promise<HttpAnswer> {
    const work = async () => {
      const earlier = await this.responses.getResponse(keyed)
      if (earlier !== undefined && earlier.state !== 'pending') return this.#recall(keyed, earlier)
      const claim = await this.responses.claimResponse(this.#response(keyed, 'pending', NOTHING), this.clock.now())
      if (!claim.claimed) return this.#recall(keyed, claim.response)
      return this.#finish(keyed, execute)
    }
    return alone ? work() : this.#alone(keyed, work)
  }

  async #finish(keyed: KeyedRequest, execute: () => Promise<HttpAnswer>): Promise<HttpAnswer> {
    let answer: HttpAnswer | undefined
    try {
      answer = await execute()
    } finally {
      if (answer === undefined || !isFinal(answer)) await this.responses.deleteResponse(keyed)
    }
    if (isFinal(answer)) {
      const state = answer.status < 400 ? 'completed' : 'terminal-failure'
      await this.responses.finishResponse(this.#response(keyed, state, answer))
    }
    return answer
  }

  #recall(keyed: KeyedRequest, response: RememberedResponse): HttpAnswer {
    if (response.digest !== keyed.digest) {
      return problem(
        refuse(
          'idempotency_key_mismatch',
          'This Idempotency-Key was used for another request; use a new key for this one.',
        ),
      )
    }
    if (response.state === 'pending') {
      const retryAfter = Math.max(1, Math.ceil((response.leaseUntil - this.clock.now()) / 1000))
      const message = 'The first request with this Idempotency-Key is still running; send it again later.'
      return problem(refuse('idempotency_in_flight', message, { retryAfter }))
    }
    return { status: response.status, body: response.body, headers: { ...response.headers, [REPLAY_HEADER]: 'true' } }
  }

  #response(
    { tenant, endpoint, key, digest }: KeyedRequest,
    state: RememberedResponse['state'],
    answer: HttpAnswer,
  ): RememberedResponse {
    const now = this.clock.now()
    return {
      tenant,
      endpoint,
      key,
      digest,
      state,
      leaseOwner: this.owner,
      leaseUntil: now + this.leaseMs,
      status: answer.status,
      headers: answer.headers ?? {},
      body: answer.remembered ?? answer.body,
      at: now,
    }
  }

  async #alone<T>(keyed: KeyedRequest, work: () => Promise<T>): Promise<T> {
    const name = `${keyed.tenant}\n${keyed.endpoint}\n${keyed.key}`
    for (let busy = this.#busy.get(name); busy !== undefined; busy = this.#busy.get(name)) await busy
    const { promise, done } = gate()
    this.#busy.set(name, promise)
    try {
      return await work()
    } finally {
      this.#busy.delete(name)
      done()
    }
  }
}

const NOTHING: HttpAnswer = { status: 0, body: '' }

const settled = <T>(answer: Answer<T>, render: (value: T) => HttpAnswer): HttpAnswer => {
  if (answer.ok) return render(answer.value)
  if ('refusal' in answer) return problem(answer.refusal)
  throw new Error('the engine gave a remembered response that was not asked for')
}

/** I3. */
function isFinal(answer: HttpAnswer): boolean {
  if (answer.status < 400) return true
  if (answer.status >= 500 || answer.code === undefined) return false
  const uncached = answer.code === 'validation_error' || answer.status === 401 || answer.status === 403
  return !uncached && !PROBLEMS[answer.code].retryable
}

function gate(): { promise: Promise<void>; done: () => void } {
  let done: () => void = () => undefined
  const promise = new Promise<void>(resolve => {
    done = resolve
  })
  return { promise, done }
}
