import { type Withheld, withheldIn } from '../../../engine/queries/withheld.js'
import { WithheldAnswer, WithheldQuery } from '../../../wire/event.js'
import type { Edge } from '../../deps.js'
import { problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'
import { longJson } from '../../streaming/long-answer.js'

const PRIVATE = { 'x-content-type-options': 'nosniff', 'cache-control': 'private, no-store' }

/** R-SEC-1: whatever a log keeps from its readers can be opened, by whoever may read content. */
export const withheldRoutes = (edge: Edge): Route[] => [
  route({
    method: 'GET',
    path: '/v1/runs/{runId}/withheld',
    operation: 'listWithheld',
    summary:
      'What the log of a run keeps from its readers: what is before a gate, what verifiers were given and said, feedback',
    access: 'artifacts:read',
    recorded: { action: 'withheld.read', object: ({ runId }) => `run:${runId}` },
    query: WithheldQuery,
    responses: { 200: { description: 'The fields as they are, event by event', schema: WithheldAnswer } },
    refusals: ['not_found', 'run_expired', 'validation_error'],
    async handle({ caller, params, query: { from = 0, limit = 100 } }) {
      // One more than asked for tells whether there is more.
      const found = await withheldIn(edge.engine, caller.tenant, params.runId, { from, limit: limit + 1 })
      if (found === undefined) return problem(await edge.engine.missing(caller.tenant, params.runId))
      const next = found[limit]?.sequence ?? null
      return longJson(edge, caller.tenant, { withheld: found.slice(0, limit).map(answerOf), next }, PRIVATE)
    },
  }),
]

const answerOf = ({ at, nodeId, ...told }: Withheld) => ({
  ...told,
  ...(nodeId === null ? {} : { nodeId }),
  timestamp: new Date(at).toISOString(),
})
