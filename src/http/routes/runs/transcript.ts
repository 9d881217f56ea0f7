import { refuse } from '../../../core/problem.js'
import { TranscriptAnswer, TranscriptQuery } from '../../../wire/trail/transcript.js'
import { lacksScope } from '../../auth/authenticator.js'
import type { Edge } from '../../deps.js'
import { problem } from '../../http-answer.js'
import { type Route, route } from '../../route.js'
import { longJson } from '../../streaming/long-answer.js'

const PRIVATE = { 'x-content-type-options': 'nosniff', 'cache-control': 'private, no-store' }

/** R-SEC-1: the words of agents are sealed, and have one reader. */
export const transcriptRoutes = (edge: Edge): Route[] => [
  route({
    method: 'GET',
    path: '/v1/runs/{runId}/transcript',
    operation: 'readTranscript',
    summary:
      'What the agents of a run were told and have said, what their tools returned, and what it cost; verifiers and what is before a gate need artifacts:read as well',
    access: 'transcripts:read',
    recorded: { action: 'transcript.read', object: ({ runId }) => `run:${runId}` },
    query: TranscriptQuery,
    responses: { 200: { description: 'Entry by entry, in the order of the log', schema: TranscriptAnswer } },
    refusals: ['not_found', 'run_expired', 'validation_error', 'forbidden'],
    async handle({ caller, params: { runId }, query: { nodeId, from = 0, limit = 50 } }) {
      const seesGated = caller.scopes.has('artifacts:read')
      const range = { from, limit, seesGated, ...(nodeId === undefined ? {} : { nodeId }) }
      const page = await edge.transcripts.read(caller.tenant, runId, range)
      if (page === undefined) return problem(await edge.engine.missing(caller.tenant, runId))
      if (page.is === 'closed') return problem(lacksScope('artifacts:read'))
      if (page.is === 'no-such-node') return problem(noSuchNode(nodeId ?? '', page.nodes))
      const entries = page.said.map(({ sequence, at, nodeId: node, told }) => ({
        sequence,
        timestamp: new Date(at).toISOString(),
        nodeId: node,
        ...told,
      }))
      return longJson(edge, caller.tenant, { runId, entries, next: page.next }, PRIVATE)
    },
  }),
]

const noSuchNode = (nodeId: string, nodes: readonly string[]) =>
  refuse('validation_error', `The run has no node ${JSON.stringify(nodeId)}; its nodes are ${nodes.join(', ')}.`, {
    field: 'nodeId',
  })
