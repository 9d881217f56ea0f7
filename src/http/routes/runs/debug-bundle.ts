import { DebugBundle, DebugBundleQuery, MAX_BUNDLE_BYTES } from '../../../wire/debug-bundle.js'
import type { Edge } from '../../deps.js'
import { renderBundle } from '../../documents/debug-bundle.js'
import { childRunsOf } from '../../documents/run-snapshot.js'
import { problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'

export const debugBundleRoutes = (edge: Edge): Route[] => [
  route({
    method: 'GET',
    path: '/v1/runs/{runId}/debug-bundle',
    operation: 'getDebugBundle',
    summary: `How a run went, without its content; at most ${MAX_BUNDLE_BYTES} bytes`,
    access: 'runs:read',
    recorded: { action: 'run.export', object: ({ runId }) => `run:${runId}` },
    query: DebugBundleQuery,
    responses: { 200: { description: 'The bundle', schema: DebugBundle } },
    refusals: ['validation_error', 'not_found', 'run_expired'],
    async handle({ caller, params, query }) {
      const view = await edge.engine.inspect(caller.tenant, params.runId)
      if (view === undefined) return problem(await edge.engine.missing(caller.tenant, params.runId))
      const body = await renderBundle(edge, view, await childRunsOf(edge.engine, view), {
        maxEvents: query.maxEvents ?? Number.POSITIVE_INFINITY,
        maxBytes: MAX_BUNDLE_BYTES,
      })
      const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' }
      return { status: 200, body, headers }
    },
  }),
]
