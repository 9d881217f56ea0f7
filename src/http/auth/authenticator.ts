import type { FastifyRequest } from 'fastify'
import { isNamed } from '../../core/names.js'
import { type Refusal, refuse } from '../../core/problem.js'
import { sha256 } from '../../digest.js'
import type { Clock } from '../../engine/ports/clock.js'
import type { Scope } from '../../wire/key.js'
import type { HttpConfig } from '../config.js'
import { hasTwo } from '../host-header.js'
import { type HttpAnswer, problem } from '../http-answer.js'
import { readToken } from '../interrupt-link.js'
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
  expiresAt: null,
  madeBy: [],
}

const CHALLENGE = { 'www-authenticate': 'Bearer realm="assay"' }

/** Who may pass, before a byte of the body is read: authenticate → rate limit → scope (contract core §3.1). */
export class Authenticator {
  readonly #perKey: RateLimiter
  /** By address, so that nobody uses up what others need. */
  readonly #anonymous: RateLimiter

  constructor(
    private readonly keys: KeyCache,
    clock: Clock,
    config: HttpConfig,
    private readonly tokenSecrets: readonly string[],
  ) {
    this.#perKey = new RateLimiter(clock, config.rateLimit.key)
    this.#anonymous = new RateLimiter(clock, config.rateLimit.anonymous)
  }

  /** Undefined to let the request in; `request.caller` is then set. */
  admit(route: Route, request: FastifyRequest): HttpAnswer | undefined | Promise<HttpAnswer | undefined> {
    if (route.access === 'token') return this.#admitLink(request)
    if (route.access === 'public') return route.unlimited ? undefined : this.#limitAnonymous(request)
    const header = hasTwo(request.raw.rawHeaders, 'authorization') ? undefined : request.headers.authorization
    const identity = this.keys.identify(header)
    return identity instanceof Promise
      ? identity.then(known => this.#judge(route, request, known))
      : this.#judge(route, request, identity)
  }

  #judge(route: Route, request: FastifyRequest, identity: Identity): HttpAnswer | undefined {
    if (!identity.ok) return this.#limitAnonymous(request) ?? problem(identity.refusal, CHALLENGE)
    const wait = this.#perKey.take(identity.caller.keyId)
    if (wait > 0) return tooMany(wait, 'key', 'This key sends requests faster than it may.')
    const caller = inTenant(identity.caller, request)
    if ('code' in caller) return problem(caller)
    request.caller = caller
    const missing = scopesOf(route).find(scope => !caller.scopes.has(scope))
    return missing === undefined ? undefined : problem(lacksScope(missing))
  }

  /** A genuine link is a credential, as a key is: it has a bucket of its own, and forgers share that of their address. */
  #admitLink(request: FastifyRequest): HttpAnswer | undefined {
    const { token = '' } = request.params as { readonly token?: string }
    if (readToken(this.tokenSecrets, token) === undefined) return this.#limitAnonymous(request)
    const wait = this.#perKey.take(`link ${sha256(token)}`)
    return wait > 0 ? tooMany(wait, 'key', 'This link is asked faster than it may be.') : undefined
  }

  #limitAnonymous({ socket }: FastifyRequest): HttpAnswer | undefined {
    const wait = this.#anonymous.take(networkOf(socket.remoteAddress ?? ''))
    return wait > 0 ? tooMany(wait, 'global', 'Too many requests without a valid key from this address.') : undefined
  }
}

/** What may be done in a tenant that is not the key's own: looking. */
const LOOKING: readonly Scope[] = ['manifest:read', 'runs:read', 'artifacts:read', 'audit:read']

/** Whoever manages tenants may look into each, by a header that names it; nobody else is heard. */
function inTenant(caller: Caller, { headers, method }: FastifyRequest): Caller | Refusal {
  const asked = headers[TENANT_HEADER]
  if (asked === undefined || asked === caller.tenant) return caller
  if (!caller.scopes.has('tenants:manage')) return lacksScope('tenants:manage')
  if (typeof asked !== 'string' || !isTenant(asked) || method !== 'GET') return NO_TENANT
  const scopes = new Set(LOOKING.filter(scope => caller.scopes.has(scope)))
  return { ...caller, account: asked.replace(/~test$/, ''), tenant: asked, scopes }
}

const TENANT_HEADER = 'x-assay-tenant'
const isTenant = (text: string): boolean => isNamed('tenant', text.replace(/~test$/, ''))
const NO_TENANT = refuse(
  'validation_error',
  'X-Assay-Tenant names one tenant, such as acme or acme~test, and goes with GET only.',
  { field: 'X-Assay-Tenant' },
)

/** Every scope a key must have to use the route. */
export const scopesOf = ({ access, alsoNeeds }: Route): Scope[] => [
  ...(access === 'public' || access === 'token' || access === 'authenticated' ? [] : [access]),
  ...(alsoNeeds === undefined ? [] : [alsoNeeds]),
]

export const lacksScope = (scope: Scope): Refusal =>
  refuse('forbidden', `This key lacks the scope ${scope}; use one that has it.`, { scopeRequired: scope })

const tooMany = (retryAfterMs: number, scope: string, message: string): HttpAnswer =>
  problem(refuse('rate_limited', `${message} Wait before the next one.`, { retryAfterMs, scope }))

/** Whoever has an IPv6 address has all of its network: the first 64 bits. */
export function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined || !address.includes(':')) return mapped ?? address
  const [head = '', tail] = address.split('::')
  const first = head === '' ? [] : head.split(':')
  const last = tail === undefined || tail === '' ? [] : tail.split(':')
  const groups = [...first, ...Array(8 - first.length - last.length).fill('0'), ...last]
  return groups.slice(0, 4).join(':')
}
