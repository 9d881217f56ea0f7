import type { Static } from 'typebox'
import { type Refusal, refuse } from '../../../core/problem.js'
import type { ApiKey, KeyMaker } from '../../../engine/ports/keys.js'
import { CreateKeyAnswer, CreateKeyBody, type KeyAnswer, ListKeysAnswer, OwnKeyAnswer } from '../../../wire/key.js'
import { type Caller, mintKey } from '../../auth/key-cache.js'
import type { Edge } from '../../deps.js'
import { type HttpAnswer, json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

/**
 * Keys of the caller's own account, and with `tenants:manage` of every account. A key can hand on no more than it has:
 * no scope it lacks, no name but its own, no longer life, no live key from a test key.
 */
export const keyRoutes = (edge: Edge): Route[] => [showOwnKey(), listKeys(edge), createKey(edge), revokeKey(edge)]

const showOwnKey = (): Route =>
  route({
    method: 'GET',
    path: '/v1/host/assay/key',
    operation: 'getOwnKey',
    summary: 'Whose key this is, and what it may do',
    access: 'authenticated',
    responses: { 200: { description: 'About the key that asks', schema: OwnKeyAnswer } },
    refusals: [],
    handle({ caller: { keyId, tenant, principal, scopes, test, expiresAt } }) {
      const shown: OwnKeyAnswer = { keyId, tenant, principal, scopes: [...scopes], test, expiresAt: iso(expiresAt) }
      return json(200, shown, NO_STORE)
    },
  })

const listKeys = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/keys',
    operation: 'listKeys',
    summary: "The tenant's keys, without the keys themselves",
    access: 'keys:manage',
    responses: { 200: { description: 'The keys', schema: ListKeysAnswer } },
    refusals: [],
    async handle({ caller }) {
      return json(200, { keys: (await visibleKeys(edge, caller)).map(renderKey) }, NO_STORE)
    },
  })

const createKey = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: '/v1/keys',
    operation: 'createKey',
    summary: 'Make a key; the answer is the only place that shows it',
    access: 'keys:manage',
    recorded: { action: 'key.create', object: () => '-', made: madeKey },
    body: CreateKeyBody,
    idempotency: 'lease',
    responses: { 201: { description: 'The key', schema: CreateKeyAnswer } },
    refusals: ['validation_error', 'forbidden'],
    async handle({ caller, body }) {
      const now = edge.clock.now()
      const expiresAt = body.expiresAt === undefined ? caller.expiresAt : Date.parse(body.expiresAt)
      const test = body.test ?? caller.test
      const refusal = beyondCaller(caller, body, test) ?? expiryProblem(caller, expiresAt, now)
      if (refusal !== undefined) return problem(refusal)
      const { key, hash } = mintKey(test)
      const record: ApiKey = {
        keyId: `key_${edge.ids.unique()}`,
        hash,
        tenant: body.tenant ?? caller.account,
        principal: body.principal ?? caller.principal,
        scopes: body.scopes,
        test,
        createdAt: now,
        expiresAt,
        revokedAt: null,
        madeBy: lineageFrom(caller),
      }
      await edge.keys.putKey(record)
      const shown = renderKey(record)
      return { ...json(201, { ...shown, key }, NO_STORE), remembered: JSON.stringify(shown) }
    },
  })

const revokeKey = (edge: Edge): Route =>
  route({
    method: 'DELETE',
    path: '/v1/keys/{keyId}',
    operation: 'revokeKey',
    summary: 'Revoke a key; open streams of it end within seconds',
    access: 'keys:manage',
    recorded: { action: 'key.revoke', object: ({ keyId }) => `key:${keyId}` },
    idempotency: 'lease',
    responses: { 204: { description: 'Revoked' } },
    refusals: ['not_found'],
    async handle({ caller, params }) {
      const key = (await visibleKeys(edge, caller)).find(({ keyId }) => keyId === params.keyId)
      if (key === undefined) return problem(refuse('not_found', 'No such key, or it is not visible to this key.'))
      if (key.revokedAt === null) await edge.keys.putKey({ ...key, revokedAt: edge.clock.now() })
      edge.keyCache.forget(key.hash)
      return { status: 204, body: '' }
    },
  })

/** What is remembered of the answer has everything but the key. */
function madeKey({ status, remembered }: HttpAnswer): string | undefined {
  const { keyId } = (status === 201 ? JSON.parse(remembered ?? '{}') : {}) as { keyId?: string }
  return keyId === undefined ? undefined : `key:${keyId}`
}

/** Nobody twice: what counts is who is among them. */
function lineageFrom({ account: tenant, principal, madeBy }: Caller): KeyMaker[] {
  const isKnown = madeBy.some(maker => maker.tenant === tenant && maker.principal === principal)
  return isKnown ? [...madeBy] : [...madeBy, { tenant, principal }]
}

/** What the wanted key would have and its maker has not. */
function beyondCaller(caller: Caller, wanted: Static<typeof CreateKeyBody>, test: boolean): Refusal | undefined {
  if (wanted.tenant !== undefined && wanted.tenant !== caller.account && !managesTenants(caller)) {
    const message = 'body.tenant is not the tenant of this key; leave it out, or use a key with tenants:manage.'
    return refuse('forbidden', message, { scopeRequired: 'tenants:manage' })
  }
  const lacking = wanted.scopes.find(scope => !caller.scopes.has(scope))
  if (lacking !== undefined) {
    const message = `This key cannot grant ${lacking}, which it does not have itself.`
    return refuse('forbidden', message, { scopeRequired: lacking })
  }
  // Whoever has a key in another's name votes in that name.
  const isOther = wanted.principal !== undefined && wanted.principal !== caller.principal
  if (isOther && !caller.scopes.has('approvals:delegate')) {
    const message = 'body.principal is not that of this key; leave it out, or use a key with approvals:delegate.'
    return refuse('forbidden', message, { field: 'body.principal', scopeRequired: 'approvals:delegate' })
  }
  return caller.test && !test ? refuse('forbidden', 'A test key can make test keys only.') : undefined
}

function expiryProblem(caller: Caller, expiresAt: number | null, now: number): Refusal | undefined {
  if (expiresAt !== null && !(expiresAt > now)) {
    return refuse('validation_error', 'body.expiresAt must be in the future.', { field: 'body.expiresAt' })
  }
  if (caller.expiresAt === null || (expiresAt !== null && expiresAt <= caller.expiresAt)) return undefined
  const latest = new Date(caller.expiresAt).toISOString()
  const message = `body.expiresAt is later than the end of this key, ${latest}; ask for that or earlier.`
  return refuse('forbidden', message, { field: 'body.expiresAt', latest })
}

const NO_STORE = { 'cache-control': 'no-store' }

async function visibleKeys(edge: Edge, caller: Caller): Promise<ApiKey[]> {
  const keys = await edge.keys.listKeys()
  return keys.filter(key => (key.tenant === caller.account || managesTenants(caller)) && (key.test || !caller.test))
}

const managesTenants = (caller: Caller): boolean => caller.scopes.has('tenants:manage')

const iso = (at: number | null): string | null => (at === null ? null : new Date(at).toISOString())

const renderKey = (key: ApiKey): KeyAnswer => ({
  keyId: key.keyId,
  tenant: key.tenant,
  principal: key.principal,
  scopes: [...key.scopes],
  test: key.test,
  createdAt: new Date(key.createdAt).toISOString(),
  expiresAt: iso(key.expiresAt),
  revokedAt: iso(key.revokedAt),
})
