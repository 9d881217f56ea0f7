import { randomBytes, timingSafeEqual } from 'node:crypto'
import { type Refusal, refuse } from '../../core/problem.js'
import { sha256 } from '../../digest.js'
import type { Clock } from '../../engine/ports/clock.js'
import type { ApiKey, KeyMaker, KeyStore } from '../../engine/ports/keys.js'
import { Lru } from '../../lru.js'

/** Who is asking. `tenant` is where its data lives: a test key's data is kept apart from its account's live data. */
export type Caller = {
  readonly keyId: string
  readonly account: string
  readonly tenant: string
  readonly principal: string
  readonly scopes: ReadonlySet<string>
  readonly test: boolean
  readonly hash: string
  /** When the key ends; null for one that does not. */
  readonly expiresAt: number | null
  /** Through whom the key came to be. */
  readonly madeBy: readonly KeyMaker[]
}

export type Identity =
  | { readonly ok: true; readonly caller: Caller }
  | { readonly ok: false; readonly refusal: Refusal }

export const LIVE_PREFIX = 'ask_'
export const TEST_PREFIX = 'ask_test_'

/** `~` cannot be part of an account's name, so no live tenant is ever a test tenant. */
export const tenantOf = (key: Pick<ApiKey, 'tenant' | 'test'>): string => (key.test ? `${key.tenant}~test` : key.tenant)

/** Whose keys open a tenant: an account has its live data and that of its test keys. */
export const accountOf = (tenant: string): string => tenant.replace(/~test$/, '')

export const hashKey = (key: string): string => sha256(key)

/** A new key: shown once to whoever asked, kept only as its hash. */
export function mintKey(test: boolean): { readonly key: string; readonly hash: string } {
  const key = (test ? TEST_PREFIX : LIVE_PREFIX) + randomBytes(32).toString('base64url')
  return { key, hash: hashKey(key) }
}

/** How long a key that was looked up is believed; revocation elsewhere takes effect within this. */
const TRUST_MS = 1000
const MAX_KNOWN = 10_000
const BEARER = /^bearer ([\x21-\x7e]{1,512})$/i

const UNAUTHENTICATED = refuse('unauthenticated', 'Send a valid key as Authorization: Bearer <key>.')
const EXPIRED = refuse('key_expired', 'This key has expired; ask for a new one.')
const REVOKED = refuse('key_revoked', 'This key has been revoked; ask for a new one.')

type Known = { readonly key: ApiKey | undefined; readonly caller: Caller | undefined; readonly until: number }

/** Turns an Authorization header into a caller. Keys are compared as digests, in constant time, and never echoed. */
export class KeyCache {
  /** Keys that nobody has are known as such, and push out only what was used longer ago. */
  readonly #known = new Lru<Known>(MAX_KNOWN)

  constructor(
    private readonly store: KeyStore,
    private readonly clock: Clock,
  ) {}

  identify(header: string | undefined): Identity | Promise<Identity> {
    const token = header === undefined ? undefined : BEARER.exec(header)?.[1]
    if (token === undefined) return { ok: false, refusal: UNAUTHENTICATED }
    return this.#identify(hashKey(token))
  }

  /** Whether a caller who got in earlier would still get in. */
  async stillHolds(caller: Caller): Promise<boolean> {
    return (await this.#identify(caller.hash)).ok
  }

  /** Makes a change of the key visible in this process at once. */
  forget(keyHash: string): void {
    this.#known.delete(keyHash)
  }

  #identify(digest: string): Identity | Promise<Identity> {
    const known = this.#known.get(digest)
    if (known !== undefined && known.until > this.clock.monotonic()) return this.#judge(known)
    return this.#look(digest).then(found => this.#judge(found))
  }

  async #look(digest: string): Promise<Known> {
    const found = await this.store.findKey(digest)
    const key = found !== undefined && sameDigest(found.hash, digest) ? found : undefined
    const known = { key, caller: key && callerOf(key), until: this.clock.monotonic() + TRUST_MS }
    this.#known.set(digest, known)
    return known
  }

  #judge({ key, caller }: Known): Identity {
    if (key === undefined || caller === undefined) return { ok: false, refusal: UNAUTHENTICATED }
    if (key.revokedAt !== null) return { ok: false, refusal: REVOKED }
    if (key.expiresAt !== null && key.expiresAt <= this.clock.now()) return { ok: false, refusal: EXPIRED }
    return { ok: true, caller }
  }
}

function sameDigest(a: string, b: string): boolean {
  const left = Buffer.from(a, 'hex')
  const right = Buffer.from(b, 'hex')
  return left.length === right.length && timingSafeEqual(left, right)
}

const callerOf = (key: ApiKey): Caller => ({
  keyId: key.keyId,
  account: key.tenant,
  tenant: tenantOf(key),
  principal: key.principal,
  scopes: new Set(key.scopes),
  test: key.test,
  hash: key.hash,
  expiresAt: key.expiresAt,
  madeBy: key.madeBy,
})
