import type { FastifyRequest } from 'fastify'
import { type Refusal, refuse } from '../../core/problem.js'
import type { Clock } from '../../engine/ports/clock.js'
import type { Scope } from '../../wire/key.js'
import type { HttpConfig } from '../config.js'
import { type HttpAnswer, problem } from '../http-answer.js'
import type { Route } from '../route.js'
import type { Caller, Identity, KeyCache } from './key-cache.js'
import { RateLimiter } from './rate-limit.js'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | null
    problemCode: string
  }
}

/** Stands in for a caller on public routes; it has no tenant and no scope, so nothing can be done in its name. */
export const NOBODY: Caller = {
  keyId: '',
  account: '',
  tenant: '',
  principal: '',
  scopes: new Set(),
  test: false,
  hash: '',
}

const CHALLENGE = { 'www-authenticate': 'Bearer realm="assay"' }

/** Who may pass, before a byte of the body is read: authenticate → rate limit → scope (contract core §3.1). */
export class Authenticator {
  readonly #perKey: RateLimiter
  readonly #anonymous: RateLimiter

  constructor(
    private readonly keys: KeyCache,
    clock: Clock,
    config: HttpConfig,
  ) {
    this.#perKey = new RateLimiter(clock, config.rateLimit.key)
    this.#anonymous = new RateLimiter(clock, config.rateLimit.anonymous)
  }

  /** Undefined to let the request in; `request.caller` is then set. */
  admit(route: Route, request: FastifyRequest): HttpAnswer | undefined | Promise<HttpAnswer | undefined> {
    if (route.access === 'public' || route.access === 'token')
      return route.unlimited ? undefined : this.#limitAnonymous()
    const header = hasTwo(request.raw.rawHeaders, 'authorization') ? undefined : request.headers.authorization
    const identity = this.keys.identify(header)
    return identity instanceof Promise
      ? identity.then(known => this.#judge(route, request, known))
      : this.#judge(route, request, identity)
  }

  #judge(route: Route, request: FastifyRequest, identity: Identity): HttpAnswer | undefined {
    if (!identity.ok) return this.#limitAnonymous() ?? problem(identity.refusal, CHALLENGE)
    const { caller } = identity
    request.caller = caller
    const wait = this.#perKey.take(caller.keyId)
    if (wait > 0) return tooMany(wait, 'key', 'This key sends requests faster than it may.')
    const missing = scopesOf(route).find(scope => !caller.scopes.has(scope))
    return missing === undefined ? undefined : problem(lacksScope(missing))
  }

  #limitAnonymous(): HttpAnswer | undefined {
    const wait = this.#anonymous.take('')
    return wait > 0 ? tooMany(wait, 'global', 'Too many requests without a valid key.') : undefined
  }
}

/** Every scope a key must have to use the route. */
export const scopesOf = ({ access, alsoNeeds }: Route): Scope[] => [
  ...(access === 'public' || access === 'token' || access === 'authenticated' ? [] : [access]),
  ...(alsoNeeds === undefined ? [] : [alsoNeeds]),
]

export const lacksScope = (scope: Scope): Refusal =>
  refuse('forbidden', `This key lacks the scope ${scope}; use one that has it.`, { scopeRequired: scope })

const tooMany = (retryAfterMs: number, scope: string, message: string): HttpAnswer =>
  problem(refuse('rate_limited', `${message} Wait before the next one.`, { retryAfterMs, scope }))

/** Node keeps the first of two Authorization headers; another reader might take the second. */
function hasTwo(rawHeaders: readonly string[], name: string): boolean {
  let seen = false
  for (let i = 0; i < rawHeaders.length; i += 2) {
    const header = rawHeaders[i] as string
    if (header.length !== name.length || header.toLowerCase() !== name) continue
    if (seen) return true
    seen = true
  }
  return false
}
