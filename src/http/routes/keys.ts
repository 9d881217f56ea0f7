import { refuse } from '../../core/problem.js'
import type { ApiKey } from '../../engine/ports/keys.js'
import { CreateKeyAnswer, CreateKeyBody, type KeyAnswer, ListKeysAnswer } from '../../wire/key.js'
import { type Caller, mintKey } from '../auth/key-cache.js'
import type { Edge } from '../deps.js'
import { json, problem } from '../http-answer.js'
import { type Route, route } from '../route.js'

/**
 * Keys of the caller's own account, and with `tenants:manage` of every account. A key can hand on no more than it has:
 * no scope it lacks, no live key from a test key.
 */
export const keyRoutes = (edge: Edge): Route[] => [listKeys(edge), createKey(edge), revokeKey(edge)]

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
    body: CreateKeyBody,
    idempotency: 'lease',
    responses: { 201: { description: 'The key', schema: CreateKeyAnswer } },
    refusals: ['validation_error', 'forbidden'],
    async handle({ caller, body }) {
      if (body.tenant !== undefined && body.tenant !== caller.account && !managesTenants(caller)) {
        const message = 'body.tenant is not the tenant of this key; leave it out, or use a key with tenants:manage.'
        return problem(refuse('forbidden', message, { scopeRequired: 'tenants:manage' }))
      }
      const lacking = body.scopes.find(scope => !caller.scopes.has(scope))
      if (lacking !== undefined) {
        const message = `This key cannot grant ${lacking}, which it does not have itself.`
        return problem(refuse('forbidden', message, { scopeRequired: lacking }))
      }
      const test = body.test ?? caller.test
      if (caller.test && !test) return problem(refuse('forbidden', 'A test key can make test keys only.'))
      const expiresAt = body.expiresAt === undefined ? null : Date.parse(body.expiresAt)
      const now = edge.clock.now()
      if (expiresAt !== null && !(expiresAt > now)) {
        const message = 'body.expiresAt must be in the future.'
        return problem(refuse('validation_error', message, { field: 'body.expiresAt' }))
      }
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
