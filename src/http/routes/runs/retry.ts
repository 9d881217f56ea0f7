import { failedNodeOf } from '../../../engine/queries/failed-node.js'
import { RetryAnswer, RetryBody } from '../../../wire/trail/retry.js'
import type { Edge } from '../../deps.js'
import { json, problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'
import { TRACE_HEADER, traceOf } from '../../trace-header.js'
import { capacityRefusal } from './create-run.js'

export const retryRoutes = (edge: Edge): Route[] => [
  route({
    method: 'POST',
    path: '/v1/runs/{runId}:retry',
    operation: 'retryRun',
    summary:
      'Try again what has failed: a run under way tries at once what it waits to try again; a failed one is gone on with in a branch, from before the node that failed',
    access: 'runs:create',
    alsoNeeds: 'runs:read',
    body: RetryBody,
    bodyOptional: true,
    idempotency: 'commit',
    headers: [TRACE_HEADER],
    responses: {
      200: { description: 'The run tries it now', schema: RetryAnswer },
      201: { description: 'A branch goes on from before the failed node', schema: RetryAnswer },
    },
    refusals: [
      'validation_error',
      'not_found',
      'run_expired',
      'run_paused',
      'run_terminal',
      'nothing_to_retry',
      'replay_memory_snapshot_unavailable',
      'service_unavailable',
    ],
    async handle({ caller, params: { runId: sourceRunId }, body, keyed, request }) {
      const { tenant } = caller
      const full = capacityRefusal(edge)
      if (full !== undefined) return problem(full)
      const view = await edge.engine.inspect(tenant, sourceRunId)
      if (view === undefined) return problem(await edge.engine.missing(tenant, sourceRunId))
      if (view.state.phase !== 'ended') {
        const asked = { type: 'retry' as const, ...body }
        return edge.idempotency.commit(
          keyed,
          response => edge.engine.command(tenant, sourceRunId, asked, response),
          ({ runId, status }) => json(200, { runId, status, ...body }),
        )
      }
      const point = await failedNodeOf(edge.engine, view, body.nodeId)
      if ('code' in point) return problem(point)
      const { nodeId, fromSeq } = point
      const scopes = [...caller.scopes].sort()
      const fork = { tenant, runId: sourceRunId, mode: 'branch' as const, fromSeq, scopes, ...traceOf(request) }
      return edge.idempotency.commit(
        keyed,
        response => edge.engine.fork(fork, response),
        ({ runId, status }) =>
          json(201, { runId, status, sourceRunId, nodeId, fromSeq }, { location: `/v1/runs/${runId}` }),
      )
    },
  }),
]
