import { refuse } from '../../../core/problem.js'
import type { TenantState } from '../../../engine/api.js'
import { EraseTenantBody, TenantAnswer } from '../../../wire/tenant.js'
import { tenantOf } from '../../auth/key-cache.js'
import type { Edge } from '../../deps.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

/** Tenants as a whole, for whoever runs the host. */
export const tenantRoutes = (edge: Edge): Route[] => [getTenant(edge), eraseTenant(edge)]

const getTenant = (edge: Edge): Route =>
  route({
    method: 'GET',
    path: '/v1/host/assay/tenants/{tenant}',
    operation: 'getTenant',
    summary: 'Whether a tenant is active, being erased or erased',
    access: 'tenants:manage',
    responses: { 200: { description: 'Its state', schema: TenantAnswer } },
    refusals: ['not_found'],
    async handle({ params: { tenant } }) {
      const found = await edge.tenants.find(partsOf(tenant))
      return found === undefined ? problem(UNKNOWN) : json(200, render(tenant, found), NO_STORE)
    },
  })

const eraseTenant = (edge: Edge): Route =>
  route({
    method: 'POST',
    path: '/v1/host/assay/tenants/{tenant}/erase',
    operation: 'eraseTenant',
    summary: 'Erase a tenant for good, live and test data: its keys at once, its content from then on',
    access: 'tenants:manage',
    recorded: { action: 'tenant.erase', object: ({ tenant }) => `tenant:${tenant}` },
    body: EraseTenantBody,
    idempotency: 'lease',
    responses: { 202: { description: 'It is being erased, or is erased already', schema: TenantAnswer } },
    refusals: ['validation_error', 'forbidden', 'not_found', 'tenant_in_use'],
    async handle({ caller, params: { tenant }, body }) {
      if (caller.test) return problem(refuse('forbidden', 'A test key cannot erase a tenant; use a live key.'))
      if (body.tenant !== tenant) {
        const message = `body.tenant must repeat the name in the path, "${tenant}": what is erased cannot be brought back.`
        return problem(refuse('validation_error', message, { field: 'body.tenant' }))
      }
      const keys = (await edge.keys.listKeys()).filter(key => key.tenant === tenant)
      const answer = await edge.tenants.erase(partsOf(tenant))
      if (answer.ok) {
        for (const { hash } of keys) edge.keyCache.forget(hash)
        return json(202, render(tenant, answer.value), NO_STORE)
      }
      return problem('refusal' in answer ? answer.refusal : UNKNOWN)
    },
  })

const NO_STORE = { 'cache-control': 'no-store' }
const UNKNOWN = refuse('not_found', 'There is nothing of a tenant of that name.')

/** What an account's data is kept under: that of its live keys, and that of its test keys. */
const partsOf = (tenant: string): string[] => [false, true].map(test => tenantOf({ tenant, test }))

const render = (tenant: string, found: TenantState): TenantAnswer => ({
  tenant,
  state: found.state,
  ...(found.state !== 'active' && { askedAt: new Date(found.askedAt).toISOString() }),
  ...(found.state === 'erased' && { erasedAt: new Date(found.erasedAt).toISOString() }),
})
