import { QuotasAnswer } from '../../../wire/quotas.js'
import type { Edge } from '../../deps.js'
import { json } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

/** What the caller's tenant may have, and what it has. Only whoever operates the host can change it. */
export const quotaRoutes = (edge: Edge): Route[] => [
  route({
    method: 'GET',
    path: '/v1/quotas',
    operation: 'getQuotas',
    summary: 'What this tenant may have of what all share, and what it has',
    access: 'manifest:read',
    responses: { 200: { description: 'The quotas of the tenant', schema: QuotasAnswer } },
    refusals: [],
    async handle({ caller: { tenant } }) {
      const used = { streams: edge.streams.openOf(tenant), ...(await edge.usage.usageOf(tenant)) }
      return json(200, { tenant, quotas: edge.config.quotas(tenant), used }, { 'cache-control': 'no-store' })
    },
  }),
]
