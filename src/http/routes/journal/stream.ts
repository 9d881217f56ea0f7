import { StreamAnswer, StreamQuery } from '../../../wire/journal/memory.js'
import type { Edge } from '../../deps.js'
import { json } from '../../http-answer.js'
import { type Route, route } from '../../route.js'
import { PRIVATE } from './moment.js'

/** What happens to a tenant outside of its runs, and every new version of a file; told without content. */
export const streamRoutes = (edge: Edge): Route[] => [
  route({
    method: 'GET',
    path: '/v1/host/assay/stream',
    operation: 'readStream',
    summary: "The tenant's own events, oldest first: new versions of files, and consolidations of memory",
    access: 'runs:read',
    query: StreamQuery,
    responses: { 200: { description: 'Those after `after`', schema: StreamAnswer } },
    refusals: ['validation_error'],
    async handle({ caller, query: { after, limit = 100 } }) {
      const from = after === undefined ? 0 : after + 1
      const rows = await edge.stream.readTenantEvents(caller.tenant, from, limit)
      const events = rows.map(({ sequence, type, payload, at }) => ({
        sequence,
        type,
        payload: JSON.parse(payload) as unknown,
        timestamp: new Date(at).toISOString(),
      }))
      return json(200, { events, next: events.at(-1)?.sequence ?? after ?? null }, PRIVATE)
    },
  }),
]
